// CUDA driver: initialisation, devices, contexts, error texts.
// It must not do more than translate calls.
#include <cstdio>

#include "tests/softgpu/cuda/context.h"
#include "tests/softgpu/cuda/device.h"
#include "tests/softgpu/cuda/errors.h"
#include "tests/softgpu/cuda/settings.h"
#include "tests/softgpu/cuda/stream.h"
#include "tests/softgpu/redirect/entry_points.h"

using namespace chokepoint::softgpu;

DRIVER_API cuInit(unsigned) { return GetSettings().device_count ? kSuccess : kNoDevice; }
DRIVER_ENTRY(cuInit, 2000, cuInit)

DRIVER_API cuDriverGetVersion(int* version) {
  *version = GetSettings().cuda_version;
  return kSuccess;
}
DRIVER_ENTRY(cuDriverGetVersion, 2020, cuDriverGetVersion)

DRIVER_API cuGetErrorName(Error error, const char** text) {
  *text = ErrorName(error);
  return kSuccess;
}
DRIVER_ENTRY(cuGetErrorName, 6000, cuGetErrorName)

DRIVER_API cuGetErrorString(Error error, const char** text) {
  *text = ErrorText(error);
  return kSuccess;
}
DRIVER_ENTRY(cuGetErrorString, 6000, cuGetErrorString)

DRIVER_API cuDeviceGetCount(int* count) {
  *count = GetSettings().device_count;
  return kSuccess;
}
DRIVER_ENTRY(cuDeviceGetCount, 2000, cuDeviceGetCount)

DRIVER_API cuDeviceGet(int* device, int ordinal) {
  if (!IsValidDevice(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}
DRIVER_ENTRY(cuDeviceGet, 2000, cuDeviceGet)

DRIVER_API cuDeviceGetName(char* text, int size, int device) {
  if (!IsValidDevice(device)) return kInvalidDevice;
  snprintf(text, static_cast<size_t>(size), "%s", DeviceName());
  return kSuccess;
}
DRIVER_ENTRY(cuDeviceGetName, 2000, cuDeviceGetName)

DRIVER_API cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (!IsValidDevice(device)) return kInvalidDevice;
  *value = DeviceAttribute(attribute, device);
  return kSuccess;
}
DRIVER_ENTRY(cuDeviceGetAttribute, 2000, cuDeviceGetAttribute)

DRIVER_API cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = GetSettings().device_bytes;
  return kSuccess;
}
DRIVER_ENTRY(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2)

DRIVER_API cuDeviceGetUuid(Uuid* uuid, int device) {
  if (!IsValidDevice(device)) return kInvalidDevice;
  *uuid = DeviceUuid(device);
  return kSuccess;
}
DRIVER_ENTRY(cuDeviceGetUuid, 9020, cuDeviceGetUuid)

DRIVER_API cuDeviceGetUuid_v2(Uuid* uuid, int device) { return cuDeviceGetUuid(uuid, device); }
DRIVER_ENTRY(cuDeviceGetUuid, 11040, cuDeviceGetUuid_v2)

DRIVER_API cuDeviceGetPCIBusId(char* text, int size, int device) {
  if (!IsValidDevice(device)) return kInvalidDevice;
  FormatPciBusId(text, size, device);
  return kSuccess;
}
DRIVER_ENTRY(cuDeviceGetPCIBusId, 4010, cuDeviceGetPCIBusId)

DRIVER_API cuDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return kSuccess;
}
DRIVER_ENTRY(cuDeviceCanAccessPeer, 4000, cuDeviceCanAccessPeer)

DRIVER_API cuDevicePrimaryCtxRetain(ContextHandle* context, int device) {
  if (!IsValidDevice(device)) return kInvalidDevice;
  *context = PrimaryContext(device);
  return kSuccess;
}
DRIVER_ENTRY(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain)

DRIVER_API cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
DRIVER_ENTRY(cuDevicePrimaryCtxRelease, 7000, cuDevicePrimaryCtxRelease_v2)

DRIVER_API cuCtxGetCurrent(ContextHandle* context) {
  *context = CurrentContext();
  return kSuccess;
}
DRIVER_ENTRY(cuCtxGetCurrent, 4000, cuCtxGetCurrent)

DRIVER_API cuCtxSetCurrent(ContextHandle context) {
  SetCurrentContext(reinterpret_cast<Context*>(context));
  return kSuccess;
}
DRIVER_ENTRY(cuCtxSetCurrent, 4000, cuCtxSetCurrent)

DRIVER_API cuCtxPushCurrent_v2(ContextHandle context) {
  return PushContext(reinterpret_cast<Context*>(context)) ? kSuccess : kInvalidContext;
}
DRIVER_ENTRY(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2)

DRIVER_API cuCtxPopCurrent_v2(ContextHandle* context) {
  Context* popped = PopContext();
  if (context) *context = popped;
  return popped ? kSuccess : kInvalidContext;
}
DRIVER_ENTRY(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2)

DRIVER_API cuCtxGetDevice(int* device) {
  if (!CurrentContext()) return kInvalidContext;
  *device = CurrentContext()->device;
  return kSuccess;
}
DRIVER_ENTRY(cuCtxGetDevice, 2000, cuCtxGetDevice)

DRIVER_API cuCtxGetDevice_v2(int* device, ContextHandle context) {
  if (!context) return cuCtxGetDevice(device);
  *device = (reinterpret_cast<Context*>(context))->device;
  return kSuccess;
}
DRIVER_ENTRY(cuCtxGetDevice, 13000, cuCtxGetDevice_v2)

DRIVER_API cuCtxCreate_v2(ContextHandle* context, unsigned flags, int device) {
  if (!IsValidDevice(device)) return kInvalidDevice;
  *context = NewContext(device, flags);
  return PushContext((Context*)*context) ? kSuccess : kInvalidContext;
}
DRIVER_ENTRY(cuCtxCreate, 3020, cuCtxCreate_v2)

DRIVER_API cuCtxCreate_v3(ContextHandle* context, void*, int, unsigned flags, int device) {
  return cuCtxCreate_v2(context, flags, device);
}
DRIVER_ENTRY(cuCtxCreate, 11040, cuCtxCreate_v3)

DRIVER_API cuCtxCreate_v4(ContextHandle* context, void*, unsigned flags, int device) {
  return cuCtxCreate_v2(context, flags, device);
}
DRIVER_ENTRY(cuCtxCreate, 12050, cuCtxCreate_v4)

DRIVER_API cuCtxDestroy_v2(ContextHandle context) {
  if (context && CurrentContext() == context) PopContext();
  return kSuccess;
}
DRIVER_ENTRY(cuCtxDestroy, 4000, cuCtxDestroy_v2)

DRIVER_API cuCtxSynchronize() {
  return CurrentContext() ? SynchronizeContext(CurrentContext()) : kInvalidContext;
}
DRIVER_ENTRY(cuCtxSynchronize, 2000, cuCtxSynchronize)
