#include "tests/softgpu/cuda/errors.h"

namespace softgpu {

static thread_local Error lastError = kSuccess;

Error noted(Error error) {
  if (error != kSuccess && error != kNotReady) lastError = error;
  return error;
}

Error takeLastError() {
  Error error = lastError;
  lastError = kSuccess;
  return error;
}

Error peekLastError() { return lastError; }

static const struct {
  Error error;
  const char *name, *text;
} kErrors[] = {
    {kSuccess, "cudaSuccess", "no error"},
    {kInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {kOutOfMemory, "cudaErrorMemoryAllocation", "out of memory"},
    {kNotInitialized, "cudaErrorInitializationError", "initialization error"},
    {kInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {kNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {kInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {kInvalidContext, "cudaErrorDeviceUninitialized", "invalid device context"},
    {kPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported", "peer access is not supported between these two devices"},
    {kInvalidHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {kNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {kNotReady, "cudaErrorNotReady", "device not ready"},
    {kLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {kNotSupported, "cudaErrorNotSupported", "operation not supported (by softgpu)"},
};

const char *errorName(Error error) {
  for (auto &e : kErrors)
    if (e.error == error) return e.name;
  return "unrecognized error code";
}

const char *errorText(Error error) {
  for (auto &e : kErrors)
    if (e.error == error) return e.text;
  return "unrecognized error code";
}

}  // namespace softgpu
