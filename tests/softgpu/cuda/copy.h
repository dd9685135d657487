// Copies and fills.
#pragma once
#include <cstddef>

#include "tests/softgpu/cuda/cuda_types.h"

namespace softgpu {

Error copyAsync(void *to, const void *from, size_t bytes, StreamHandle stream);
Error copySync(void *to, const void *from, size_t bytes);
Error fillAsync(void *to, int byte, size_t bytes, StreamHandle stream);
Error fillSync(void *to, int byte, size_t bytes);
Error callHostFunction(StreamHandle stream, HostFunction function, void *argument);

}  // namespace softgpu
