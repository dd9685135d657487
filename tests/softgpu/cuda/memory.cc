// Device memory is host memory at the same address, from mmap.
// It must not enforce the size that the devices claim to have.
#include "tests/softgpu/cuda/memory.h"

#include <sys/mman.h>

#include <cstring>
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

namespace {

template <class T>
Error Give(void* out, T value) {
  memcpy(out, &value, sizeof value);
  return kSuccess;
}

// Of memory that is not ours, `a` is Allocation{} with an address of 0.
Error GiveAttribute(void* out, int attribute, const Allocation& a, const void* address) {
  const bool known = a.base != 0;
  const bool has_host_pointer = known && a.kind != MemoryKind::kDevice;
  switch (attribute) {
    case kPointerContext:
      return Give(out, known ? PrimaryContext(a.device) : nullptr);
    case kPointerDevicePointer:
      return Give(out, known ? address : nullptr);
    case kPointerHostPointer:
      return Give(out, has_host_pointer ? address : nullptr);
    case kPointerIsManaged:
      return Give(out, static_cast<int>(known && a.kind == MemoryKind::kManaged));
    case kPointerDeviceOrdinal:
      return Give(out, known ? a.device : -2);
    case kPointerBufferId:
      return Give(out, a.id);
    case kPointerRangeStart:
      return Give(out, a.base);
    case kPointerRangeSize:
      return Give(out, a.size);
    case kPointerMapped:
      return Give(out, static_cast<int>(known));
    case kPointerSyncMemops:
    case kPointerIsLegacyIpcCapable:
    case kPointerIsGpuDirectRdmaCapable:
      return Give(out, 0);
    case kPointerAllowedHandleTypes:
    case kPointerMemPool:
      return Give(out, uint64_t{0});
    default:
      return kInvalidValue;
  }
}

MemoryType TypeOf(const Allocation& a) {
  if (a.base == 0) return kMemoryUnregistered;
  const bool on_device = a.kind == MemoryKind::kDevice || a.kind == MemoryKind::kManaged;
  return on_device ? kMemoryDevice : kMemoryHost;
}

}  // namespace

Error PointerAttribute(void* out, int attribute, const void* address, bool strict) {
  Allocation a;
  if (!FindAllocation(address, &a) && strict) return kInvalidValue;
  if (attribute == kPointerMemoryType) return Give<int>(out, TypeOf(a));
  const Error error = GiveAttribute(out, attribute, a, address);
  if (error != kSuccess && FirstTime("pointer attribute " + std::to_string(attribute))) {
    LogLine(1, "pointer attribute %d is not known", attribute);
  }
  return error;
}

}  // namespace chokepoint::softgpu
