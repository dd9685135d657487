// syscall(2): calls on files that are made by number are recorded like those made by name.
// Must give the result and errno of the original.
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose/file_call.h"
#include "interpose/working_directory.h"
#include "trace/raw_io.h"

namespace chokepoint::interpose {

extern "C" {
__attribute__((visibility("hidden"))) std::uint8_t chokepoint_syscall_wanted[512];
// Until the original is known (before our constructor): the system call itself.
static long EarlySyscall(long number, ...);
__attribute__((visibility("hidden"))) long (*chokepoint_real_syscall)(long, ...) = &EarlySyscall;

static long EarlySyscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long a[6];
  for (long& argument : a) argument = va_arg(rest, long);
  va_end(rest);
  const long result = trace::raw::Call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}
}

namespace {

constexpr std::uint64_t kAtPosition = kUnknownOffset;

// What to do with a system call of this number.
struct Wanted {
  long number;
  FileCallKind kind;
  bool positioned;  // the fourth argument is the offset
};

constexpr Wanted kTransfers[] = {
    {SYS_read, FileCallKind::kRead, false},   {SYS_write, FileCallKind::kWrite, false},
    {SYS_readv, FileCallKind::kRead, false},  {SYS_writev, FileCallKind::kWrite, false},
    {SYS_pread64, FileCallKind::kRead, true}, {SYS_pwrite64, FileCallKind::kWrite, true},
    {SYS_preadv, FileCallKind::kRead, true},  {SYS_pwritev, FileCallKind::kWrite, true},
    {SYS_preadv2, FileCallKind::kRead, true}, {SYS_pwritev2, FileCallKind::kWrite, true},
};

constexpr long kOthers[] = {
    SYS_close,        SYS_openat,     SYS_fsync,  SYS_fdatasync,      SYS_dup,
    SYS_dup3,         SYS_exit_group, SYS_exit,   SYS_io_uring_setup, SYS_execve,
    SYS_memfd_create, SYS_chdir,      SYS_fchdir,
#if defined(__x86_64__)
    SYS_open,         SYS_dup2,
#endif
};

void Enter(long fd) {
  if (fd >= 0 && !MustForward())
    SetDescriptor(static_cast<int>(fd), kUnknownFile, 0, kUnknownPosition);
}

// No thread of the program's but this one has done file calls. Another one may exist: then what it
// does now is lost.
bool IsOnlyThread() {
  return Active() && TheGate().highest_thread.load(std::memory_order_relaxed) <= 1;
}

long OtherCall(long number, const long (&a)[6]) {
  const auto real = [&] {
    return chokepoint_real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  };
  const int fd = static_cast<int>(a[0]);
  switch (number) {
    case SYS_fsync:
    case SYS_fdatasync: {
      const auto detail =
          number == SYS_fsync ? trace::FileCallDetail::kFsync : trace::FileCallDetail::kFdatasync;
      return SingleCall(FileCallKind::kSync, fd, static_cast<std::uint32_t>(detail), 0, false,
                        [&] { return static_cast<int>(real()); });
    }
    case SYS_close:
      if (!MustForward()) ForgetDescriptor(fd);
      return real();
    case SYS_exit_group:
      FinishProcess(2000);
      return real();
    case SYS_exit:
      // The only thread of a child of clone(2) ends so.
      if (trace::raw::ThreadId() == trace::raw::ProcessId() && IsOnlyThread()) {
        FinishProcess(2000);
        AwaitRecorderThread(2000);
      }
      return real();
    case SYS_execve:
      FlushBeforeExec(500);
      return real();
    case SYS_io_uring_setup:
      AddGap(trace::kGapIoUring);
      break;
    default:
      break;
  }
  const long result = real();
  if (number == SYS_chdir || number == SYS_fchdir) {
    if (!MustForward()) WorkingDirectoryChanged();
  } else {
    // A new descriptor: looked at when it is first used, or never (a ring, a directory).
    Enter(result);
  }
  return result;
}

__attribute__((constructor)) void FillWanted() {
  for (const Wanted& wanted : kTransfers) chokepoint_syscall_wanted[wanted.number] = 1;
  for (const long number : kOthers) chokepoint_syscall_wanted[number] = 1;
  chokepoint_real_syscall = reinterpret_cast<long (*)(long, ...)>(REAL(syscall));
}

}  // namespace

extern "C" __attribute__((visibility("hidden"), used)) long chokepoint_hook_syscall(
    long number, long a0, long a1, long a2, long a3, long a4, long a5) {
  const long a[6] = {a0, a1, a2, a3, a4, a5};
  for (const Wanted& wanted : kTransfers) {
    if (wanted.number != number) continue;
    AddGap(trace::kGapRawCalls);
    const std::uint64_t offset =
        wanted.positioned && a[3] >= 0 ? static_cast<std::uint64_t>(a[3]) : kAtPosition;
    return Transfer(wanted.kind, static_cast<int>(a[0]), offset, 0,
                    [&] { return chokepoint_real_syscall(number, a0, a1, a2, a3, a4, a5); });
  }
  return OtherCall(number, a);
}

}  // namespace chokepoint::interpose
