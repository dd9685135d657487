// The kernel of communicators with a single rank, which only multiplies.
// It must not be used for anything else.
#pragma once

#include <cstddef>
#include <string>

namespace chokepoint::softgpu::emu {

bool IsOneRankKernel(const std::string& name);
void RunOneRankKernel(const std::string& name, const void* args, size_t args_bytes);

}  // namespace chokepoint::softgpu::emu
