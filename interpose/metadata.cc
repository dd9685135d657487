// What makes data durable, gives it names and space.
// Must not follow the files: a renamed file keeps its number until it is opened by its new name.
#include <fcntl.h>

#include "interpose/file_call.h"
#include "interpose/path_class.h"

namespace chokepoint::interpose {

namespace {

constexpr std::size_t kPathRoom = 1024;

constexpr std::uint32_t Detail(trace::FileCallDetail detail) {
  return static_cast<std::uint32_t>(detail);
}

void EmitName(ThreadState* state, trace::FileRename record, const char* from, const char* to) {
  if (!WithinBudget(state, record.start_ticks)) return;
  const char* last = to != nullptr ? to : from;
  record.file_class = static_cast<std::uint8_t>(ClassOfPath(last, __builtin_strlen(last), true));
  if (record.file_class == static_cast<std::uint8_t>(trace::FileClass::kCode)) return;
  if (IsSystemPath(from) || !Claim(state)) return;
  record.file = KnownFile(from);
  {
    Bypass bypass;
    record.from = trace::InternName(from);
    record.to = to != nullptr ? trace::InternName(to) : 0;
    trace::Emit(record);
  }
  Release(state);
}

// rename, link, unlink. `to` null: the name goes away. Removals of files that this process never
// opened are not recorded.
template <class Real>
int Named(FileCallKind kind, int from_directory, const char* from, int to_directory, const char* to,
          const Real& real) {
  ThreadState* state = Active() && from != nullptr ? UseThreadState() : nullptr;
  if (state == nullptr) return real();
  char from_path[kPathRoom];
  char to_path[kPathRoom];
  const bool told = AbsolutePath(from_directory, from, from_path, kPathRoom) &&
                    (to == nullptr || AbsolutePath(to_directory, to, to_path, kPathRoom));
  if (!told || (kind == FileCallKind::kUnlink && KnownFile(from_path) == 0)) return real();
  const std::uint64_t start = BeginCall(state, kind, 0);
  const int result = real();
  const std::uint64_t end = trace::NowTicks();
  const int saved_errno = errno;
  state->totals->call = 0;
  trace::FileRename record;
  record.call = static_cast<std::uint8_t>(kind);
  record.start_ticks = start;
  record.end_after_ticks = static_cast<float>(end - start);
  record.error = static_cast<std::uint16_t>(result == 0 ? 0 : saved_errno);
  EmitName(state, record, from_path, to != nullptr ? to_path : nullptr);
  errno = saved_errno;
  return result;
}

std::uint64_t Bytes(off_t bytes) { return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0; }

}  // namespace

DEFINE_HOOK(int, fsync, (int fd)) {
  return SingleCall(FileCallKind::kSync, fd, Detail(trace::FileCallDetail::kFsync), 0, false,
                    [&] { return REAL(fsync)(fd); });
}

DEFINE_HOOK(int, fdatasync, (int fd)) {
  return SingleCall(FileCallKind::kSync, fd, Detail(trace::FileCallDetail::kFdatasync), 0, false,
                    [&] { return REAL(fdatasync)(fd); });
}

DEFINE_HOOK(int, sync_file_range, (int fd, off_t offset, off_t bytes, unsigned flags)) {
  return SingleCall(FileCallKind::kSync, fd, Detail(trace::FileCallDetail::kSyncRange),
                    Bytes(bytes), false,
                    [&] { return REAL(sync_file_range)(fd, offset, bytes, flags); });
}

DEFINE_HOOK(int, syncfs, (int fd)) {
  return SingleCall(FileCallKind::kSync, fd, Detail(trace::FileCallDetail::kSyncFs), 0, false,
                    [&] { return REAL(syncfs)(fd); });
}

DEFINE_HOOK(void, sync, ()) {
  ThreadState* state = Active() ? UseThreadState() : nullptr;
  if (state == nullptr) return REAL(sync)();
  Call call{};
  call.kind = FileCallKind::kSync;
  call.offset = kUnknownOffset;
  call.single = true;
  call.fd = -1;
  call.detail = Detail(trace::FileCallDetail::kSyncFs);
  call.start_ticks = BeginCall(state, FileCallKind::kSync, 0);
  REAL(sync)();
  call.end_ticks = trace::NowTicks();
  EndCall(state, call);
}

DEFINE_HOOK(int, ftruncate, (int fd, off_t bytes)) {
  return SingleCall(FileCallKind::kAllocate, fd, Detail(trace::FileCallDetail::kTruncate),
                    Bytes(bytes), false, [&] { return REAL(ftruncate)(fd, bytes); });
}

DEFINE_HOOK(int, fallocate, (int fd, int mode, off_t offset, off_t bytes)) {
  return SingleCall(FileCallKind::kAllocate, fd, Detail(trace::FileCallDetail::kAllocate),
                    Bytes(bytes), false, [&] { return REAL(fallocate)(fd, mode, offset, bytes); });
}

DEFINE_HOOK(int, posix_fallocate, (int fd, off_t offset, off_t bytes)) {
  return SingleCall(FileCallKind::kAllocate, fd, Detail(trace::FileCallDetail::kAllocate),
                    Bytes(bytes), true, [&] { return REAL(posix_fallocate)(fd, offset, bytes); });
}

DEFINE_HOOK(int, rename, (const char* from, const char* to)) {
  return Named(FileCallKind::kRename, AT_FDCWD, from, AT_FDCWD, to,
               [&] { return REAL(rename)(from, to); });
}

DEFINE_HOOK(int, renameat,
            (int from_directory, const char* from, int to_directory, const char* to)) {
  return Named(FileCallKind::kRename, from_directory, from, to_directory, to,
               [&] { return REAL(renameat)(from_directory, from, to_directory, to); });
}

DEFINE_HOOK(int, renameat2,
            (int from_directory, const char* from, int to_directory, const char* to,
             unsigned flags)) {
  return Named(FileCallKind::kRename, from_directory, from, to_directory, to,
               [&] { return REAL(renameat2)(from_directory, from, to_directory, to, flags); });
}

DEFINE_HOOK(int, link, (const char* from, const char* to)) {
  return Named(FileCallKind::kLink, AT_FDCWD, from, AT_FDCWD, to,
               [&] { return REAL(link)(from, to); });
}

DEFINE_HOOK(int, linkat,
            (int from_directory, const char* from, int to_directory, const char* to, int flags)) {
  return Named(FileCallKind::kLink, from_directory, from, to_directory, to,
               [&] { return REAL(linkat)(from_directory, from, to_directory, to, flags); });
}

DEFINE_HOOK(int, symlink, (const char* target, const char* path)) {
  return Named(FileCallKind::kLink, AT_FDCWD, target, AT_FDCWD, path,
               [&] { return REAL(symlink)(target, path); });
}

DEFINE_HOOK(int, unlink, (const char* path)) {
  return Named(FileCallKind::kUnlink, AT_FDCWD, path, 0, nullptr,
               [&] { return REAL(unlink)(path); });
}

DEFINE_HOOK(int, unlinkat, (int directory, const char* path, int flags)) {
  return Named(FileCallKind::kUnlink, directory, path, 0, nullptr,
               [&] { return REAL(unlinkat)(directory, path, flags); });
}

DEFINE_HOOK(int, remove, (const char* path)) {
  return Named(FileCallKind::kUnlink, AT_FDCWD, path, 0, nullptr,
               [&] { return REAL(remove)(path); });
}

}  // namespace chokepoint::interpose
