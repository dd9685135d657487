#include "tests/softgpu/cuda/memory.h"

#include <map>
#include <mutex>
#include <sys/mman.h>

#include "tests/softgpu/cuda/context.h"
#include "tests/softgpu/cuda/log.h"

namespace softgpu {
namespace {

constexpr size_t kPage = 4096;

struct Heap {
  std::mutex mutex;
  std::map<uintptr_t, Allocation> byBase;
  uint64_t nextId = 1;
};

Heap &heap() {
  static Heap *const h = new Heap;  // never destroyed: worker threads outlive main
  return *h;
}

size_t roundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

void record(Allocation allocation) {
  Heap &h = heap();
  std::lock_guard<std::mutex> lock(h.mutex);
  allocation.id = h.nextId++;
  h.byBase[allocation.base] = allocation;
}

}  // namespace

// Big blocks are aligned as cudaMalloc aligns them; what sticks out of the aligned part is given back.
Error allocateMemory(size_t size, MemoryKind kind, int device, void **out) {
  if (!size) return kInvalidValue;
  size_t align = size >= (1u << 20) ? kAllocationGranularity : kPage;
  size_t want = roundUp(size, kPage), total = want + (align > kPage ? align : 0);
  void *p = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return kOutOfMemory;
  uintptr_t raw = (uintptr_t)p, base = roundUp(raw, align);
  if (base > raw) munmap(p, base - raw);
  if (raw + total > base + want) munmap((void *)(base + want), raw + total - (base + want));
  Allocation a;
  a.base = base, a.size = size, a.mappedBytes = want, a.kind = kind, a.device = device;
  record(a);
  *out = (void *)base;
  return kSuccess;
}

Error registerMemory(void *base, size_t size, int device) {
  Allocation a;
  a.base = (uintptr_t)base, a.size = size, a.kind = MemoryKind::Registered, a.device = device;
  record(a);
  return kSuccess;
}

Error releaseMemory(void *base) {
  if (!base) return kSuccess;
  Heap &h = heap();
  std::lock_guard<std::mutex> lock(h.mutex);
  auto it = h.byBase.find((uintptr_t)base);
  if (it == h.byBase.end()) return kInvalidValue;
  if (it->second.mappedBytes) munmap(base, it->second.mappedBytes);
  h.byBase.erase(it);
  return kSuccess;
}

bool findAllocation(const void *address, Allocation *out) {
  Heap &h = heap();
  std::lock_guard<std::mutex> lock(h.mutex);
  auto it = h.byBase.upper_bound((uintptr_t)address);
  if (it == h.byBase.begin()) return false;
  --it;
  if ((uintptr_t)address >= it->second.base + it->second.size) return false;
  if (out) *out = it->second;
  return true;
}

Error pointerAttribute(void *out, int attribute, const void *address, bool strict) {
  Allocation a;
  bool known = findAllocation(address, &a);
  if (!known && strict) return kInvalidValue;
  bool onDevice = known && (a.kind == MemoryKind::Device || a.kind == MemoryKind::Managed);
  auto pointer = [out](const void *p) { *(const void **)out = p; return kSuccess; };
  auto word = [out](int v) { *(int *)out = v; return kSuccess; };
  auto longWord = [out](uint64_t v) { *(uint64_t *)out = v; return kSuccess; };
  switch (attribute) {
    case kPointerContext: return pointer(known ? primaryContext(a.device) : nullptr);
    case kPointerMemoryType: return word(!known ? kMemoryUnregistered : onDevice ? kMemoryDevice : kMemoryHost);
    case kPointerDevicePointer: return pointer(known ? address : nullptr);
    case kPointerHostPointer: return pointer(known && a.kind != MemoryKind::Device ? address : nullptr);
    case kPointerIsManaged: return word(known && a.kind == MemoryKind::Managed);
    case kPointerDeviceOrdinal: return word(known ? a.device : -2);
    case kPointerBufferId: return longWord(known ? a.id : 0);
    case kPointerRangeStart: return pointer(known ? (void *)a.base : nullptr);
    case kPointerRangeSize: return longWord(known ? a.size : 0);
    case kPointerMapped: return word(known);
    case kPointerSyncMemops:
    case kPointerIsLegacyIpcCapable:
    case kPointerIsGpuDirectRdmaCapable: return word(0);
    case kPointerAllowedHandleTypes: return longWord(0);
    case kPointerMemPool: return pointer(nullptr);
  }
  if (firstTime("pointer attribute " + std::to_string(attribute)))
    logLine(1, "pointer attribute %d is not known", attribute);
  return kInvalidValue;
}

}  // namespace softgpu
