// Kernels: known by name only, run by the CPU emulator.
// It must not know how the emulator works.
#pragma once

#include <string>

#include "tests/softgpu/cuda/cuda_types.h"

namespace chokepoint::softgpu {

struct Kernel {
  std::string name;
  bool is_nccl = false;  // the emulator can run it
};

// What __cudaRegisterFunction tells.
void RegisterKernel(const void* host_function, const char* name);
// The code between these addresses was unloaded.
void ForgetKernels(const void* begin, const void* end);
// The kernel that a host function stands for; NULL if its name cannot be found out.
Kernel* KernelOf(const void* host_function);

struct Launch {
  Dim3 grid, block;
  StreamHandle stream = nullptr;
  void** parameters = nullptr;  // one pointer per parameter, or
  void** extra = nullptr;       // kLaunchParamBufferPointer etc.
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};
Error LaunchKernel(Kernel* kernel, const Launch& launch);

}  // namespace chokepoint::softgpu
