// The names and texts of errors, and each thread's last one.
// It must not print anything.
#include "tests/softgpu/cuda/errors.h"

namespace chokepoint::softgpu {

static thread_local Error last_error = kSuccess;

Error Noted(Error error) {
  if (error != kSuccess && error != kNotReady) last_error = error;
  return error;
}

Error TakeLastError() {
  Error error = last_error;
  last_error = kSuccess;
  return error;
}

Error PeekLastError() { return last_error; }

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
    {kPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {kInvalidHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {kNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {kNotReady, "cudaErrorNotReady", "device not ready"},
    {kLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {kNotSupported, "cudaErrorNotSupported", "operation not supported (by softgpu)"},
};

const char* ErrorName(Error error) {
  for (auto& e : kErrors)
    if (e.error == error) return e.name;
  return "unrecognized error code";
}

const char* ErrorText(Error error) {
  for (auto& e : kErrors)
    if (e.error == error) return e.text;
  return "unrecognized error code";
}

}  // namespace chokepoint::softgpu
