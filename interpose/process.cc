// How processes begin and end: fork, clone, exec, exit.
// Must not touch anything in a vfork child: it lives in its parent's memory.
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <unistd.h>

#include "interpose/guard.h"
#include "interpose/process_state.h"
#include "interpose/real.h"
#include "interpose/stdio_files.h"
#include "interpose/thread_state.h"

namespace chokepoint::interpose {

namespace {

constexpr int kExecDeadlineMs = 500;
constexpr int kExitDeadlineMs = 2000;

template <class Real>
pid_t Fork(const Real& real) {
  if (!Watching() || MustForward()) return real();
  NoteForkByLibc(true);
  const pid_t child = real();
  if (child == 0) {
    NoteFork();
  } else {
    NoteForkByLibc(false);
  }
  return child;
}

struct ClonedMain {
  int (*start)(void*);
  void* argument;
};

// In the child, whose memory is a copy: also of the parent's stack, where `main` is.
int RunCloned(void* main) {
  const ClonedMain copy = *static_cast<ClonedMain*>(main);
  const int status = copy.start(copy.argument);
  FinishProcess(kExitDeadlineMs);
  // why: the status of a process is that of the thread which ends last.
  AwaitRecorderThread(kExitDeadlineMs);
  return status;
}

template <class Real>
int Exec(const Real& real) {
  const int saved_errno = errno;
  FlushBeforeExec(kExecDeadlineMs);
  errno = saved_errno;
  return real();
}

}  // namespace

DEFINE_HOOK(pid_t, fork, ()) {
  return Fork([] { return REAL(fork)(); });
}

// Children of _Fork and clone are recognised by their zeroed memory: those functions may be called
// where nothing else may.
DEFINE_HOOK(pid_t, _Fork, ()) { return REAL(_Fork)(); }

DEFINE_HOOK(int, clone, (int (*start)(void*), void* stack, int flags, void* argument, ...)) {
  va_list rest;
  va_start(rest, argument);
  void* parent_tid = va_arg(rest, void*);
  void* tls = va_arg(rest, void*);
  void* child_tid = va_arg(rest, void*);
  va_end(rest);
  // why: with shared memory and no thread-local storage of its own the child would use this
  // thread's. It forwards only, and with it this thread while they cannot be told apart.
  const bool shares = (flags & CLONE_VM) != 0 && (flags & CLONE_SETTLS) == 0;
  if (shares) BypassForGood();
  if ((flags & (CLONE_VM | CLONE_THREAD)) == 0 && start != nullptr && !MustForward()) {
    // A process of its own, which ends when `start` returns, without any handler.
    ClonedMain main{start, argument};
    return REAL(clone)(&RunCloned, stack, flags, &main, parent_tid, tls, child_tid);
  }
  const int child = REAL(clone)(start, stack, flags, argument, parent_tid, tls, child_tid);
  if (shares && (child < 0 || (flags & CLONE_VFORK) != 0)) --t_bypass;
  return child;
}

DEFINE_HOOK(int, execve, (const char* path, char* const* arguments, char* const* environment)) {
  return Exec([&] { return REAL(execve)(path, arguments, environment); });
}
DEFINE_HOOK(int, execv, (const char* path, char* const* arguments)) {
  return Exec([&] { return REAL(execv)(path, arguments); });
}
DEFINE_HOOK(int, execvp, (const char* path, char* const* arguments)) {
  return Exec([&] { return REAL(execvp)(path, arguments); });
}
DEFINE_HOOK(int, execvpe, (const char* path, char* const* arguments, char* const* environment)) {
  return Exec([&] { return REAL(execvpe)(path, arguments, environment); });
}
DEFINE_HOOK(int, execveat,
            (int directory, const char* path, char* const* arguments, char* const* environment,
             int flags)) {
  return Exec([&] { return REAL(execveat)(directory, path, arguments, environment, flags); });
}
DEFINE_HOOK(int, fexecve, (int fd, char* const* arguments, char* const* environment)) {
  return Exec([&] { return REAL(fexecve)(fd, arguments, environment); });
}

DEFINE_HOOK(void, _exit, (int status)) {
  FinishProcess(kExitDeadlineMs);
  REAL(_exit)(status);
  __builtin_unreachable();
}

DEFINE_HOOK(void, quick_exit, (int status)) {
  FinishProcess(kExitDeadlineMs);
  REAL(quick_exit)(status);
  __builtin_unreachable();
}

}  // namespace chokepoint::interpose
