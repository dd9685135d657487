// CUDA runtime: devices, versions, errors, driver entry points.
// It must not do more than translate calls.
#include <cstring>

#include "tests/softgpu/cuda/context.h"
#include "tests/softgpu/cuda/device.h"
#include "tests/softgpu/cuda/driver_entry.h"
#include "tests/softgpu/cuda/errors.h"
#include "tests/softgpu/cuda/settings.h"
#include "tests/softgpu/cuda/stream.h"
#include "tests/softgpu/redirect/entry_points.h"
#include "tests/softgpu/redirect/loaded_images.h"

using namespace chokepoint::softgpu;

RUNTIME_API Error cudaGetLastError() { return TakeLastError(); }
RUNTIME_ENTRY(cudaGetLastError)

RUNTIME_API Error cudaPeekAtLastError() { return PeekLastError(); }
RUNTIME_ENTRY(cudaPeekAtLastError)

RUNTIME_API const char* cudaGetErrorName(Error error) { return ErrorName(error); }
RUNTIME_ENTRY(cudaGetErrorName)

RUNTIME_API const char* cudaGetErrorString(Error error) { return ErrorText(error); }
RUNTIME_ENTRY(cudaGetErrorString)

RUNTIME_API Error cudaDriverGetVersion(int* version) {
  *version = GetSettings().cuda_version;
  return kSuccess;
}
RUNTIME_ENTRY(cudaDriverGetVersion)

RUNTIME_API Error cudaRuntimeGetVersion(int* version) {
  *version = GetSettings().cuda_version;
  return kSuccess;
}
RUNTIME_ENTRY(cudaRuntimeGetVersion)

RUNTIME_API Error cudaGetDeviceCount(int* count) {
  *count = GetSettings().device_count;
  return Noted(*count ? kSuccess : kNoDevice);
}
RUNTIME_ENTRY(cudaGetDeviceCount)

RUNTIME_API Error cudaGetDevice(int* device) {
  *device = CurrentContext() ? CurrentContext()->device : 0;
  return kSuccess;
}
RUNTIME_ENTRY(cudaGetDevice)

RUNTIME_API Error cudaSetDevice(int device) {
  if (!IsValidDevice(device)) return Noted(kInvalidDevice);
  SetCurrentContext(PrimaryContext(device));
  return kSuccess;
}
RUNTIME_ENTRY(cudaSetDevice)

RUNTIME_API Error cudaInitDevice(int device, unsigned, unsigned) {
  return Noted(IsValidDevice(device) ? kSuccess : kInvalidDevice);
}
RUNTIME_ENTRY(cudaInitDevice)

RUNTIME_API Error cudaSetDeviceFlags(unsigned) { return kSuccess; }
RUNTIME_ENTRY(cudaSetDeviceFlags)

RUNTIME_API Error cudaGetDeviceFlags(unsigned* flags) {
  *flags = 0;
  return kSuccess;
}
RUNTIME_ENTRY(cudaGetDeviceFlags)

RUNTIME_API Error cudaDeviceReset() { return SynchronizeContext(CurrentOrPrimaryContext()); }
RUNTIME_ENTRY(cudaDeviceReset)

RUNTIME_API Error cudaDeviceSynchronize() { return SynchronizeContext(CurrentOrPrimaryContext()); }
RUNTIME_ENTRY(cudaDeviceSynchronize)

RUNTIME_API Error cudaDeviceGetAttribute(int* value, int attribute, int device) {
  if (!IsValidDevice(device)) return Noted(kInvalidDevice);
  *value = DeviceAttribute(attribute, device);
  return kSuccess;
}
RUNTIME_ENTRY(cudaDeviceGetAttribute)

RUNTIME_API Error cudaGetDeviceProperties(DeviceProperties13* properties, int device) {
  if (!IsValidDevice(device)) return Noted(kInvalidDevice);
  FillProperties(properties, device);
  return kSuccess;
}
RUNTIME_ENTRY(cudaGetDeviceProperties)

RUNTIME_API Error cudaGetDeviceProperties_v2(DeviceProperties12* properties, int device) {
  if (!IsValidDevice(device)) return Noted(kInvalidDevice);
  FillProperties(properties, device);
  return kSuccess;
}
RUNTIME_ENTRY(cudaGetDeviceProperties_v2)

RUNTIME_API Error cudaDeviceGetPCIBusId(char* text, int size, int device) {
  if (!IsValidDevice(device)) return Noted(kInvalidDevice);
  FormatPciBusId(text, size, device);
  return kSuccess;
}
RUNTIME_ENTRY(cudaDeviceGetPCIBusId)

RUNTIME_API Error cudaDeviceGetByPCIBusId(int* device, const char* text) {
  int found = DeviceFromPciBusId(text);
  if (found < 0) return Noted(kInvalidDevice);
  *device = found;
  return kSuccess;
}
RUNTIME_ENTRY(cudaDeviceGetByPCIBusId)

RUNTIME_API Error cudaDeviceSetLimit(int, size_t) { return kSuccess; }
RUNTIME_ENTRY(cudaDeviceSetLimit)

RUNTIME_API Error cudaDeviceGetLimit(size_t* value, int) {
  *value = 0;
  return kSuccess;
}
RUNTIME_ENTRY(cudaDeviceGetLimit)

RUNTIME_API Error cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return kSuccess;
}
RUNTIME_ENTRY(cudaDeviceGetStreamPriorityRange)

// Peer access between devices does not exist here: NCCL falls back on shared memory.
RUNTIME_API Error cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return kSuccess;
}
RUNTIME_ENTRY(cudaDeviceCanAccessPeer)

RUNTIME_API Error cudaDeviceEnablePeerAccess(int, unsigned) {
  return Noted(kPeerAccessUnsupported);
}
RUNTIME_ENTRY(cudaDeviceEnablePeerAccess)

RUNTIME_API Error cudaDeviceGetP2PAttribute(int* value, int, int, int) {
  *value = 0;
  return kSuccess;
}
RUNTIME_ENTRY(cudaDeviceGetP2PAttribute)

static Error DriverEntryPoint(const char* name, void** function, int version, int* status,
                              const void* caller) {
  *function = DriverFunctionOrStub(name, version, caller);
  if (status) *status = *function ? kEntryPointSuccess : kEntryPointSymbolNotFound;
  return kSuccess;
}
RUNTIME_API Error cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long,
                                          int* status) {
  const void* caller = __builtin_return_address(0);
  return DriverEntryPoint(name, function, RuntimeVersionOfCaller(caller), status, caller);
}
RUNTIME_ENTRY(cudaGetDriverEntryPoint)

RUNTIME_API Error cudaGetDriverEntryPointByVersion(const char* name, void** function,
                                                   unsigned version, unsigned long long,
                                                   int* status) {
  return DriverEntryPoint(name, function, static_cast<int>(version), status,
                          __builtin_return_address(0));
}
RUNTIME_ENTRY(cudaGetDriverEntryPointByVersion)
