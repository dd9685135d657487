// The life of a process as the preload library sees it: set-up, the wait for something worth
// recording, the record's end. Must not leave a trace of itself in processes that stay dormant.
#include "interpose/process_state.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include "interpose/coverage.h"
#include "interpose/files.h"
#include "interpose/real.h"
#include "interpose/record.h"
#include "interpose/summary.h"
#include "interpose/thread_state.h"
#include "trace/env.h"
#include "trace/raw_io.h"
#include "trace/recorder.h"

namespace chokepoint::interpose {

std::atomic<Mode> g_mode{Mode::kNew};
std::atomic<std::uint32_t> g_generation{1};
std::atomic<std::uint32_t> g_gaps{0};
std::atomic<std::uint64_t> g_mapped_bytes{0};

namespace {

namespace raw = trace::raw;

constexpr int kExitDeadlineMs = 2000;
// Programs that move files about for others, or only read themselves.
constexpr const char* kSilentPrograms[] = {
    "sh",         "bash",     "dash",     "zsh",    "ksh",     "fish",      "git",   "gcc",
    "g++",        "cc",       "c++",      "cc1",    "cc1plus", "cpp",       "clang", "clang++",
    "as",         "ld",       "ld.gold",  "ld.lld", "lld",     "collect2",  "lto1",  "ar",
    "ranlib",     "make",     "cmake",    "ninja",  "nvcc",    "cicc",      "ptxas", "fatbinary",
    "nvidia-smi", "rocm-smi", "ldconfig", "ldd",    "ps",      "top",       "htop",  "strace",
    "gdb",        "sudo",     "su",       "ssh",    "sshd",    "chokepoint"};

std::atomic<std::int64_t> g_interest_left{0};
std::atomic<std::uint32_t> g_pid{0};
std::atomic<std::uint32_t> g_parent_pid{0};
std::atomic<std::uint32_t> g_origin{static_cast<std::uint32_t>(trace::ProcessOrigin::kExec)};
std::atomic<std::uint32_t> g_fork_depth{
    0};  // inside libc's fork: a child found then is an ordinary one
std::atomic<std::uint32_t> g_recorder_thread{0};
std::atomic<std::uint64_t> g_last_coverage_ns{0};
std::atomic<std::uint32_t> g_showing{0};  // the recorder's thread is in ShowProcess
bool g_silent_program = false;

bool IsSilentProgram(const char* name) {
  if (name == nullptr) return false;
  for (const char* silent : kSilentPrograms) {
    if (strcmp(name, silent) == 0) return true;
  }
  return strncmp(name, "git-", 4) == 0;
}

std::uint64_t MonotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Sets the scale for `ticks_per_second`: windows of 100 ms, histogram units of about 0.4 us.
void SetScale(double ticks_per_second) {
  TickScale scale;
  scale.window_ticks = static_cast<std::uint64_t>(ticks_per_second / 10);
  scale.unit_shift = 0;
  while (static_cast<double>(std::uint64_t{2} << scale.unit_shift) < ticks_per_second * 0.5e-6) {
    ++scale.unit_shift;
  }
  scale.slow_ticks = std::uint64_t{3072} << scale.unit_shift;
  scale.sampled_ticks = std::uint64_t{64} << scale.unit_shift;
  scale.ticks_per_ns = static_cast<float>(ticks_per_second * 1e-9);
  timespec step{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &step) == 0 && step.tv_nsec > 0) {
    scale.coarse_step_ns = static_cast<std::uint64_t>(step.tv_nsec);
  }
  g_ticks = scale;
}

void GuessScale() {
#if defined(__aarch64__)
  std::uint64_t frequency;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
  SetScale(static_cast<double>(frequency));
#else
  SetScale(trace::g_use_tsc ? 2.5e9 : 1e9);
#endif
}

// On the drain thread: measures the tick rate against the clock, once.
void RefineScale() {
  static std::uint64_t first_ticks = 0, first_ns = 0;
  if (first_ns == ~std::uint64_t{0}) return;
  const std::uint64_t ticks = trace::NowTicks();
  const std::uint64_t now_ns = MonotonicNs();
  if (first_ns == 0) {
    first_ticks = ticks;
    first_ns = now_ns;
  } else if (now_ns - first_ns > 200'000'000u) {
    const double rate =
        static_cast<double>(ticks - first_ticks) * 1e9 / static_cast<double>(now_ns - first_ns);
    first_ns = ~std::uint64_t{0};
    // why not the shift: histograms of one process would mix two units; each window tells its own,
    // but the guess is near enough.
    g_ticks.window_ticks = static_cast<std::uint64_t>(rate / 10);
    g_ticks.ticks_per_ns = static_cast<float>(rate * 1e-9);
  }
}

void ShowProcess() {
  RefineScale();
  ShowWindows(false);
  const std::uint64_t now_ns = MonotonicNs();
  if (now_ns - g_last_coverage_ns.load(std::memory_order_relaxed) > 1'000'000'000u) {
    g_last_coverage_ns.store(now_ns, std::memory_order_relaxed);
    EmitCoverage(g_recorder_thread.load(std::memory_order_relaxed));
  }
}

void BeforeDrain() noexcept {
  if (t_bypass == 0) BypassForGood();  // the drain thread has nothing of the program's to record
  g_recorder_thread.store(raw::ThreadId(), std::memory_order_relaxed);
  g_showing.store(1);
  if (Active()) ShowProcess();
  g_showing.store(0);
}

void ConfigureRecorder() {
  trace::RecorderOptions options;
  options.writer = trace::Writer::kIo;
  options.ring_bytes = 256 * 1024;
  options.max_rings = 64;
  options.board_slots = 1024;
  options.before_drain = &BeforeDrain;
  options.on_drained = &AddToSummary;
  options.write_summary = &WriteSummary;
  g_mode.store(trace::Configure(options) ? Mode::kDormant : Mode::kOff, std::memory_order_release);
}

void ReadThreshold() {
  const double kilobytes = trace::EnvNumber(trace::EnvVariable::kIoMinKilobytes);
  g_interest_left.store(static_cast<std::int64_t>(kilobytes * 1024), std::memory_order_relaxed);
  // why: who asks for everything means this program too.
  if (kilobytes <= 0) g_silent_program = false;
}

void EmitEarly(std::uint32_t number, ThreadState* state) {
  File& file = FileOf(number);
  for (int direction = 0; direction < 2; ++direction) {
    const std::uint64_t calls = file.early_calls[direction].exchange(0, std::memory_order_relaxed);
    if (calls == 0) continue;
    const std::uint64_t bytes = file.early_bytes[direction].exchange(0, std::memory_order_relaxed);
    if (!TellFile(state, number, -1)) continue;
    trace::FileCall record;
    record.call =
        static_cast<std::uint8_t>(direction == 0 ? FileCallKind::kRead : FileCallKind::kWrite);
    record.flags = trace::kFileCallEarly | trace::kFileCallUntimed;
    record.file = number;
    record.bytes = bytes;
    record.offset = kUnknownOffset;
    record.start_ticks = file.first_ticks;
    record.calls = static_cast<std::uint16_t>(calls < 0xffff ? calls : 0xffff);
    record.descriptor = -1;
    (direction == 0 ? state->totals->read_bytes : state->totals->written_bytes) += bytes;
    EmitGuarded(state, record);
  }
}

void EmitAllEarly(ThreadState* state) {
  const std::uint32_t files = FileCount();
  for (std::uint32_t number = kFirstFile; number < files; ++number) EmitEarly(number, state);
}

void EmitOrigin(ThreadState* state) {
  trace::ProcessLink record;
  record.origin = static_cast<std::uint16_t>(g_origin.load(std::memory_order_relaxed));
  record.parent_pid = static_cast<std::int32_t>(g_parent_pid.load(std::memory_order_relaxed));
  record.ticks = trace::NowTicks();
  record.program = trace::InternName(program_invocation_short_name);
  EmitGuarded(state, record);
}

int FindNccl(dl_phdr_info* info, std::size_t /*bytes*/, void* found) {
  if (info->dlpi_name == nullptr || strstr(info->dlpi_name, "libnccl") == nullptr) return 0;
  if (strstr(info->dlpi_name, "libnccl-") != nullptr) return 0;  // a plugin, perhaps our own
  *static_cast<bool*>(found) = true;
  return 1;
}

}  // namespace

