// Kernels: known by name only, run by the CPU emulator.
#pragma once
#include <string>

#include "tests/softgpu/cuda/cuda_types.h"

namespace softgpu {

struct Kernel {
  std::string name;
  bool isNccl = false;      // the emulator can run it
};

// What __cudaRegisterFunction tells.
void registerKernel(const void *hostFunction, const char *name);
// The code between these addresses was unloaded.
void forgetKernels(const void *begin, const void *end);
// The kernel that a host function stands for; NULL if its name cannot be found out.
Kernel *kernelOf(const void *hostFunction);

struct Launch {
  Dim3 grid, block;
  StreamHandle stream = nullptr;
  void **parameters = nullptr;  // one pointer per parameter, or
  void **extra = nullptr;       // kLaunchParamBufferPointer etc.
  LaunchAttribute *attributes = nullptr;
  unsigned attributeCount = 0;
};
Error launchKernel(Kernel *kernel, const Launch &launch);

}  // namespace softgpu
