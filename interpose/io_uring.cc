// io_uring through liburing: what is asked for at submission. Results are taken from memory by
// inlined code and are not seen. Must not trust the ring: it is the program's.
#include "interpose/file_call.h"

namespace chokepoint::interpose {

namespace {

// The beginning of liburing's submission queue and the kernel's entry, as their ABIs have them.
struct SubmissionQueue {
  unsigned* kernel_head;
  unsigned* kernel_tail;
  unsigned* kernel_mask;
  unsigned* kernel_entries;
  unsigned* kernel_flags;
  unsigned* kernel_dropped;
  unsigned* array;
  void* entries;
  unsigned head;
  unsigned tail;
};
struct Entry {
  std::uint8_t opcode;
  std::uint8_t flags;
  std::uint16_t priority;
  std::int32_t fd;
  std::uint64_t offset;
  std::uint64_t address;
  std::uint32_t length;
  std::uint32_t rest[9];
};
static_assert(sizeof(Entry) == 64);

enum Opcode : std::uint8_t {
  kReadv = 1,
  kWritev = 2,
  kReadFixed = 4,
  kWriteFixed = 5,
  kRead = 22,
  kWrite = 23
};
constexpr std::uint8_t kFixedFile = 1;  // fd is an index of registered files

FileCallKind KindOf(std::uint8_t opcode) {
  switch (opcode) {
    case kReadv:
    case kReadFixed:
    case kRead:
      return FileCallKind::kAsyncRead;
    case kWritev:
    case kWriteFixed:
    case kWrite:
      return FileCallKind::kAsyncWrite;
    default:
      return FileCallKind::kNone;
  }
}

std::int64_t BytesOf(const Entry& entry) {
  if (entry.opcode != kReadv && entry.opcode != kWritev) return entry.length;
  std::int64_t bytes = 0;
  const auto* pieces = reinterpret_cast<const iovec*>(entry.address);
  for (std::uint32_t i = 0; i < entry.length && i < 1024; ++i)
    bytes += static_cast<std::int64_t>(pieces[i].iov_len);
  return bytes;
}

void Requested(ThreadState* state, const Entry& entry) {
  const FileCallKind kind = KindOf(entry.opcode);
  if (kind == FileCallKind::kNone) return;
  Descriptor* descriptor = nullptr;
  const bool fixed = (entry.flags & kFixedFile) != 0;
  const std::uint32_t file = fixed ? 0 : FileOn(entry.fd, &descriptor);
  if (file == kIgnoredFile) return;
  const std::int64_t bytes = BytesOf(entry);
  if (state == nullptr) {
    if (file != 0) CountEarly(file, kind == FileCallKind::kAsyncWrite ? 1 : 0, bytes);
    return;
  }
  Call call{};
  call.kind = kind;
  call.flags = trace::kFileCallRequested | trace::kFileCallUntimed;
  if (descriptor != nullptr)
    call.flags |= CallFlags(descriptor->flags.load(std::memory_order_relaxed));
  call.file = file;
  call.bytes = bytes;
  call.offset = entry.offset;
  call.fd = fixed ? -1 : entry.fd;
  call.start_ticks = trace::NowTicks();
  call.end_ticks = call.start_ticks;
  EndCall(state, call);
}

// Looks at what is about to be submitted.
void LookAt(const void* ring) {
  if (!Watching() || MustForward() || ring == nullptr) return;
  AddGap(trace::kGapIoUring);
  const auto* queue = static_cast<const SubmissionQueue*>(ring);
  if (queue->entries == nullptr || queue->kernel_mask == nullptr || queue->kernel_flags == nullptr)
    return;
  ThreadState* state = Active() ? UseThreadState() : nullptr;
  const unsigned mask = *queue->kernel_mask;
  const auto* entries = static_cast<const Entry*>(queue->entries);
  unsigned seen = 0;
  for (unsigned at = queue->head; at != queue->tail && seen <= mask; ++at, ++seen) {
    Requested(state, entries[at & mask]);
  }
}

}  // namespace

DEFINE_HOOK(int, io_uring_submit, (void* ring)) {
  LookAt(ring);
  return REAL_LATE(io_uring_submit)(ring);
}

DEFINE_HOOK(int, io_uring_submit_and_wait, (void* ring, unsigned wait)) {
  LookAt(ring);
  return REAL_LATE(io_uring_submit_and_wait)(ring, wait);
}

DEFINE_HOOK(int, io_uring_submit_and_wait_timeout,
            (void* ring, void** completion, unsigned wait, void* timeout, void* mask)) {
  LookAt(ring);
  return REAL_LATE(io_uring_submit_and_wait_timeout)(ring, completion, wait, timeout, mask);
}

DEFINE_HOOK(int, io_uring_queue_init, (unsigned entries, void* ring, unsigned flags)) {
  if (!MustForward()) AddGap(trace::kGapIoUring);
  return REAL_LATE(io_uring_queue_init)(entries, ring, flags);
}

DEFINE_HOOK(int, io_uring_queue_init_params, (unsigned entries, void* ring, void* parameters)) {
  if (!MustForward()) AddGap(trace::kGapIoUring);
  return REAL_LATE(io_uring_queue_init_params)(entries, ring, parameters);
}

}  // namespace chokepoint::interpose