void AddGap(std::uint32_t gap) {
  if ((g_gaps.load(std::memory_order_relaxed) & gap) == 0)
    g_gaps.fetch_or(gap, std::memory_order_relaxed);
}

void CountEarly(std::uint32_t number, int direction, std::int64_t bytes) {
  if (g_mode.load(std::memory_order_relaxed) != Mode::kDormant || MustForward()) return;
  if (TheGate().alive.load(std::memory_order_relaxed) == 0) BecomeChild();
  File& file = FileOf(number);
  const std::int64_t moved = bytes > 0 ? bytes : 0;
  file.early_bytes[direction].fetch_add(static_cast<std::uint64_t>(moved),
                                        std::memory_order_relaxed);
  file.early_calls[direction].fetch_add(1, std::memory_order_relaxed);
  if (number == kCodeFile || g_silent_program) return;
  if (g_interest_left.fetch_sub(moved, std::memory_order_relaxed) - moved <= 0) Activate();
}

void NoteOpened(std::uint32_t number) {
  if (g_interest_left.load(std::memory_order_relaxed) > 0 || g_silent_program) return;
  if (number > kCodeFile) Activate();
}

bool Activate() {
  if (MustForward()) return false;
  Mode dormant = Mode::kDormant;
  static std::atomic<std::uint32_t> starting_generation{0};
  const std::uint32_t generation = g_generation.load(std::memory_order_relaxed);
  if (g_mode.load(std::memory_order_relaxed) != dormant ||
      starting_generation.exchange(generation, std::memory_order_acq_rel) == generation) {
    return Active();
  }
  Bypass bypass;
  NameReservedFiles();
  PrepareThreadEnd();
  if (!trace::Start(-1, -1)) {
    g_mode.store(Mode::kOff, std::memory_order_release);
    return false;
  }
  g_mode.store(Mode::kActive, std::memory_order_release);
  --t_bypass;
  ThreadState* state = FindThreadState();
  ++t_bypass;
  if (state == nullptr) return true;
  EmitOrigin(state);
  EmitAllEarly(state);
  return true;
}

