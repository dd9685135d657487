// CUDA driver: initialisation, devices, contexts, error texts.
#include <cstdio>

#include "tests/softgpu/cuda/context.h"
#include "tests/softgpu/cuda/device.h"
#include "tests/softgpu/redirect/entry_points.h"
#include "tests/softgpu/cuda/errors.h"
#include "tests/softgpu/cuda/settings.h"
#include "tests/softgpu/cuda/stream.h"

using namespace softgpu;

DRIVER_API(cuInit, 2000, cuInit, (unsigned)) { return settings().deviceCount ? kSuccess : kNoDevice; }
DRIVER_API(cuDriverGetVersion, 2020, cuDriverGetVersion, (int *version)) {
  *version = settings().cudaVersion;
  return kSuccess;
}
DRIVER_API(cuGetErrorName, 6000, cuGetErrorName, (Error error, const char **text)) {
  *text = errorName(error);
  return kSuccess;
}
DRIVER_API(cuGetErrorString, 6000, cuGetErrorString, (Error error, const char **text)) {
  *text = errorText(error);
  return kSuccess;
}

DRIVER_API(cuDeviceGetCount, 2000, cuDeviceGetCount, (int *count)) {
  *count = settings().deviceCount;
  return kSuccess;
}
DRIVER_API(cuDeviceGet, 2000, cuDeviceGet, (int *device, int ordinal)) {
  if (!isValidDevice(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}
DRIVER_API(cuDeviceGetName, 2000, cuDeviceGetName, (char *text, int size, int device)) {
  if (!isValidDevice(device)) return kInvalidDevice;
  snprintf(text, size, "%s", deviceName());
  return kSuccess;
}
DRIVER_API(cuDeviceGetAttribute, 2000, cuDeviceGetAttribute, (int *value, int attribute, int device)) {
  if (!isValidDevice(device)) return kInvalidDevice;
  *value = deviceAttribute(attribute, device);
  return kSuccess;
}
DRIVER_API(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2, (size_t *bytes, int)) {
  *bytes = settings().deviceBytes;
  return kSuccess;
}
DRIVER_API(cuDeviceGetUuid, 9020, cuDeviceGetUuid, (Uuid *uuid, int device)) {
  if (!isValidDevice(device)) return kInvalidDevice;
  *uuid = deviceUuid(device);
  return kSuccess;
}
DRIVER_API(cuDeviceGetUuid, 11040, cuDeviceGetUuid_v2, (Uuid *uuid, int device)) { return cuDeviceGetUuid(uuid, device); }
DRIVER_API(cuDeviceGetPCIBusId, 4010, cuDeviceGetPCIBusId, (char *text, int size, int device)) {
  if (!isValidDevice(device)) return kInvalidDevice;
  formatPciBusId(text, size, device);
  return kSuccess;
}
DRIVER_API(cuDeviceCanAccessPeer, 4000, cuDeviceCanAccessPeer, (int *can, int, int)) {
  *can = 0;
  return kSuccess;
}

DRIVER_API(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain, (ContextHandle *context, int device)) {
  if (!isValidDevice(device)) return kInvalidDevice;
  *context = primaryContext(device);
  return kSuccess;
}
DRIVER_API(cuDevicePrimaryCtxRelease, 7000, cuDevicePrimaryCtxRelease_v2, (int)) { return kSuccess; }
DRIVER_API(cuCtxGetCurrent, 4000, cuCtxGetCurrent, (ContextHandle *context)) {
  *context = currentContext();
  return kSuccess;
}
DRIVER_API(cuCtxSetCurrent, 4000, cuCtxSetCurrent, (ContextHandle context)) {
  setCurrentContext((Context *)context);
  return kSuccess;
}
DRIVER_API(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2, (ContextHandle context)) {
  return pushContext((Context *)context) ? kSuccess : kInvalidContext;
}
DRIVER_API(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2, (ContextHandle *context)) {
  Context *popped = popContext();
  if (context) *context = popped;
  return popped ? kSuccess : kInvalidContext;
}
DRIVER_API(cuCtxGetDevice, 2000, cuCtxGetDevice, (int *device)) {
  if (!currentContext()) return kInvalidContext;
  *device = currentContext()->device;
  return kSuccess;
}
DRIVER_API(cuCtxGetDevice, 13000, cuCtxGetDevice_v2, (int *device, ContextHandle context)) {
  if (!context) return cuCtxGetDevice(device);
  *device = ((Context *)context)->device;
  return kSuccess;
}
DRIVER_API(cuCtxCreate, 3020, cuCtxCreate_v2, (ContextHandle *context, unsigned flags, int device)) {
  if (!isValidDevice(device)) return kInvalidDevice;
  *context = newContext(device, flags);
  return pushContext((Context *)*context) ? kSuccess : kInvalidContext;
}
DRIVER_API(cuCtxCreate, 11040, cuCtxCreate_v3, (ContextHandle *context, void *, int, unsigned flags, int device)) {
  return cuCtxCreate_v2(context, flags, device);
}
DRIVER_API(cuCtxCreate, 12050, cuCtxCreate_v4, (ContextHandle *context, void *, unsigned flags, int device)) {
  return cuCtxCreate_v2(context, flags, device);
}
DRIVER_API(cuCtxDestroy, 4000, cuCtxDestroy_v2, (ContextHandle context)) {
  if (context && currentContext() == context) popContext();
  return kSuccess;
}
DRIVER_API(cuCtxSynchronize, 2000, cuCtxSynchronize, ()) {
  return currentContext() ? synchronizeContext(currentContext()) : kInvalidContext;
}
