// Starts, wakes and ends the sampling thread; ties the sampler to the recorder.
// Must not let a signal of the program be handled on this thread.
#include "counters/sampler_thread.h"

#include <pthread.h>
#include <sys/socket.h>

#include <atomic>
#include <csignal>
#include <new>
#include <string_view>

#include "counters/sampler.h"
#include "trace/clock.h"
#include "trace/glibc_compat.h"
#include "trace/raw_io.h"
#include "trace/recorder.h"
#include "trace/text.h"

namespace chokepoint::counters {

namespace raw = trace::raw;

namespace {

#if defined(CHOKEPOINT_SANITIZED)
constexpr std::size_t kStackBytes = std::size_t{8} << 20;
#else
constexpr std::size_t kStackBytes = std::size_t{256}
                                    << 10;  // the program's thread-local storage comes out of it
#endif
constexpr std::size_t kSignalSetBytes = 8;  // the kernel's
constexpr int kNice = 5;

enum class State : std::uint32_t { kNone, kStarting, kRunning, kStopping, kStopped };

struct Owned {
  Sampler sampler;
  SamplerOptions options;
  char root[kMaxPathBytes];
  char leader_directory[kMaxPathBytes];
  char leader_scope[kMaxPathBytes * 2];
  char nvml_library[kMaxPathBytes];
  char visible_devices[2048];
};

std::atomic<State> g_state{State::kNone};
std::atomic<Owned*> g_owned{nullptr};  // set while running
std::atomic<std::uint32_t> g_wake{0};
bool g_fork_handler_set = false;

std::uint64_t MonotonicNs() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

Sink RecorderSink() noexcept {
  Sink sink;
  sink.emit = [](const void* record, std::size_t bytes, void*) noexcept {
    trace::EmitBytes(record, bytes);
  };
  sink.intern = [](const char* text, void*) noexcept { return trace::InternName(text); };
  sink.meta = [](const char* key, const char* value, void*) noexcept {
    trace::AddMeta(key, value);
  };
  return sink;
}

// The trace's folder: processes that write into one folder are one job. The recorder makes the file
// a moment after it starts.
void ScopeFromTrace(Owned* owned) noexcept {
  constexpr int kTries = 8;
  constexpr std::uint64_t kPauseNs = 250'000'000;
  for (int i = 0; i < kTries && g_state.load(std::memory_order_acquire) == State::kRunning; ++i) {
    if (*trace::TracePath() != '\0') break;
    raw::FutexWait(&g_wake, g_wake.load(std::memory_order_acquire), kPauseNs);
  }
  const std::string_view path(trace::TracePath());
  const std::size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) {
    trace::Text(owned->leader_scope, sizeof(owned->leader_scope)).Add(path.data(), slash);
  }
}

void* Run(void*) noexcept {
  constexpr int kSetName = 15;  // PR_SET_NAME
  raw::Call(SYS_prctl, kSetName, raw::Word("chokepoint-smp"));
  raw::Call(SYS_setpriority, PRIO_PROCESS, raw::ThreadId(), kNice);
  Owned* owned = g_owned.load(std::memory_order_acquire);
  if (owned->leader_scope[0] == '\0') ScopeFromTrace(owned);
  owned->sampler.Init(owned->options);
  // why: many ranks that wake at the same moment of every second would be noise in the job's steps.
  const std::uint64_t phase_ns = trace::NowTicks() * 0x9e3779b97f4a7c15u >> 36;  // up to 268 ms
  raw::FutexWait(&g_wake, g_wake.load(std::memory_order_acquire), phase_ns);
  while (g_state.load(std::memory_order_acquire) == State::kRunning) {
    const std::uint32_t woken = g_wake.load(std::memory_order_acquire);
    const std::uint64_t due_ns = owned->sampler.Tick(MonotonicNs());
    const std::uint64_t now_ns = MonotonicNs();
    if (due_ns > now_ns && !owned->sampler.HasUrgentNote()) {
      raw::FutexWait(&g_wake, woken, due_ns - now_ns);
    }
  }
  owned->sampler.Finish(MonotonicNs());
  g_state.store(State::kStopped, std::memory_order_release);
  raw::FutexWake(&g_state, 1);
  return nullptr;
}

void Wake() noexcept {
  g_wake.fetch_add(1, std::memory_order_release);
  raw::FutexWake(&g_wake, 1);
}

bool StartThread() noexcept {
  if (!trace::compat::HasThreads()) return false;
  const std::uint64_t all = ~std::uint64_t{0};
  std::uint64_t before = 0;
  raw::Call(SYS_rt_sigprocmask, SIG_BLOCK, raw::Word(static_cast<const void*>(&all)),
            raw::Word(static_cast<void*>(&before)), kSignalSetBytes);
  const bool started = trace::compat::CreateDetachedThread(kStackBytes, Run);
  raw::Call(SYS_rt_sigprocmask, SIG_SETMASK, raw::Word(static_cast<const void*>(&before)), 0,
            kSignalSetBytes);
  return started;
}

void Copy(const SamplerOptions& options, Owned* owned) noexcept {
  owned->options = options;
  trace::Text(owned->root, sizeof(owned->root)).Add(options.root);
  trace::Text(owned->leader_directory, sizeof(owned->leader_directory))
      .Add(options.leader_directory);
  trace::Text(owned->leader_scope, sizeof(owned->leader_scope)).Add(options.leader_scope);
  owned->options.root = owned->root;
  owned->options.leader_directory = owned->leader_directory;
  owned->options.leader_scope = owned->leader_scope;
  if (options.nvml_library != nullptr) {
    trace::Text(owned->nvml_library, sizeof(owned->nvml_library)).Add(options.nvml_library);
    owned->options.nvml_library = owned->nvml_library;
  }
  if (options.visible_devices != nullptr) {
    trace::Text(owned->visible_devices, sizeof(owned->visible_devices))
        .Add(options.visible_devices);
    owned->options.visible_devices = owned->visible_devices;
  }
  owned->options.own_thread = true;
  if (owned->options.sink.emit == nullptr) owned->options.sink = RecorderSink();
}

}  // namespace

