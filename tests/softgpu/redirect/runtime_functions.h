// The CUDA runtime inside an image: which of its functions are there, and whether they may be
// redirected. It must not change anything.
#pragma once

#include <vector>

#include "tests/softgpu/redirect/image.h"

namespace chokepoint::softgpu {

// All CUDA runtime functions that the image defines, each address once.
std::vector<RuntimeFunction> RuntimeFunctions(const Image& image);

bool Defines(const std::vector<RuntimeFunction>& functions, const char* name);

// Whether the image calls a CUDA runtime that is somewhere else.
bool ImportsRuntime(const ElfFile& file);

// The release that a runtime belongs to, as far as it matters: which signatures a driver function
// of a given name has.
int RuntimeVersionFrom(const std::vector<RuntimeFunction>& functions);

// These end the process with a line that says what is wrong. What NCCL needs is there:
void RequireNcclFunctions(const Image& image, const std::vector<RuntimeFunction>& functions);
// The functions found by name are the ones in memory, or something else would be overwritten.
void RequireSameCode(const Image& image, const std::vector<RuntimeFunction>& functions);
// A jump does not run into the next function.
void RequireRoomForJumps(const Image& image, const std::vector<RuntimeFunction>& functions);

}  // namespace chokepoint::softgpu
