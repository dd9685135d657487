// Positions of streams, kept in the descriptor table; open streams, kept in a list of fixed size
// for the end of the process. Must not wait for a stream's lock at exit.
#include "interpose/stdio_files.h"

#include <errno.h>
#include <stdio_ext.h>

#include "interpose/files.h"
#include "interpose/guard.h"

namespace chokepoint::interpose {

namespace {

constexpr std::size_t kStreams = 512;
std::atomic<FILE*> g_streams[kStreams];

std::atomic<FILE*>* PlaceOf(int fd) { return &g_streams[static_cast<unsigned>(fd) % kStreams]; }

}  // namespace

void EnterStream(FILE* stream, int fd, bool at_start) {
  Descriptor* descriptor = FindDescriptor(fd);
  if (descriptor == nullptr || descriptor->file.load(std::memory_order_acquire) < kFirstFile)
    return;
  Bypass bypass;
  const off_t position = at_start ? 0 : ftello(stream);
  descriptor->flags.fetch_or(kDescriptorStdio, std::memory_order_relaxed);
  descriptor->position.store(position < 0 ? kUnknownPosition : position, std::memory_order_relaxed);
  descriptor->stdio_bytes.store(0, std::memory_order_relaxed);
  PlaceOf(fd)->store(stream, std::memory_order_release);
}

std::uint32_t FileOfStream(FILE* stream, Descriptor** out) {
  if (stream == nullptr || !Watching()) return kIgnoredFile;
  const int saved_errno = errno;
  Descriptor* descriptor = FindDescriptor(fileno(stream));
  errno = saved_errno;
  *out = descriptor;
  if (descriptor == nullptr) return kIgnoredFile;
  if ((descriptor->flags.load(std::memory_order_relaxed) & kDescriptorStdio) == 0)
    return kIgnoredFile;
  return descriptor->file.load(std::memory_order_acquire);
}

void SettleStream(FILE* stream) {
  if (MustForward()) return;
  Descriptor* descriptor = nullptr;
  const std::uint32_t file = FileOfStream(stream, &descriptor);
  if (file < kFirstFile) return;
  const std::int64_t before = descriptor->position.load(std::memory_order_relaxed);
  if (before < 0) return;
  std::int64_t now = -1;
  {
    Bypass bypass;
    now = ftello(stream);
  }
  if (now < 0) return;
  const std::int64_t counted = descriptor->stdio_bytes.exchange(0, std::memory_order_relaxed);
  descriptor->position.store(now, std::memory_order_relaxed);
  const std::int64_t uncounted = now - before - counted;
  if (uncounted <= 0) return;
  const bool writes = __fwriting(stream) != 0;
  if (!Active()) {
    CountEarly(file, writes ? 1 : 0, uncounted);
    return;
  }
  ThreadState* state = UseThreadState();
  if (state == nullptr) return;
  Call call{};
  call.kind = writes ? FileCallKind::kStdioWrite : FileCallKind::kStdioRead;
  call.flags = trace::kFileCallUntimed;
  call.file = file;
  call.bytes = uncounted;
  call.offset = static_cast<std::uint64_t>(before);
  call.single = true;
  call.fd = fileno(stream);
  call.start_ticks = trace::NowTicks();
  call.end_ticks = call.start_ticks;
  EndCall(state, call);
}

void RestartStream(FILE* stream) {
  if (MustForward()) return;
  Descriptor* descriptor = nullptr;
  if (FileOfStream(stream, &descriptor) < kFirstFile) return;
  Bypass bypass;
  const off_t now = ftello(stream);
  descriptor->stdio_bytes.store(0, std::memory_order_relaxed);
  descriptor->position.store(now < 0 ? kUnknownPosition : now, std::memory_order_relaxed);
}

void LeaveStream(FILE* stream) {
  if (stream == nullptr || MustForward()) return;
  SettleStream(stream);
  const int saved_errno = errno;
  const int fd = fileno(stream);
  errno = saved_errno;
  if (fd < 0) return;
  FILE* expected = stream;
  PlaceOf(fd)->compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel);
}

void SettleAllStreams() {
  for (std::atomic<FILE*>& place : g_streams) {
    FILE* stream = place.exchange(nullptr, std::memory_order_acq_rel);
    if (stream == nullptr || ftrylockfile(stream) != 0) continue;
    SettleStream(stream);
    funlockfile(stream);
  }
}

}  // namespace chokepoint::interpose
