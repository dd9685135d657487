// POSIX AIO and libaio. The bytes are those of the completions; the time is from submission to the
// moment the program learns of it. Must not keep a request alive: it is known by address until its
// result was fetched.
#include <aio.h>
#include <errno.h>

#include "interpose/file_call.h"

namespace chokepoint::interpose {

namespace {

// The kernel's request and completion, as the ABI has them.
struct KernelRequest {
  std::uint64_t data;
  std::uint32_t key;
  std::int32_t rw_flags;
  std::uint16_t opcode;
  std::int16_t priority;
  std::uint32_t fd;
  std::uint64_t buffer;
  std::uint64_t bytes;
  std::int64_t offset;
  std::uint64_t reserved;
  std::uint32_t flags;
  std::uint32_t result_fd;
};
static_assert(sizeof(KernelRequest) == 64);
struct KernelCompletion {
  std::uint64_t data;
  std::uint64_t request;
  std::int64_t result;
  std::int64_t result2;
};

enum KernelOpcode : std::uint16_t {
  kPread = 0,
  kPwrite = 1,
  kFsync = 2,
  kFdsync = 3,
  kPreadv = 7,
  kPwritev = 8
};

struct Pending {
  std::atomic<const void*> request;
  std::uint64_t start_ticks;
  std::uint64_t offset;
  std::uint32_t file;
  std::int32_t fd;
  FileCallKind kind;
  std::uint8_t flags;
};
constexpr std::size_t kPending = 1024;
Pending g_pending[kPending];

std::size_t PlaceOf(const void* request) {
  return (reinterpret_cast<std::uintptr_t>(request) / 64 * 0x9e3779b1u) % kPending;
}

void Submitted(const void* request, FileCallKind kind, int fd, std::int64_t offset) {
  Descriptor* descriptor = nullptr;
  const std::uint32_t file = FileOn(fd, &descriptor);
  if (file <= kIgnoredFile) return;
  Pending& pending = g_pending[PlaceOf(request)];
  const void* free = nullptr;
  if (!pending.request.compare_exchange_strong(free, request, std::memory_order_acq_rel) &&
      free != request) {
    return;  // two requests at one place: the second is counted without its time, see Completed
  }
  pending.start_ticks = trace::NowTicks();
  pending.offset = static_cast<std::uint64_t>(offset);
  pending.file = file;
  pending.fd = fd;
  pending.kind = kind;
  pending.flags = CallFlags(descriptor->flags.load(std::memory_order_relaxed));
}

void Completed(ThreadState* state, const void* request, std::int64_t result, FileCallKind kind,
               int fd, std::int64_t offset) {
  Pending& pending = g_pending[PlaceOf(request)];
  Call call{};
  call.end_ticks = trace::NowTicks();
  if (pending.request.load(std::memory_order_acquire) == request) {
    call.kind = pending.kind;
    call.flags = pending.flags;
    call.file = pending.file;
    call.offset = pending.offset;
    call.fd = pending.fd;
    call.start_ticks = pending.start_ticks;
    pending.request.store(nullptr, std::memory_order_release);
  } else {
    Descriptor* descriptor = nullptr;
    call.file = FileOn(fd, &descriptor);
    if (call.file <= kIgnoredFile) return;
    call.kind = kind;
    call.flags = trace::kFileCallUntimed;
    call.offset = static_cast<std::uint64_t>(offset);
    call.fd = fd;
    call.start_ticks = call.end_ticks;
  }
  call.bytes = result;
  call.error = result < 0 ? static_cast<int>(-result) : 0;
  EndCall(state, call);
}

FileCallKind KindOf(std::uint16_t opcode) {
  if (opcode == kPread || opcode == kPreadv) return FileCallKind::kAsyncRead;
  if (opcode == kPwrite || opcode == kPwritev) return FileCallKind::kAsyncWrite;
  return FileCallKind::kNone;
}

void SubmittedAll(void** requests, int count) {
  if (MustForward()) return;
  for (int i = 0; i < count; ++i) {
    const auto* request = static_cast<const KernelRequest*>(requests[i]);
    const FileCallKind kind = KindOf(request->opcode);
    if (kind == FileCallKind::kNone) continue;
    Submitted(request, kind, static_cast<int>(request->fd), request->offset);
  }
}

void CompletedAll(const void* events, int count) {
  ThreadState* state = count > 0 && Active() ? UseThreadState() : nullptr;
  const auto* completions = static_cast<const KernelCompletion*>(events);
  for (int i = 0; i < count; ++i) {
    const auto* request = reinterpret_cast<const KernelRequest*>(completions[i].request);
    const FileCallKind kind = KindOf(request->opcode);
    if (kind == FileCallKind::kNone) continue;
    if (state != nullptr) {
      Completed(state, request, completions[i].result, kind, static_cast<int>(request->fd),
                request->offset);
    } else {
      Descriptor* descriptor = nullptr;
      const std::uint32_t file = FileOn(static_cast<int>(request->fd), &descriptor);
      if (file > kIgnoredFile)
        CountEarly(file, kind == FileCallKind::kAsyncWrite ? 1 : 0, completions[i].result);
    }
  }
}

}  // namespace

DEFINE_HOOK(int, io_submit, (void* context, long count, void** requests)) {
  SubmittedAll(requests, static_cast<int>(count));
  Bypass bypass;  // libaio calls syscall(2) for its work: recorded here, not there
  return REAL_LATE(io_submit)(context, count, requests);
}

DEFINE_HOOK(int, io_getevents,
            (void* context, long minimum, long count, void* events, timespec* timeout)) {
  int got = 0;
  {
    Bypass bypass;
    got = REAL_LATE(io_getevents)(context, minimum, count, events, timeout);
  }
  const int saved_errno = errno;
  CompletedAll(events, got);
  errno = saved_errno;
  return got;
}

DEFINE_HOOK(int, io_pgetevents,
            (void* context, long minimum, long count, void* events, timespec* timeout,
             void* mask)) {
  int got = 0;
  {
    Bypass bypass;
    got = REAL_LATE(io_pgetevents)(context, minimum, count, events, timeout, mask);
  }
  const int saved_errno = errno;
  CompletedAll(events, got);
  errno = saved_errno;
  return got;
}

DEFINE_HOOK(int, aio_read, (aiocb * request)) {
  if (Watching() && !MustForward()) {
    Submitted(request, FileCallKind::kAsyncRead, request->aio_fildes, request->aio_offset);
  }
  return REAL(aio_read)(request);
}

DEFINE_HOOK(int, aio_write, (aiocb * request)) {
  if (Watching() && !MustForward()) {
    Submitted(request, FileCallKind::kAsyncWrite, request->aio_fildes, request->aio_offset);
  }
  return REAL(aio_write)(request);
}

DEFINE_HOOK(int, lio_listio, (int mode, aiocb* const* requests, int count, sigevent* event)) {
  if (Watching() && !MustForward() && requests != nullptr) {
    for (int i = 0; i < count; ++i) {
      const aiocb* request = requests[i];
      if (request == nullptr || request->aio_lio_opcode == LIO_NOP) continue;
      const bool writes = request->aio_lio_opcode == LIO_WRITE;
      Submitted(request, writes ? FileCallKind::kAsyncWrite : FileCallKind::kAsyncRead,
                request->aio_fildes, request->aio_offset);
    }
  }
  return REAL(lio_listio)(mode, requests, count, event);
}

DEFINE_HOOK(ssize_t, aio_return, (aiocb * request)) {
  const ssize_t result = REAL(aio_return)(request);
  const int saved_errno = errno;
  const int fd = request->aio_fildes;
  const bool writes = request->aio_lio_opcode == LIO_WRITE;
  const FileCallKind kind = writes ? FileCallKind::kAsyncWrite : FileCallKind::kAsyncRead;
  ThreadState* state = Active() ? UseThreadState() : nullptr;
  if (state != nullptr) {
    Completed(state, request, result >= 0 ? result : -saved_errno, kind, fd, request->aio_offset);
  } else if (!MustForward()) {
    Descriptor* descriptor = nullptr;
    const std::uint32_t file = FileOn(fd, &descriptor);
    if (file > kIgnoredFile) CountEarly(file, writes ? 1 : 0, result);
  }
  errno = saved_errno;
  return result;
}

}  // namespace chokepoint::interpose
