// Opening, duplicating and closing descriptors: keeps the descriptor table true.
// Must clear an entry before the descriptor is closed and fill it after it was opened, or another
// thread's open is lost.
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

#include "interpose/connections.h"
#include "interpose/file_call.h"
#include "interpose/path_class.h"
#include "interpose/working_directory.h"

namespace chokepoint::interpose {

namespace {

constexpr int kNoPath = -2;

bool HasMode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

// Enters a descriptor that was just opened. `path` null: ask the kernel.
std::uint32_t EnterOpened(int fd, const char* path, int directory, int flags) {
  if ((flags & O_PATH) != 0 || fd < 0) {
    SetDescriptor(fd, kIgnoredFile, 0, kUnknownPosition);
    return kIgnoredFile;
  }
  if ((flags & O_DIRECTORY) != 0 && (flags & O_TMPFILE) != O_TMPFILE) {
    ForgetDescriptor(fd);  // looked at if it is ever synced
    return kIgnoredFile;
  }
  const bool by_path = path != nullptr && (path[0] == '/' || directory == AT_FDCWD);
  const std::uint32_t file = by_path ? FileOfPath(path, flags, fd) : FileOfDescriptor(fd, flags, 0);
  std::uint32_t descriptor_flags = 0;
  if ((flags & O_ACCMODE) != O_RDONLY) descriptor_flags |= kDescriptorWritable;
  if ((flags & O_DIRECT) != 0) descriptor_flags |= kDescriptorDirect;
  SetDescriptor(fd, file, descriptor_flags, (flags & O_APPEND) != 0 ? kUnknownPosition : 0);
  return file;
}

bool IsWorthTelling(int error) {
  return error != ENOENT && error != ENOTDIR && error != EEXIST && error != EACCES &&
         error != EISDIR && error != ELOOP && error != ENXIO && error != EINTR && error != EAGAIN;
}

void RecordOpen(ThreadState* state, int fd, std::uint32_t file, int flags, std::uint64_t start,
                int error) {
  Call call{};
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  call.kind = FileCallKind::kOpen;
  call.file = writes || file < kFirstFile ? file : DirectoryOrSelf(file);
  call.bytes = error != 0 ? -1 : 0;
  call.offset = kUnknownOffset;
  call.single = writes && file != kCodeFile;
  call.flags = writes ? std::uint8_t{trace::kFileCallWritable} : std::uint8_t{0};
  call.error = error;
  call.fd = fd;
  call.detail = static_cast<std::uint32_t>(flags);
  call.start_ticks = start;
  call.end_ticks = trace::NowTicks();
  EndCall(state, call);
}

template <class Real>
int Open(const char* path, int directory, int flags, const Real& real) {
  if (!Watching() || MustForward()) return real();
  ThreadState* state = nullptr;
  std::uint64_t start = 0;
  const bool system_path = path != nullptr && IsSystemPath(path);
  if (!system_path && Active() && (state = UseThreadState()) != nullptr) {
    start = BeginCall(state, FileCallKind::kOpen, 0);
  }
  const int fd = real();
  const int saved_errno = errno;
  if (system_path) {
    if (fd >= 0) SetDescriptor(fd, kIgnoredFile, 0, kUnknownPosition);
    return fd;
  }
  if (fd >= 0) {
    const std::uint32_t file = EnterOpened(fd, path, directory, flags);
    if (state != nullptr && file > kIgnoredFile) RecordOpen(state, fd, file, flags, start, 0);
    if (state == nullptr) NoteOpened(file);
  } else if (state != nullptr && IsWorthTelling(saved_errno)) {
    RecordOpen(state, -1, 0, flags, start, saved_errno);
  }
  if (state != nullptr) state->totals->call = 0;
  errno = saved_errno;
  return fd;
}

void RecordClose(ThreadState* state, int fd, std::uint32_t file, std::uint32_t flags,
                 std::uint64_t start, std::uint64_t end, std::uint8_t call_flags, int error) {
  const bool writable = (flags & kDescriptorWritable) != 0;
  Call call{};
  call.kind = FileCallKind::kClose;
  call.flags = static_cast<std::uint8_t>(CallFlags(flags) | call_flags);
  call.file = writable ? file : DirectoryOrSelf(file);
  call.bytes = error != 0 ? -1 : 0;
  call.offset = kUnknownOffset;
  call.single = writable && file != kCodeFile;
  call.error = error;
  call.fd = -1;  // why: the number may be another file's by now
  call.detail = static_cast<std::uint32_t>(fd);
  call.start_ticks = start;
  call.end_ticks = end;
  EndCall(state, call);
}

// The close of a file that was only read matters when it fails or takes long: that much the cheap
// clock tells.
template <class Real>
int CloseRead(ThreadState* state, int fd, std::uint32_t file, std::uint32_t flags,
              const Real& real) {
  const std::uint64_t begin_ns = CoarseNs();
  const int result = real();
  const std::uint64_t spent_ns = CoarseNs() - begin_ns;
  if (__builtin_expect(result < 0 || spent_ns > g_ticks.coarse_step_ns, 0)) {
    const int error = result < 0 ? errno : 0;
    const std::uint64_t now = trace::NowTicks();
    RecordClose(state, fd, file, flags, now - TicksIn(spent_ns), now, trace::kFileCallCoarse,
                error);
  }
  return result;
}

// why all closes of written files are recorded: that is when some file systems send the data.
template <class Real>
int Close(int fd, const Real& real) {
  Descriptor* descriptor = FindDescriptor(fd);
  if (descriptor == nullptr || chokepoint_vforked != 0) return real();
  const std::uint32_t file = descriptor->file.load(std::memory_order_acquire);
  const std::uint32_t flags = descriptor->flags.load(std::memory_order_relaxed);
  if ((flags & kDescriptorConnection) != 0 && file == kIgnoredFile) EndConnection(fd, descriptor);
  ForgetDescriptor(fd);
  ThreadState* state = file > kIgnoredFile && Active() ? UseThreadState() : nullptr;
  if (state == nullptr) return real();
  if ((flags & kDescriptorWritable) == 0) return CloseRead(state, fd, file, flags, real);
  const std::uint64_t start = BeginCall(state, FileCallKind::kClose, file);
  const int result = real();
  RecordClose(state, fd, file, flags, start, trace::NowTicks(), 0, result < 0 ? errno : 0);
  return result;
}

void Duplicated(int from, int to) {
  if (to >= 0 && from != to && chokepoint_vforked == 0 && Watching()) CopyDescriptor(from, to);
}

}  // namespace

DEFINE_HOOK(int, open, (const char* path, int flags, ...)) {
  mode_t mode = 0;
  if (HasMode(flags)) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  return Open(path, AT_FDCWD, flags, [&] { return REAL(open)(path, flags, mode); });
}

DEFINE_HOOK(int, __open_2, (const char* path, int flags)) {
  return Open(path, AT_FDCWD, flags, [&] { return REAL(__open_2)(path, flags); });
}

DEFINE_HOOK(int, openat, (int directory, const char* path, int flags, ...)) {
  mode_t mode = 0;
  if (HasMode(flags)) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  return Open(path, directory, flags, [&] { return REAL(openat)(directory, path, flags, mode); });
}

DEFINE_HOOK(int, __openat_2, (int directory, const char* path, int flags)) {
  return Open(path, directory, flags, [&] { return REAL(__openat_2)(directory, path, flags); });
}

DEFINE_HOOK(int, creat, (const char* path, mode_t mode)) {
  return Open(path, AT_FDCWD, O_CREAT | O_WRONLY | O_TRUNC,
              [&] { return REAL(creat)(path, mode); });
}

DEFINE_HOOK(int, mkstemp, (char* pattern)) {
  return Open(nullptr, kNoPath, O_RDWR | O_CREAT | O_EXCL, [&] { return REAL(mkstemp)(pattern); });
}

DEFINE_HOOK(int, mkostemp, (char* pattern, int flags)) {
  return Open(nullptr, kNoPath, O_RDWR | O_CREAT | O_EXCL | flags,
              [&] { return REAL(mkostemp)(pattern, flags); });
}

DEFINE_HOOK(int, mkstemps, (char* pattern, int suffix)) {
  return Open(nullptr, kNoPath, O_RDWR | O_CREAT | O_EXCL,
              [&] { return REAL(mkstemps)(pattern, suffix); });
}

DEFINE_HOOK(int, mkostemps, (char* pattern, int suffix, int flags)) {
  return Open(nullptr, kNoPath, O_RDWR | O_CREAT | O_EXCL | flags,
              [&] { return REAL(mkostemps)(pattern, suffix, flags); });
}

DEFINE_HOOK(int, open_by_handle_at, (int mount, void* handle, int flags)) {
  return Open(nullptr, kNoPath, flags,
              [&] { return REAL(open_by_handle_at)(mount, handle, flags); });
}

DEFINE_HOOK(int, shm_open, (const char* name, int flags, mode_t mode)) {
  return Open(nullptr, kNoPath, flags, [&] { return REAL(shm_open)(name, flags, mode); });
}

DEFINE_HOOK(int, memfd_create, (const char* name, unsigned flags)) {
  return Open(nullptr, kNoPath, O_RDWR, [&] { return REAL(memfd_create)(name, flags); });
}

DEFINE_HOOK(int, close, (int fd)) {
  return Close(fd, [&] { return REAL(close)(fd); });
}

DEFINE_HOOK(int, closedir, (void* directory)) {
  if (directory != nullptr && chokepoint_vforked == 0)
    ForgetDescriptor(dirfd(static_cast<DIR*>(directory)));
  return REAL(closedir)(directory);
}

DEFINE_HOOK(int, close_range, (unsigned first, unsigned last, int flags)) {
  constexpr int kOnlyCloseOnExec = 4;  // CLOSE_RANGE_CLOEXEC
  if (chokepoint_vforked == 0 && (flags & kOnlyCloseOnExec) == 0) ForgetDescriptors(first, last);
  return REAL(close_range)(first, last, flags);
}

DEFINE_HOOK(void, closefrom, (int first)) {
  if (chokepoint_vforked == 0 && first >= 0) ForgetDescriptors(static_cast<unsigned>(first), ~0u);
  REAL(closefrom)(first);
}

DEFINE_HOOK(int, dup, (int fd)) {
  const int copy = REAL(dup)(fd);
  Duplicated(fd, copy);
  return copy;
}

DEFINE_HOOK(int, dup2, (int fd, int wanted)) {
  if (fd != wanted && chokepoint_vforked == 0) ForgetDescriptor(wanted);
  const int copy = REAL(dup2)(fd, wanted);
  Duplicated(fd, copy);
  return copy;
}

DEFINE_HOOK(int, dup3, (int fd, int wanted, int flags)) {
  if (fd != wanted && chokepoint_vforked == 0) ForgetDescriptor(wanted);
  const int copy = REAL(dup3)(fd, wanted, flags);
  Duplicated(fd, copy);
  return copy;
}

DEFINE_HOOK(int, fcntl, (int fd, int command, ...)) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  const int result = REAL(fcntl)(fd, command, argument);
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) Duplicated(fd, result);
  return result;
}

DEFINE_HOOK(int, chdir, (const char* path)) {
  const int result = REAL(chdir)(path);
  if (chokepoint_vforked == 0) WorkingDirectoryChanged();
  return result;
}

DEFINE_HOOK(int, fchdir, (int fd)) {
  const int result = REAL(fchdir)(fd);
  if (chokepoint_vforked == 0) WorkingDirectoryChanged();
  return result;
}

}  // namespace chokepoint::interpose
