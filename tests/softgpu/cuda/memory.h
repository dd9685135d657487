// Device and pinned host memory, all of it plain host memory, and the table that tells one from the
// other. It must not copy data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/softgpu/cuda/cuda_types.h"

namespace chokepoint::softgpu {

enum class MemoryKind { kDevice, kHost, kRegistered, kManaged };

struct Allocation {
  uintptr_t base = 0;
  size_t size = 0;
  size_t mapped_bytes = 0;  // 0: the memory is the program's own (cudaHostRegister)
  MemoryKind kind = MemoryKind::kDevice;
  int device = 0;
  uint64_t id = 0;
};

constexpr size_t kAllocationGranularity = 2u << 20;

Error AllocateMemory(size_t size, MemoryKind kind, int device, void** out);
Error RegisterMemory(void* base, size_t size, int device);
Error ReleaseMemory(void* base);
bool FindAllocation(const void* address, Allocation* out = nullptr);
// cuPointerGetAttribute; unknown pointers are an error only if `strict`.
Error PointerAttribute(void* out, int attribute, const void* address, bool strict);

}  // namespace chokepoint::softgpu
