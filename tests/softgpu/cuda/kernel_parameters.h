// Puts a kernel's parameters into one buffer, as the device sees them.
// It must not know what they mean.
#pragma once

#include <string>
#include <vector>

#include "tests/softgpu/cuda/cuda_types.h"

namespace chokepoint::softgpu {

// From the driver's `extra` argument, which names such a buffer.
Error PackedParameters(void** extra, std::vector<char>* out);
// From one pointer per parameter. The sizes are read from the kernel's mangled name.
Error PackParameters(const std::string& kernel_name, void** parameters, std::vector<char>* out);

}  // namespace chokepoint::softgpu
