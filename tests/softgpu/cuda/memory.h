// Device and pinned host memory, all of it plain host memory, and the table that tells one from the other.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tests/softgpu/cuda/cuda_types.h"

namespace softgpu {

enum class MemoryKind { Device, Host, Registered, Managed };

struct Allocation {
  uintptr_t base = 0;
  size_t size = 0;
  size_t mappedBytes = 0;  // 0: the memory is the program's own (cudaHostRegister)
  MemoryKind kind = MemoryKind::Device;
  int device = 0;
  uint64_t id = 0;
};

constexpr size_t kAllocationGranularity = 2u << 20;

Error allocateMemory(size_t size, MemoryKind kind, int device, void **out);
Error registerMemory(void *base, size_t size, int device);
Error releaseMemory(void *base);
bool findAllocation(const void *address, Allocation *out = nullptr);
// cuPointerGetAttribute; unknown pointers are an error only if `strict`.
Error pointerAttribute(void *out, int attribute, const void *address, bool strict);

}  // namespace softgpu
