// Bytes that the kernel moves from one descriptor to another: a read of one file and a write of the
// other. Must not count a side that is no file.
#include "interpose/file_call.h"

namespace chokepoint::interpose {

namespace {

struct Side {
  int fd;
  std::uint64_t offset;  // kUnknownOffset: at the descriptor's position
  Descriptor* descriptor = nullptr;
  std::uint32_t file = kIgnoredFile;
};

std::uint64_t OffsetIn(const off_t* offset) {
  return offset == nullptr ? kUnknownOffset : static_cast<std::uint64_t>(*offset);
}

template <class Real>
ssize_t Copy(Side in, Side out, const Real& real) {
  in.file = FileOn(in.fd, &in.descriptor);
  out.file = FileOn(out.fd, &out.descriptor);
  const bool none = in.file <= kIgnoredFile && out.file <= kIgnoredFile;
  if (none || !Active()) {
    const ssize_t moved = real();
    const int saved_errno = errno;
    if (!Active() && in.file > kIgnoredFile) CountEarly(in.file, 0, moved);
    if (!Active() && out.file > kIgnoredFile) CountEarly(out.file, 1, moved);
    errno = saved_errno;
    return moved;
  }
  ThreadState* state = UseThreadState();
  if (state == nullptr) return real();
  const bool reads = in.file > kIgnoredFile;
  const TransferStart start{BeginCall(state, reads ? FileCallKind::kRead : FileCallKind::kWrite,
                                      reads ? in.file : out.file),
                            0};
  const ssize_t moved = real();
  const int saved_errno = errno;
  if (reads) {
    EndTransfer(state, in.descriptor, in.file, FileCallKind::kRead, in.fd, in.offset,
                trace::kFileCallCopy, start, moved);
  } else {
    CountOther(0, moved);
  }
  errno = saved_errno;
  if (out.file > kIgnoredFile) {
    EndTransfer(state, out.descriptor, out.file, FileCallKind::kWrite, out.fd, out.offset,
                trace::kFileCallCopy, start, moved);
  } else {
    CountOther(1, moved);
  }
  errno = saved_errno;
  return moved;
}

}  // namespace

DEFINE_HOOK(ssize_t, sendfile, (int out, int in, off_t* offset, size_t bytes)) {
  return Copy({in, OffsetIn(offset)}, {out, kUnknownOffset},
              [&] { return REAL(sendfile)(out, in, offset, bytes); });
}

DEFINE_HOOK(ssize_t, copy_file_range,
            (int in, off_t* in_offset, int out, off_t* out_offset, size_t bytes, unsigned flags)) {
  return Copy({in, OffsetIn(in_offset)}, {out, OffsetIn(out_offset)},
              [&] { return REAL(copy_file_range)(in, in_offset, out, out_offset, bytes, flags); });
}

DEFINE_HOOK(ssize_t, splice,
            (int in, off_t* in_offset, int out, off_t* out_offset, size_t bytes, unsigned flags)) {
  return Copy({in, OffsetIn(in_offset)}, {out, OffsetIn(out_offset)},
              [&] { return REAL(splice)(in, in_offset, out, out_offset, bytes, flags); });
}

}  // namespace chokepoint::interpose