bool ActivateForNccl() {
  if (Active() || MustForward()) return Active();
  if (g_mode.load(std::memory_order_relaxed) != Mode::kDormant || g_silent_program) return false;
  static std::atomic<std::uint32_t> looks{0};
  const std::uint32_t look = looks.fetch_add(1, std::memory_order_relaxed);
  if (look > 16 && (look & 63) != 0) return false;
  bool found = false;
  {
    Bypass bypass;
    dl_iterate_phdr(&FindNccl, &found);
  }
  return found && Activate();
}

void BecomeChild() {
  Gate& gate = TheGate();
  std::uint32_t wiped = 0;
  if (!gate.alive.compare_exchange_strong(wiped, 2, std::memory_order_acq_rel)) return;
  Bypass bypass;
  t_state = nullptr;
  trace::AfterForkInChild();
  const bool was_active = Active();
  g_parent_pid.store(g_pid.load(std::memory_order_relaxed), std::memory_order_relaxed);
  g_pid.store(raw::ProcessId(), std::memory_order_relaxed);
  const auto origin = g_fork_depth.load(std::memory_order_relaxed) != 0
                          ? trace::ProcessOrigin::kFork
                          : trace::ProcessOrigin::kClone;
  g_origin.store(static_cast<std::uint32_t>(origin), std::memory_order_relaxed);
  g_fork_depth.store(0, std::memory_order_relaxed);
  g_generation.fetch_add(1, std::memory_order_relaxed);
  g_gaps.store(0, std::memory_order_relaxed);
  g_mapped_bytes.store(0, std::memory_order_relaxed);
  g_recorder_thread.store(0, std::memory_order_relaxed);
  g_last_coverage_ns.store(0, std::memory_order_relaxed);
  g_showing.store(0, std::memory_order_relaxed);
  const std::uint32_t files = FileCount();
  for (std::uint32_t number = kFirstFile; number < files; ++number) {
    for (int direction = 0; direction < 2; ++direction) {
      if (FileOf(number).early_calls[direction].load(std::memory_order_relaxed) == 0) continue;
      FileOf(number).early_bytes[direction].store(0, std::memory_order_relaxed);
      FileOf(number).early_calls[direction].store(0, std::memory_order_relaxed);
    }
  }
  ForgetSummary();
  // why: the child of a process that is worth recording is worth it too, from its first byte.
  if (was_active) {
    g_interest_left.store(1, std::memory_order_relaxed);
    g_mode.store(Mode::kDormant, std::memory_order_release);
  }
  gate.alive.store(1, std::memory_order_release);
}

