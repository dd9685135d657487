// stdio streams: opening, closing, flushing, seeking.
// Must not count what fread and fwrite count: stdio_data.cc.
#include <fcntl.h>
#include <string.h>

#include "interpose/file_call.h"
#include "interpose/path_class.h"
#include "interpose/stdio_files.h"

namespace chokepoint::interpose {

namespace {

int FlagsOfMode(const char* mode) {
  const bool both = strchr(mode, '+') != nullptr;
  if (mode[0] == 'r') return both ? O_RDWR : O_RDONLY;
  const int access = both ? O_RDWR : O_WRONLY;
  return mode[0] == 'a' ? access | O_CREAT | O_APPEND : access | O_CREAT | O_TRUNC;
}

// Enters a stream that was just opened by libc itself, and records the opening.
void Opened(FILE* stream, const char* path, int flags, std::uint64_t start, ThreadState* state) {
  const int fd = fileno(stream);
  if (fd < 0 || FindDescriptor(fd) == nullptr) return;
  const std::uint32_t file =
      path != nullptr ? FileOfPath(path, flags, fd) : FileOfDescriptor(fd, flags, 0);
  const std::uint32_t descriptor_flags =
      (flags & O_ACCMODE) != O_RDONLY ? std::uint32_t{kDescriptorWritable} : 0;
  SetDescriptor(fd, file, descriptor_flags, 0);
  EnterStream(stream, fd, (flags & O_APPEND) == 0);
  if (state == nullptr) return NoteOpened(file);
  state->totals->call = 0;
  if (file < kFirstFile) return;
  Call call{};
  call.kind = FileCallKind::kOpen;
  call.file = descriptor_flags != 0 ? file : DirectoryOrSelf(file);
  call.offset = kUnknownOffset;
  call.single = descriptor_flags != 0 && file != kCodeFile;
  call.flags = CallFlags(descriptor_flags);
  call.fd = fd;
  call.detail = static_cast<std::uint32_t>(flags);
  call.start_ticks = start;
  call.end_ticks = trace::NowTicks();
  EndCall(state, call);
}

template <class Real>
FILE* Open(const char* path, int flags, const Real& real) {
  if (!Watching() || MustForward()) return real();
  ThreadState* state = Active() ? UseThreadState() : nullptr;
  const std::uint64_t start = state != nullptr ? BeginCall(state, FileCallKind::kOpen, 0) : 0;
  FILE* stream = real();
  const int saved_errno = errno;
  if (stream != nullptr) Opened(stream, path, flags, start, state);
  errno = saved_errno;
  return stream;
}

// fclose and fflush: what is in the buffer goes to the file now, so their time is the file's.
template <class Real>
int Flush(FILE* stream, FileCallKind kind, const Real& real) {
  Descriptor* descriptor = nullptr;
  const std::uint32_t file = MustForward() ? kIgnoredFile : FileOfStream(stream, &descriptor);
  const bool writable = file >= kFirstFile && (descriptor->flags.load(std::memory_order_relaxed) &
                                               kDescriptorWritable) != 0;
  const int saved_errno = errno;
  const int fd =
      kind == FileCallKind::kClose && stream != nullptr && !MustForward() ? fileno(stream) : -1;
  errno = saved_errno;
  if (kind == FileCallKind::kClose) LeaveStream(stream);
  if (fd >= 0) ForgetDescriptor(fd);
  ThreadState* state = file >= kFirstFile && Active() ? UseThreadState() : nullptr;
  if (state == nullptr) return real();
  const std::uint64_t start = BeginCall(state, kind, file);
  const int result = real();
  Call call{};
  call.kind = kind;
  call.file = writable ? file : DirectoryOrSelf(file);
  call.flags = writable ? std::uint8_t{trace::kFileCallWritable} : std::uint8_t{0};
  call.bytes = result == 0 ? 0 : -1;
  call.offset = kUnknownOffset;
  call.single = writable && kind == FileCallKind::kClose && file != kCodeFile;
  call.error = result == 0 ? 0 : errno;
  call.fd = -1;
  call.detail = static_cast<std::uint32_t>(fd);
  call.start_ticks = start;
  call.end_ticks = trace::NowTicks();
  EndCall(state, call);
  return result;
}

template <class Real>
int Seek(FILE* stream, const Real& real) {
  SettleStream(stream);
  const int result = real();
  const int saved_errno = errno;
  RestartStream(stream);
  errno = saved_errno;
  return result;
}

}  // namespace

DEFINE_HOOK(FILE*, fopen, (const char* path, const char* mode)) {
  if (path == nullptr || mode == nullptr || IsSystemPath(path)) {
    FILE* stream = REAL(fopen)(path, mode);
    if (stream != nullptr && !MustForward())
      SetDescriptor(fileno(stream), kIgnoredFile, 0, kUnknownPosition);
    return stream;
  }
  return Open(path, FlagsOfMode(mode), [&] { return REAL(fopen)(path, mode); });
}

DEFINE_HOOK(FILE*, freopen, (const char* path, const char* mode, FILE* stream)) {
  if (stream != nullptr && !MustForward()) {
    LeaveStream(stream);
    ForgetDescriptor(fileno(stream));
  }
  if (path == nullptr || mode == nullptr) return REAL(freopen)(path, mode, stream);
  return Open(path, FlagsOfMode(mode), [&] { return REAL(freopen)(path, mode, stream); });
}

DEFINE_HOOK(FILE*, fdopen, (int fd, const char* mode)) {
  FILE* stream = REAL(fdopen)(fd, mode);
  if (stream == nullptr || !Watching() || MustForward()) return stream;
  const int saved_errno = errno;
  Descriptor* descriptor = nullptr;
  if (FileOn(fd, &descriptor) >= kFirstFile) EnterStream(stream, fd, false);
  errno = saved_errno;
  return stream;
}

DEFINE_HOOK(FILE*, tmpfile, ()) {
  return Open(nullptr, O_RDWR | O_CREAT | O_EXCL, [] { return REAL(tmpfile)(); });
}

DEFINE_HOOK(int, fclose, (FILE * stream)) {
  return Flush(stream, FileCallKind::kClose, [&] { return REAL(fclose)(stream); });
}

DEFINE_HOOK(int, fcloseall, ()) {
  if (!MustForward()) SettleAllStreams();
  return REAL(fcloseall)();
}

DEFINE_HOOK(int, pclose, (FILE * stream)) {
  if (stream != nullptr && !MustForward()) ForgetDescriptor(fileno(stream));
  return REAL(pclose)(stream);
}

DEFINE_HOOK(int, fflush, (FILE * stream)) {
  return Flush(stream, FileCallKind::kStdioFlush, [&] { return REAL(fflush)(stream); });
}

DEFINE_HOOK(int, fflush_unlocked, (FILE * stream)) {
  return Flush(stream, FileCallKind::kStdioFlush, [&] { return REAL(fflush_unlocked)(stream); });
}

DEFINE_HOOK(int, fseek, (FILE * stream, long offset, int whence)) {
  return Seek(stream, [&] { return REAL(fseek)(stream, offset, whence); });
}

DEFINE_HOOK(int, fseeko, (FILE * stream, off_t offset, int whence)) {
  return Seek(stream, [&] { return REAL(fseeko)(stream, offset, whence); });
}

DEFINE_HOOK(void, rewind, (FILE * stream)) {
  Seek(stream, [&] {
    REAL(rewind)(stream);
    return 0;
  });
}

DEFINE_HOOK(int, fsetpos, (FILE * stream, const fpos_t* position)) {
  return Seek(stream, [&] { return REAL(fsetpos)(stream, position); });
}

}  // namespace chokepoint::interpose
