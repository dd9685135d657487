// The runtime's per-thread "last error", and error texts.
// It must not be used by driver functions, which remember no errors.
#pragma once

#include "tests/softgpu/cuda/cuda_types.h"

namespace chokepoint::softgpu {

// Remembers an error of a runtime call for cudaGetLastError, and returns it.
Error Noted(Error error);
Error TakeLastError();
Error PeekLastError();
const char* ErrorName(Error error);
const char* ErrorText(Error error);

}  // namespace chokepoint::softgpu