bool StartSampler(const SamplerOptions& options) noexcept {
  State expected = State::kNone;
  if (!g_state.compare_exchange_strong(expected, State::kStarting, std::memory_order_acq_rel)) {
    return false;
  }
  void* memory = raw::MapAnonymous(sizeof(Owned));
  if (memory == nullptr) {
    g_state.store(State::kNone, std::memory_order_release);
    return false;
  }
  trace::InitClock();
  auto* owned = new (memory) Owned;
  Copy(options, owned);
  if (!g_fork_handler_set) {
    pthread_atfork(nullptr, nullptr, [] { ForgetSamplerAfterFork(); });
    g_fork_handler_set = true;
  }
  g_owned.store(owned, std::memory_order_release);
  g_state.store(State::kRunning, std::memory_order_release);
  if (StartThread()) return true;
  g_owned.store(nullptr, std::memory_order_release);
  g_state.store(State::kNone, std::memory_order_release);
  raw::Unmap(memory, sizeof(Owned));
  return false;
}

void StopSampler(int deadline_ms) noexcept {
  State expected = State::kRunning;
  if (!g_state.compare_exchange_strong(expected, State::kStopping, std::memory_order_acq_rel)) {
    return;
  }
  Wake();
  const std::uint64_t end_ns = MonotonicNs() + static_cast<std::uint64_t>(deadline_ms) * 1'000'000u;
  while (g_state.load(std::memory_order_acquire) == State::kStopping) {
    const std::uint64_t now_ns = MonotonicNs();
    if (now_ns >= end_ns) return;
    raw::FutexWait(&g_state, static_cast<std::uint32_t>(State::kStopping), end_ns - now_ns);
  }
}

void ForgetSamplerAfterFork() noexcept {
  Owned* owned = g_owned.exchange(nullptr, std::memory_order_acq_rel);
  g_state.store(State::kNone, std::memory_order_release);
  if (owned == nullptr) return;
  owned->sampler.ForgetAfterFork();
  raw::Unmap(owned, sizeof(Owned));
}

// Notes may be left before the thread has set the sampler up.
void NoteSlowOperation() noexcept {
  Owned* owned = g_owned.load(std::memory_order_acquire);
  if (owned == nullptr) return;
  owned->sampler.NoteSlowOperation();
  Wake();
}

void NoteNewConnections() noexcept {
  if (Owned* owned = g_owned.load(std::memory_order_acquire)) owned->sampler.NoteNewConnections();
}

void NotePinnedThread(std::uint32_t tid) noexcept {
  if (Owned* owned = g_owned.load(std::memory_order_acquire)) owned->sampler.NotePinnedThread(tid);
}

void NotePeer(const sockaddr* address) noexcept {
  Owned* owned = g_owned.load(std::memory_order_acquire);
  if (owned != nullptr) owned->sampler.NotePeer(AddressOf(address, nullptr));
}

}  // namespace chokepoint::counters
