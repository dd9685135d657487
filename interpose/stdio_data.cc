// fread and fwrite. Small transfers are mostly a copy from a buffer and are not timed, but for one
// in 64; their bytes are counted when the stream is settled. Must not look into the stream.
#include "interpose/file_call.h"
#include "interpose/stdio_files.h"

namespace chokepoint::interpose {

namespace {

constexpr std::size_t kSmallBytes = 4096;
constexpr std::uint32_t kSampled = 64;
thread_local std::uint32_t t_small_calls __attribute__((tls_model("initial-exec"))) = 0;

// `count` items of `size` bytes; `real` returns how many were moved.
template <class Real>
inline size_t Items(FileCallKind kind, FILE* stream, size_t size, size_t count, const Real& real) {
  if (size * count < kSmallBytes && ++t_small_calls % kSampled != 0) return real();
  Descriptor* descriptor = nullptr;
  const std::uint32_t file = FileOfStream(stream, &descriptor);
  if (file < kFirstFile || MustForward()) return real();
  ThreadState* state = nullptr;
  if (!Active() || (state = UseThreadState()) == nullptr) {
    const size_t items = real();
    const int saved_errno = errno;
    descriptor->stdio_bytes.fetch_add(static_cast<std::int64_t>(items * size),
                                      std::memory_order_relaxed);
    CountEarly(file, DirectionOf(kind), static_cast<std::int64_t>(items * size));
    errno = saved_errno;
    return items;
  }
  const std::uint64_t start = BeginCall(state, kind, file);
  const size_t items = real();
  Call call{};
  call.kind = kind;
  call.flags = CallFlags(descriptor->flags.load(std::memory_order_relaxed));
  call.file = file;
  call.bytes = static_cast<std::int64_t>(items * size);
  call.offset = kUnknownOffset;
  call.sequential = true;  // why: a seek settles the stream and is seen there
  call.fd = -1;
  call.start_ticks = start;
  call.end_ticks = trace::NowTicks();
  if (items < count && ferror(stream) != 0) call.error = errno;
  descriptor->stdio_bytes.fetch_add(call.bytes, std::memory_order_relaxed);
  EndCall(state, call);
  return items;
}

}  // namespace

DEFINE_HOOK(size_t, fread, (void* data, size_t size, size_t count, FILE* stream)) {
  return Items(FileCallKind::kStdioRead, stream, size, count,
               [&] { return REAL(fread)(data, size, count, stream); });
}

DEFINE_HOOK(size_t, fread_unlocked, (void* data, size_t size, size_t count, FILE* stream)) {
  return Items(FileCallKind::kStdioRead, stream, size, count,
               [&] { return REAL(fread_unlocked)(data, size, count, stream); });
}

DEFINE_HOOK(size_t, __fread_chk,
            (void* data, size_t room, size_t size, size_t count, FILE* stream)) {
  return Items(FileCallKind::kStdioRead, stream, size, count,
               [&] { return REAL(__fread_chk)(data, room, size, count, stream); });
}

DEFINE_HOOK(size_t, __fread_unlocked_chk,
            (void* data, size_t room, size_t size, size_t count, FILE* stream)) {
  return Items(FileCallKind::kStdioRead, stream, size, count,
               [&] { return REAL(__fread_unlocked_chk)(data, room, size, count, stream); });
}

DEFINE_HOOK(size_t, fwrite, (const void* data, size_t size, size_t count, FILE* stream)) {
  return Items(FileCallKind::kStdioWrite, stream, size, count,
               [&] { return REAL(fwrite)(data, size, count, stream); });
}

DEFINE_HOOK(size_t, fwrite_unlocked, (const void* data, size_t size, size_t count, FILE* stream)) {
  return Items(FileCallKind::kStdioWrite, stream, size, count,
               [&] { return REAL(fwrite_unlocked)(data, size, count, stream); });
}

}  // namespace chokepoint::interpose