void NoteFork() {
  Gate& gate = TheGate();
  if (gate.alive.load(std::memory_order_relaxed) == 1) {
    // The kernel does not zero memory at fork (before 4.14): do it by hand.
    const std::uint32_t threads = gate.highest_thread.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < threads; ++i) {
      ThreadStateOf(i).alive.store(0, std::memory_order_relaxed);
      ThreadStateOf(i).totals = nullptr;
    }
    gate.highest_thread.store(0, std::memory_order_relaxed);
    gate.ended_threads.store(0, std::memory_order_relaxed);
    gate.alive.store(0, std::memory_order_relaxed);
  }
  BecomeChild();
}

void NoteForkByLibc(bool begins) {
  if (begins) {
    g_fork_depth.fetch_add(1, std::memory_order_relaxed);
  } else if (g_fork_depth.load(std::memory_order_relaxed) != 0) {
    g_fork_depth.fetch_sub(1, std::memory_order_relaxed);
  }
}

void FlushBeforeExec(int deadline_ms) {
  if (!Active() || MustForward() || TheGate().alive.load(std::memory_order_relaxed) == 0) return;
  Bypass bypass;
  if (t_state != nullptr) CloseWindows(t_state);
  ShowWindows(true);
  ShowTotals();
  EmitCoverage(g_recorder_thread.load(std::memory_order_relaxed));
  trace::FlushForExec(deadline_ms);
}

void FinishProcess(int deadline_ms) {
  if (!Active() || MustForward() || TheGate().alive.load(std::memory_order_relaxed) == 0) return;
  ThreadState* state = UseThreadState();
  Bypass bypass;
  if (state != nullptr) {
    EmitAllEarly(state);
    CloseWindows(state);
  }
  ShowWindows(true);
  ShowTotals();
  EmitCoverage(g_recorder_thread.load(std::memory_order_relaxed));
  g_mode.store(Mode::kOff);
  // why: what the recorder's thread emits after Stop would be counted as lost.
  const std::uint64_t begin_ns = MonotonicNs();
  while (g_showing.load() != 0 && MonotonicNs() - begin_ns < 100'000'000u)
    raw::Call(SYS_sched_yield);
  trace::Stop(deadline_ms);
}

void AwaitRecorderThread(int deadline_ms) {
  const std::uint32_t thread = g_recorder_thread.load(std::memory_order_relaxed);
  if (thread == 0) return;
  const std::uint32_t pid = raw::ProcessId();
  const std::uint64_t begin_ns = MonotonicNs();
  while (raw::ThreadAlive(pid, thread) &&
         MonotonicNs() - begin_ns < static_cast<std::uint64_t>(deadline_ms) * 1'000'000u) {
    raw::Call(SYS_sched_yield);
  }
}

namespace {

__attribute__((constructor)) void Begin() {
  const int saved_errno = errno;
  if (REAL(read) != nullptr && SetupThreadStates()) {
    trace::InitClock();
    GuessScale();
    g_pid.store(raw::ProcessId(), std::memory_order_relaxed);
    g_parent_pid.store(static_cast<std::uint32_t>(raw::Call(SYS_getppid)),
                       std::memory_order_relaxed);
    g_silent_program = IsSilentProgram(program_invocation_short_name);
    ReadThreshold();
    ConfigureRecorder();
  }
  errno = saved_errno;
}

__attribute__((destructor)) void End() { FinishProcess(kExitDeadlineMs); }

}  // namespace

}  // namespace chokepoint::interpose
