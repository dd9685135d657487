// The body that the hooks of file calls share: find the file, call the original, record.
// Must call the original exactly once, with the program's own arguments, and leave its errno.
#pragma once

#include <errno.h>

#include "interpose/files.h"
#include "interpose/real.h"
#include "interpose/record.h"
#include "interpose/transfer.h"

namespace chokepoint::interpose {

// The file behind `fd`, looked up when it is unknown. kIgnoredFile when there is nothing to record.
inline std::uint32_t FileOn(int fd, Descriptor** out) {
  Descriptor* descriptor = FindDescriptor(fd);
  *out = descriptor;
  if (__builtin_expect(descriptor == nullptr, 0)) {
    if (fd >= 0) AddGap(trace::kGapHighDescriptor);
    return kIgnoredFile;
  }
  const std::uint32_t file = descriptor->file.load(std::memory_order_acquire);
  if (__builtin_expect(file == kUnknownFile, 0)) {
    if (!Watching() || MustForward()) return kIgnoredFile;
    return LookAtDescriptor(fd);
  }
  return file;
}

inline std::uint8_t CallFlags(std::uint32_t descriptor_flags) {
  return static_cast<std::uint8_t>(
      ((descriptor_flags & kDescriptorDirect) != 0 ? trace::kFileCallDirect : 0) |
      ((descriptor_flags & kDescriptorWritable) != 0 ? trace::kFileCallWritable : 0));
}

inline int DirectionOf(FileCallKind kind) {
  return kind == FileCallKind::kWrite || kind == FileCallKind::kStdioWrite ? 1 : 0;
}

// Where a transfer at the descriptor's own position began; the position moves on. `sequential`: no
// lseek came before it.
inline std::uint64_t AdvancePosition(Descriptor* descriptor, std::uint32_t flags,
                                     std::int64_t moved, bool* sequential) {
  *sequential = (flags & kDescriptorSought) == 0;
  if (!*sequential) {
    descriptor->flags.store(flags & ~std::uint32_t{kDescriptorSought}, std::memory_order_relaxed);
  }
  const std::int64_t position = descriptor->position.load(std::memory_order_relaxed);
  if (position < 0) return kUnknownOffset;
  if (moved > 0) descriptor->position.store(position + moved, std::memory_order_relaxed);
  return static_cast<std::uint64_t>(position);
}

// Completes the record of a transfer at the descriptor's own position (`offset` kUnknownOffset) or
// at `offset`.
inline void EndTransfer(ThreadState* state, Descriptor* descriptor, std::uint32_t file,
                        FileCallKind kind, int fd, std::uint64_t offset, std::uint8_t flags,
                        TransferStart start, std::int64_t moved) {
  Call call;
  call.kind = kind;
  call.file = file;
  call.bytes = moved;
  call.offset = offset;
  call.sequential = false;
  call.start_ticks = start.ticks;
  if (start.coarse_ns == 0) {
    call.end_ticks = trace::NowTicks();
  } else {
    const std::uint64_t spent_ns = CoarseNs() - start.coarse_ns;
    // why two steps: a fast call may happen to begin right before a step.
    call.end_ticks = start.ticks + (spent_ns > g_ticks.coarse_step_ns ? TicksIn(spent_ns) : 0);
    flags |= trace::kFileCallCoarse;
  }
  const std::uint32_t descriptor_flags = descriptor->flags.load(std::memory_order_relaxed);
  if (offset == kUnknownOffset) {
    call.offset = AdvancePosition(descriptor, descriptor_flags, moved, &call.sequential);
  } else {
    flags |= trace::kFileCallPositioned;
  }
  call.flags = static_cast<std::uint8_t>(flags | CallFlags(descriptor_flags));
  if (__builtin_expect(FoldTransfer(state, call), 1)) return;
  call.single = false;
  call.error = moved < 0 ? errno : 0;
  call.fd = fd;
  call.detail = 0;
  EndCall(state, call);
}

// A read or write of `fd`. `real` performs it and returns bytes or -1.
template <class Real>
inline ssize_t Transfer(FileCallKind kind, int fd, std::uint64_t offset, std::uint8_t flags,
                        const Real& real) {
  Descriptor* descriptor = nullptr;
  const std::uint32_t file = FileOn(fd, &descriptor);
  if (file <= kIgnoredFile) {
    const ssize_t moved = real();
    CountOther(DirectionOf(kind), moved);
    return moved;
  }
  if (!Active()) {
    const ssize_t moved = real();
    const int saved_errno = errno;
    CountEarly(file, DirectionOf(kind), moved);
    errno = saved_errno;
    return moved;
  }
  ThreadState* state = UseThreadState();
  if (state == nullptr) return real();
  const TransferStart start = BeginTransfer(state, kind, file);
  const ssize_t moved = real();
  EndTransfer(state, descriptor, file, kind, fd, offset, flags, start, moved);
  return moved;
}

// Another call on `fd` whose result is 0 or -1 (`returns_error`: or an errno value), always
// recorded one by one.
template <class Real>
inline int SingleCall(FileCallKind kind, int fd, std::uint32_t detail, std::uint64_t bytes,
                      bool returns_error, const Real& real) {
  Descriptor* descriptor = nullptr;
  const std::uint32_t file = Active() ? FileOn(fd, &descriptor) : kIgnoredFile;
  if (file <= kIgnoredFile) return real();
  ThreadState* state = UseThreadState();
  if (state == nullptr) return real();
  const std::uint64_t start = BeginCall(state, kind, file);
  const int result = real();
  Call call{};
  call.kind = kind;
  call.flags = CallFlags(descriptor->flags.load(std::memory_order_relaxed));
  call.file = file;
  call.bytes = static_cast<std::int64_t>(bytes);
  call.offset = kUnknownOffset;
  call.single = true;
  call.error = result == 0 ? 0 : (returns_error ? result : errno);
  call.fd = fd;
  call.detail = detail;
  call.start_ticks = start;
  call.end_ticks = trace::NowTicks();
  EndCall(state, call);
  return result;
}

}  // namespace chokepoint::interpose
