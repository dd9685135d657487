// Copies, fills and host functions in stream order.
// It must not know what is copied.
#pragma once

#include <cstddef>

#include "tests/softgpu/cuda/cuda_types.h"

namespace chokepoint::softgpu {

Error CopyAsync(void* to, const void* from, size_t bytes, StreamHandle stream);
Error CopySync(void* to, const void* from, size_t bytes);
Error FillAsync(void* to, int byte, size_t bytes, StreamHandle stream);
Error FillSync(void* to, int byte, size_t bytes);
Error CallHostFunction(StreamHandle stream, HostFunction function, void* argument);

}  // namespace chokepoint::softgpu
