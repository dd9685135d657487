// CUDA runtime: devices, versions, errors, driver entry points.
#include <cstring>

#include "tests/softgpu/cuda/context.h"
#include "tests/softgpu/cuda/device.h"
#include "tests/softgpu/cuda/driver_entry.h"
#include "tests/softgpu/redirect/entry_points.h"
#include "tests/softgpu/cuda/errors.h"
#include "tests/softgpu/redirect/loaded_images.h"
#include "tests/softgpu/cuda/settings.h"
#include "tests/softgpu/cuda/stream.h"

using namespace softgpu;

RUNTIME_API(Error, cudaGetLastError, ()) { return takeLastError(); }
RUNTIME_API(Error, cudaPeekAtLastError, ()) { return peekLastError(); }
RUNTIME_API(const char *, cudaGetErrorName, (Error error)) { return errorName(error); }
RUNTIME_API(const char *, cudaGetErrorString, (Error error)) { return errorText(error); }

RUNTIME_API(Error, cudaDriverGetVersion, (int *version)) {
  *version = settings().cudaVersion;
  return kSuccess;
}
RUNTIME_API(Error, cudaRuntimeGetVersion, (int *version)) {
  *version = settings().cudaVersion;
  return kSuccess;
}

RUNTIME_API(Error, cudaGetDeviceCount, (int *count)) {
  *count = settings().deviceCount;
  return noted(*count ? kSuccess : kNoDevice);
}
RUNTIME_API(Error, cudaGetDevice, (int *device)) {
  *device = currentContext() ? currentContext()->device : 0;
  return kSuccess;
}
RUNTIME_API(Error, cudaSetDevice, (int device)) {
  if (!isValidDevice(device)) return noted(kInvalidDevice);
  setCurrentContext(primaryContext(device));
  return kSuccess;
}
RUNTIME_API(Error, cudaInitDevice, (int device, unsigned, unsigned)) { return noted(isValidDevice(device) ? kSuccess : kInvalidDevice); }
RUNTIME_API(Error, cudaSetDeviceFlags, (unsigned)) { return kSuccess; }
RUNTIME_API(Error, cudaGetDeviceFlags, (unsigned *flags)) {
  *flags = 0;
  return kSuccess;
}
RUNTIME_API(Error, cudaDeviceReset, ()) { return synchronizeContext(currentOrPrimaryContext()); }
RUNTIME_API(Error, cudaDeviceSynchronize, ()) { return synchronizeContext(currentOrPrimaryContext()); }

RUNTIME_API(Error, cudaDeviceGetAttribute, (int *value, int attribute, int device)) {
  if (!isValidDevice(device)) return noted(kInvalidDevice);
  *value = deviceAttribute(attribute, device);
  return kSuccess;
}
RUNTIME_API(Error, cudaGetDeviceProperties, (DeviceProperties13 *properties, int device)) {
  if (!isValidDevice(device)) return noted(kInvalidDevice);
  fillProperties(properties, device);
  return kSuccess;
}
RUNTIME_API(Error, cudaGetDeviceProperties_v2, (DeviceProperties12 *properties, int device)) {
  if (!isValidDevice(device)) return noted(kInvalidDevice);
  fillProperties(properties, device);
  return kSuccess;
}
RUNTIME_API(Error, cudaDeviceGetPCIBusId, (char *text, int size, int device)) {
  if (!isValidDevice(device)) return noted(kInvalidDevice);
  formatPciBusId(text, size, device);
  return kSuccess;
}
RUNTIME_API(Error, cudaDeviceGetByPCIBusId, (int *device, const char *text)) {
  int found = deviceFromPciBusId(text);
  if (found < 0) return noted(kInvalidDevice);
  *device = found;
  return kSuccess;
}
RUNTIME_API(Error, cudaDeviceSetLimit, (int, size_t)) { return kSuccess; }
RUNTIME_API(Error, cudaDeviceGetLimit, (size_t *value, int)) {
  *value = 0;
  return kSuccess;
}
RUNTIME_API(Error, cudaDeviceGetStreamPriorityRange, (int *least, int *greatest)) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return kSuccess;
}

// Peer access between devices does not exist here: NCCL falls back on shared memory.
RUNTIME_API(Error, cudaDeviceCanAccessPeer, (int *can, int, int)) {
  *can = 0;
  return kSuccess;
}
RUNTIME_API(Error, cudaDeviceEnablePeerAccess, (int, unsigned)) { return noted(kPeerAccessUnsupported); }
RUNTIME_API(Error, cudaDeviceGetP2PAttribute, (int *value, int, int, int)) {
  *value = 0;
  return kSuccess;
}

static Error driverEntryPoint(const char *name, void **function, int version, int *status, const void *caller) {
  *function = driverFunctionOrStub(name, version, caller);
  if (status) *status = *function ? kEntryPointSuccess : kEntryPointSymbolNotFound;
  return kSuccess;
}
RUNTIME_API(Error, cudaGetDriverEntryPoint, (const char *name, void **function, unsigned long long, int *status)) {
  const void *caller = __builtin_return_address(0);
  return driverEntryPoint(name, function, runtimeVersionOfCaller(caller), status, caller);
}
RUNTIME_API(Error, cudaGetDriverEntryPointByVersion,
            (const char *name, void **function, unsigned version, unsigned long long, int *status)) {
  return driverEntryPoint(name, function, (int)version, status, __builtin_return_address(0));
}
