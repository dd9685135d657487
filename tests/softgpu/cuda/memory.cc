// Device memory is host memory at the same address, from mmap.
// It must not enforce the size that the devices claim to have.
#include "tests/softgpu/cuda/memory.h"

#include <sys/mman.h>

#include <map>
#include <mutex>

#include "tests/softgpu/cuda/context.h"
#include "tests/softgpu/cuda/log.h"

namespace chokepoint::softgpu {
namespace {

constexpr size_t kPage = 4096;

struct Heap {
  std::mutex mutex;
  std::map<uintptr_t, Allocation> by_base;
  uint64_t next_id = 1;
};

Heap& TheHeap() {
  static Heap* const h = new Heap;  // never destroyed: worker threads outlive main
  return *h;
}

size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

void Record(Allocation allocation) {
  Heap& h = TheHeap();
  std::lock_guard<std::mutex> lock(h.mutex);
  allocation.id = h.next_id++;
  h.by_base[allocation.base] = allocation;
}

}  // namespace

// Big blocks are aligned as cudaMalloc aligns them; what sticks out of the aligned part is given
// back.
Error AllocateMemory(size_t size, MemoryKind kind, int device, void** out) {
  if (!size) return kInvalidValue;
  size_t align = size >= (1u << 20) ? kAllocationGranularity : kPage;
  size_t want = RoundUp(size, kPage), total = want + (align > kPage ? align : 0);
  void* p = mmap(nullptr, total, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return kOutOfMemory;
  uintptr_t raw = reinterpret_cast<uintptr_t>(p), base = RoundUp(raw, align);
  if (base > raw) munmap(p, base - raw);
  if (raw + total > base + want) munmap((void*)(base + want), raw + total - (base + want));
  Allocation a;
  a.base = base, a.size = size, a.mapped_bytes = want, a.kind = kind, a.device = device;
  Record(a);
  *out = reinterpret_cast<void*>(base);
  return kSuccess;
}

Error RegisterMemory(void* base, size_t size, int device) {
  Allocation a;
  a.base = reinterpret_cast<uintptr_t>(base), a.size = size, a.kind = MemoryKind::kRegistered,
  a.device = device;
  Record(a);
  return kSuccess;
}

Error ReleaseMemory(void* base) {
  if (!base) return kSuccess;
  Heap& h = TheHeap();
  std::lock_guard<std::mutex> lock(h.mutex);
  auto it = h.by_base.find(reinterpret_cast<uintptr_t>(base));
  if (it == h.by_base.end()) return kInvalidValue;
  if (it->second.mapped_bytes) munmap(base, it->second.mapped_bytes);
  h.by_base.erase(it);
  return kSuccess;
}

bool FindAllocation(const void* address, Allocation* out) {
  Heap& h = TheHeap();
  std::lock_guard<std::mutex> lock(h.mutex);
  auto it = h.by_base.upper_bound(reinterpret_cast<uintptr_t>(address));
  if (it == h.by_base.begin()) return false;
  --it;
  if (reinterpret_cast<uintptr_t>(address) >= it->second.base + it->second.size) return false;
  if (out) *out = it->second;
  return true;
}

Error PointerAttribute(void* out, int attribute, const void* address, bool strict) {
  Allocation a;
  bool known = FindAllocation(address, &a);
  if (!known && strict) return kInvalidValue;
  bool on_device = known && (a.kind == MemoryKind::kDevice || a.kind == MemoryKind::kManaged);
  auto pointer = [out](const void* p) {
    *static_cast<const void**>(out) = p;
    return kSuccess;
  };
  auto word = [out](int v) {
    *static_cast<int*>(out) = v;
    return kSuccess;
  };
  auto long_word = [out](uint64_t v) {
    *static_cast<uint64_t*>(out) = v;
    return kSuccess;
  };
  switch (attribute) {
    case kPointerContext:
      return pointer(known ? PrimaryContext(a.device) : nullptr);
    case kPointerMemoryType:
      return word(!known ? kMemoryUnregistered : on_device ? kMemoryDevice : kMemoryHost);
    case kPointerDevicePointer:
      return pointer(known ? address : nullptr);
    case kPointerHostPointer:
      return pointer(known && a.kind != MemoryKind::kDevice ? address : nullptr);
    case kPointerIsManaged:
      return word(known && a.kind == MemoryKind::kManaged);
    case kPointerDeviceOrdinal:
      return word(known ? a.device : -2);
    case kPointerBufferId:
      return long_word(known ? a.id : 0);
    case kPointerRangeStart:
      return pointer(known ? reinterpret_cast<void*>(a.base) : nullptr);
    case kPointerRangeSize:
      return long_word(known ? a.size : 0);
    case kPointerMapped:
      return word(known);
    case kPointerSyncMemops:
    case kPointerIsLegacyIpcCapable:
    case kPointerIsGpuDirectRdmaCapable:
      return word(0);
    case kPointerAllowedHandleTypes:
      return long_word(0);
    case kPointerMemPool:
      return pointer(nullptr);
  }
  if (FirstTime("pointer attribute " + std::to_string(attribute)))
    LogLine(1, "pointer attribute %d is not known", attribute);
  return kInvalidValue;
}

}  // namespace chokepoint::softgpu
