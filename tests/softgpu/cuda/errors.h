// The runtime's per-thread "last error", and error texts.
#pragma once
#include "tests/softgpu/cuda/cuda_types.h"

namespace softgpu {

// Remembers an error of a runtime call for cudaGetLastError, and returns it.
Error noted(Error error);
Error takeLastError();
Error peekLastError();
const char *errorName(Error error);
const char *errorText(Error error);

}  // namespace softgpu
