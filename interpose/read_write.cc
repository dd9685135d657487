// read, write and their positioned and vectored forms, and lseek.
// Must not touch the data.
#include <sys/types.h>

#include "interpose/file_call.h"

namespace chokepoint::interpose {

namespace {

// preadv2 and pwritev2 take -1 for "at the descriptor's position".
std::uint64_t OffsetOrPosition(off_t offset) {
  return offset < 0 ? kUnknownOffset : static_cast<std::uint64_t>(offset);
}

}  // namespace

DEFINE_HOOK(ssize_t, read, (int fd, void* data, size_t bytes)) {
  return Transfer(FileCallKind::kRead, fd, kUnknownOffset, 0,
                  [&] { return REAL(read)(fd, data, bytes); });
}

DEFINE_HOOK(ssize_t, __read_chk, (int fd, void* data, size_t bytes, size_t room)) {
  return Transfer(FileCallKind::kRead, fd, kUnknownOffset, 0,
                  [&] { return REAL(__read_chk)(fd, data, bytes, room); });
}

DEFINE_HOOK(ssize_t, pread, (int fd, void* data, size_t bytes, off_t offset)) {
  return Transfer(FileCallKind::kRead, fd, static_cast<std::uint64_t>(offset), 0,
                  [&] { return REAL(pread)(fd, data, bytes, offset); });
}

DEFINE_HOOK(ssize_t, __pread_chk, (int fd, void* data, size_t bytes, off_t offset, size_t room)) {
  return Transfer(FileCallKind::kRead, fd, static_cast<std::uint64_t>(offset), 0,
                  [&] { return REAL(__pread_chk)(fd, data, bytes, offset, room); });
}

DEFINE_HOOK(ssize_t, readv, (int fd, const iovec* pieces, int count)) {
  return Transfer(FileCallKind::kRead, fd, kUnknownOffset, 0,
                  [&] { return REAL(readv)(fd, pieces, count); });
}

DEFINE_HOOK(ssize_t, preadv, (int fd, const iovec* pieces, int count, off_t offset)) {
  return Transfer(FileCallKind::kRead, fd, static_cast<std::uint64_t>(offset), 0,
                  [&] { return REAL(preadv)(fd, pieces, count, offset); });
}

DEFINE_HOOK(ssize_t, preadv2, (int fd, const iovec* pieces, int count, off_t offset, int flags)) {
  return Transfer(FileCallKind::kRead, fd, OffsetOrPosition(offset), 0,
                  [&] { return REAL(preadv2)(fd, pieces, count, offset, flags); });
}

DEFINE_HOOK(ssize_t, write, (int fd, const void* data, size_t bytes)) {
  return Transfer(FileCallKind::kWrite, fd, kUnknownOffset, 0,
                  [&] { return REAL(write)(fd, data, bytes); });
}

DEFINE_HOOK(ssize_t, pwrite, (int fd, const void* data, size_t bytes, off_t offset)) {
  return Transfer(FileCallKind::kWrite, fd, static_cast<std::uint64_t>(offset), 0,
                  [&] { return REAL(pwrite)(fd, data, bytes, offset); });
}

DEFINE_HOOK(ssize_t, writev, (int fd, const iovec* pieces, int count)) {
  return Transfer(FileCallKind::kWrite, fd, kUnknownOffset, 0,
                  [&] { return REAL(writev)(fd, pieces, count); });
}

DEFINE_HOOK(ssize_t, pwritev, (int fd, const iovec* pieces, int count, off_t offset)) {
  return Transfer(FileCallKind::kWrite, fd, static_cast<std::uint64_t>(offset), 0,
                  [&] { return REAL(pwritev)(fd, pieces, count, offset); });
}

DEFINE_HOOK(ssize_t, pwritev2, (int fd, const iovec* pieces, int count, off_t offset, int flags)) {
  return Transfer(FileCallKind::kWrite, fd, OffsetOrPosition(offset), 0,
                  [&] { return REAL(pwritev2)(fd, pieces, count, offset, flags); });
}

DEFINE_HOOK(off_t, lseek, (int fd, off_t offset, int whence)) {
  const off_t position = REAL(lseek)(fd, offset, whence);
  Descriptor* descriptor = FindDescriptor(fd);
  if (position < 0 || descriptor == nullptr || chokepoint_vforked != 0) return position;
  if (descriptor->file.load(std::memory_order_acquire) < kFirstFile) return position;
  const std::uint32_t flags = descriptor->flags.load(std::memory_order_relaxed);
  if ((flags & kDescriptorStdio) != 0) return position;
  if (descriptor->position.load(std::memory_order_relaxed) != position) {
    descriptor->flags.store(flags | kDescriptorSought, std::memory_order_relaxed);
    descriptor->position.store(position, std::memory_order_relaxed);
  }
  return position;
}

}  // namespace chokepoint::interpose
