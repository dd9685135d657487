// Runs the drain: on its own thread, else on the thread that stops or flushes.
// Must not let a signal of the program be handled on this thread, nor a failed write become one.
#include <csignal>
#include <cstring>
#include <new>

#include "trace/drain.h"
#include "trace/glibc_compat.h"
#include "trace/raw_io.h"
#include "trace/stale_rings.h"

namespace chokepoint::trace::internal {
namespace {

constexpr std::uint64_t kIdleNs = 250'000'000;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(CHOKEPOINT_SANITIZED)
constexpr std::size_t kStackBytes = 8 * 1024 * 1024;
#else
constexpr std::size_t kStackBytes =
    256 * 1024;  // the thread-local storage of the program comes out of it
#endif
constexpr std::size_t kSignalSetBytes = 8;  // the kernel's

alignas(Drain) std::byte g_drain_memory[sizeof(Drain)];
bool g_drain_made = false;  // guarded by RecorderState::draining, or by there being no other thread

Drain& TheDrain() noexcept {
  auto* drain = reinterpret_cast<Drain*>(g_drain_memory);
  if (!g_drain_made) new (drain) Drain(g_recorder);
  g_drain_made = true;
  return *drain;
}

std::uint64_t BlockSignals() noexcept {
  // why not 32 and 33: by the latter libc makes every thread change its user at setuid, and waits.
  const std::uint64_t all = ~(std::uint64_t{3} << 31);
  std::uint64_t before = 0;
  raw::Call(SYS_rt_sigprocmask, SIG_BLOCK, raw::Word(static_cast<const void*>(&all)),
            raw::Word(static_cast<void*>(&before)), kSignalSetBytes);
  return before;
}

void RestoreSignals(std::uint64_t before) noexcept {
  // A write beyond RLIMIT_FSIZE has left SIGXFSZ pending on this thread: taken, never delivered.
  const std::uint64_t ours = std::uint64_t{1} << (SIGXFSZ - 1);
  const timespec now{};
  if ((before & ours) == 0) {
    raw::Call(SYS_rt_sigtimedwait, raw::Word(static_cast<const void*>(&ours)), 0,
              raw::Word(static_cast<const void*>(&now)), kSignalSetBytes);
  }
  raw::Call(SYS_rt_sigprocmask, SIG_SETMASK, raw::Word(static_cast<const void*>(&before)), 0,
            kSignalSetBytes);
}

void LockedPass(bool last) noexcept {
  while (g_recorder.draining.exchange(true, std::memory_order_acquire)) raw::Call(SYS_sched_yield);
  TheDrain().Pass(last);
  g_recorder.draining.store(false, std::memory_order_release);
}

void Announce() noexcept {
  g_recorder.progress.fetch_add(1, std::memory_order_acq_rel);
  raw::FutexWake(&g_recorder.progress, 1 << 30);
}

// Gives this thread a table of descriptors of its own, with nothing in it but the ring file's. Then
// what it opens never takes a number that the program expects to get, and the program may close
// what it likes. Where the kernel refuses, the table stays shared, and the writer finds its file
// again when it was closed.
void OwnDescriptors(int kept) noexcept {
  constexpr long kCloseRange = 436;  // the same on x86-64 and aarch64
  constexpr long kUnshare = 2;       // CLOSE_RANGE_UNSHARE
  constexpr long kAll = 0xffffffff;
  constexpr long kCloneFiles = 0x400;
  const bool range = raw::Call(kCloseRange, kept + 1, kAll, kUnshare) == 0;
  if (range) {
    if (kept > 0) raw::Call(kCloseRange, 0, kept - 1, 0);
    return;
  }
  // Before kernel 5.9.
  std::uint64_t limit = 0;
  if (raw::SoftLimit(RLIMIT_NOFILE, &limit) != 0 || raw::Call(SYS_unshare, kCloneFiles) != 0)
    return;
  constexpr std::uint64_t kMost = 65'536;
  for (int fd = 0; fd < static_cast<int>(limit < kMost ? limit : kMost); ++fd) {
    if (fd != kept) raw::Close(fd);
  }
}

// True when the program has no thread left but this one. Then the process would never end: libc
// ends it when the last thread returns, and a child of clone(2) when its only thread does.
bool LastThread() noexcept {
  char text[1024];
  constexpr long kNoSuchFile = -2;  // -ENOENT: the main thread is gone and with it its memory
  if (raw::ReadLink("/proc/self/exe", text, sizeof(text)) != kNoSuchFile) return false;
  raw::ReadSmallFile("/proc/self/stat", text, sizeof(text));
  const char* at = std::strrchr(text, ')');
  constexpr int kFieldsToThreads = 18;
  for (int i = 0; at != nullptr && i < kFieldsToThreads; ++i) at = std::strchr(at + 1, ' ');
  // The main thread is counted until the process is gone.
  return at != nullptr && at[1] == '2' && at[2] == ' ';
}

void* Run(void*) noexcept {
  RecorderState& state = g_recorder;
  raw::Call(SYS_prctl, 15 /* PR_SET_NAME */, raw::Word("chokepoint"));
  OwnDescriptors(state.memory.descriptor());
  TheDrain().OwnThread();
  bool first = true;
  while (true) {
    const std::uint32_t woken = state.wake.load(std::memory_order_acquire);
    const std::uint32_t wanted = state.flush_wanted.load(std::memory_order_acquire);
    const bool last = state.phase.load(std::memory_order_acquire) == Phase::kStopping;
    LockedPass(last);
    state.flush_done.store(wanted, std::memory_order_release);
    if (last) break;
    Announce();
    if (first) SalvageStaleRings(state.memory);
    first = false;
    raw::FutexWait(&state.wake, woken, kIdleNs);
    if (LastThread()) {
      Phase recording = Phase::kRecording;
      state.phase.compare_exchange_strong(recording, Phase::kStopping, std::memory_order_acq_rel);
    }
  }
  state.phase.store(Phase::kStopped, std::memory_order_release);
  state.thread_alive.store(false, std::memory_order_release);
  Announce();
  return nullptr;
}

}  // namespace

bool StartDrainThread() noexcept {
  if (!compat::HasThreads()) return false;
  const std::uint64_t before = BlockSignals();  // the new thread inherits the mask
  g_recorder.thread_alive.store(true, std::memory_order_release);
  const bool started = compat::CreateDetachedThread(kStackBytes, Run);
  if (!started) g_recorder.thread_alive.store(false, std::memory_order_release);
  RestoreSignals(before);
  return started;
}

void DrainInline(bool last) noexcept {
  const std::uint64_t before = BlockSignals();
  LockedPass(last);
  RestoreSignals(before);
  if (last) g_recorder.phase.store(Phase::kStopped, std::memory_order_release);
}

void ForgetDrain() noexcept {
  if (g_drain_made) TheDrain().Forget();
  g_drain_made = false;
}

}  // namespace chokepoint::trace::internal
