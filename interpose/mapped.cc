// Files mapped into memory: which, how much, and msync. What is then read through the map are page
// faults, not calls. Must not touch mappings without a file.
#include <sys/mman.h>

#include "interpose/file_call.h"

namespace chokepoint::interpose {

namespace {

constexpr std::size_t kSmallMapBytes = 1 << 20;

// Large shared maps, to know the file of an msync. A ring: old ones are forgotten.
struct Mapped {
  std::atomic<std::uintptr_t> begin;
  std::atomic<std::uintptr_t> end;
  std::atomic<std::uint32_t> file;
};
constexpr std::size_t kMaps = 64;
Mapped g_maps[kMaps];
std::atomic<std::uint32_t> g_next_map{0};

void Remember(const void* address, std::size_t bytes, std::uint32_t file) {
  Mapped& map = g_maps[g_next_map.fetch_add(1, std::memory_order_relaxed) % kMaps];
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  map.file.store(file, std::memory_order_relaxed);
  map.begin.store(begin, std::memory_order_relaxed);
  map.end.store(begin + bytes, std::memory_order_release);
}

std::uint32_t FileMappedAt(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::uint32_t next = g_next_map.load(std::memory_order_relaxed);
  for (std::uint32_t i = 1; i <= kMaps && i <= next; ++i) {
    const Mapped& map = g_maps[(next - i) % kMaps];
    if (at >= map.begin.load(std::memory_order_relaxed) &&
        at < map.end.load(std::memory_order_acquire)) {
      return map.file.load(std::memory_order_relaxed);
    }
  }
  return 0;
}

void EmitMap(ThreadState* state, const trace::MappedFile& record, int fd) {
  if (!TellFile(state, record.file, fd)) return;
  EmitGuarded(state, record);
}

}  // namespace

DEFINE_HOOK(void*, mmap,
            (void* address, size_t bytes, int protection, int flags, int fd, off_t offset)) {
  if (__builtin_expect(fd < 0 || (flags & MAP_ANONYMOUS) != 0 || !Active() || MustForward(), 1)) {
    if (fd >= 0 && (flags & MAP_ANONYMOUS) == 0 && Watching() && !MustForward())
      AddGap(trace::kGapMapped);
    return REAL(mmap)(address, bytes, protection, flags, fd, offset);
  }
  const int saved_errno = errno;
  Descriptor* descriptor = nullptr;
  const std::uint32_t file = FileOn(fd, &descriptor);
  ThreadState* state = file > kCodeFile ? UseThreadState() : nullptr;
  errno = saved_errno;
  if (state == nullptr) return REAL(mmap)(address, bytes, protection, flags, fd, offset);
  const std::uint64_t start = BeginCall(state, FileCallKind::kMap, file);
  void* mapped = REAL(mmap)(address, bytes, protection, flags, fd, offset);
  const std::uint64_t end = trace::NowTicks();
  state->totals->call = 0;
  if (mapped == MAP_FAILED) return mapped;
  const int errno_after = errno;
  AddGap(trace::kGapMapped);
  g_mapped_bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes >= kSmallMapBytes && (flags & MAP_SHARED) != 0) Remember(mapped, bytes, file);
  if (bytes >= kSmallMapBytes && WithinBudget(state, end)) {
    trace::MappedFile record;
    record.protection = static_cast<std::uint8_t>(protection);
    record.flags = (flags & MAP_SHARED) != 0 ? 1 : 0;
    record.file = file;
    record.bytes = bytes;
    record.offset = static_cast<std::uint64_t>(offset);
    record.start_ticks = start;
    record.end_after_ticks = static_cast<float>(end - start);
    EmitMap(state, record, fd);
  } else {
    Call call{};
    call.kind = FileCallKind::kMap;
    call.file = file;
    call.bytes = static_cast<std::int64_t>(bytes < kSmallMapBytes ? bytes : kSmallMapBytes - 1);
    call.offset = kUnknownOffset;
    call.fd = fd;
    call.start_ticks = start;
    call.end_ticks = end;
    EndCall(state, call);
  }
  errno = errno_after;
  return mapped;
}

DEFINE_HOOK(int, msync, (void* address, size_t bytes, int flags)) {
  ThreadState* state = Active() ? UseThreadState() : nullptr;
  const std::uint32_t file = state != nullptr ? FileMappedAt(address) : 0;
  if (file == 0) return REAL(msync)(address, bytes, flags);
  Call call{};
  call.kind = FileCallKind::kSync;
  call.file = file;
  call.bytes = static_cast<std::int64_t>(bytes);
  call.offset = kUnknownOffset;
  call.single = true;
  call.fd = -1;
  call.detail = static_cast<std::uint32_t>(trace::FileCallDetail::kMsync);
  call.start_ticks = BeginCall(state, FileCallKind::kSync, file);
  const int result = REAL(msync)(address, bytes, flags);
  call.end_ticks = trace::NowTicks();
  call.error = result == 0 ? 0 : errno;
  EndCall(state, call);
  return result;
}

}  // namespace chokepoint::interpose
