// The door's slow side: starting, stopping, forking, a thread's first record, full rings.
// Must not do here what the drain thread can do: no trace file is touched in this file.
#include "trace/recorder.h"

#include <pthread.h>

#include <cstdlib>

#include "trace/env.h"
#include "trace/process_info.h"
#include "trace/raw_io.h"
#include "trace/recorder_state.h"
#include "trace/text.h"

namespace chokepoint::trace {

namespace internal {

RecorderState g_recorder;

namespace {

constexpr std::size_t kMetaBytes = 64 * 1024;
constexpr double kLeastMegabytes = 0.5;

void MakeFileId(std::uint8_t* id) noexcept {
  const long got = raw::Call(SYS_getrandom, raw::Word(id), 16, 1 /* GRND_NONBLOCK */);
  if (got == 16) return;
  const std::uint64_t parts[2] = {ReadClockNs(CLOCK_REALTIME) * 0x9e3779b97f4a7c15u,
                                  raw::ProcessId() ^ NowTicks()};
  std::memcpy(id, parts, sizeof(parts));
}

RingMemoryLayout LayoutFor(const RecorderOptions& options) noexcept {
  RingMemoryLayout layout;
  layout.writer = options.writer;
  std::memcpy(layout.file_id, g_recorder.file_id, sizeof(layout.file_id));
  layout.start_realtime_ns = g_recorder.start_clock.realtime_ns;
  layout.ring_bytes = options.ring_bytes;
  layout.max_rings = options.max_rings;
  layout.names_bytes = options.names_bytes;
  layout.meta_bytes = kMetaBytes;
  layout.board_slots = options.board_slots;
  layout.board_slot_bytes = sizeof(BoardSlot);
  layout.board_record_offset = offsetof(BoardSlot, record);
  layout.board_record_bytes = sizeof(BoardSlot::record);
  return layout;
}

void AddProcessMeta(const char* key, const char* value) noexcept { AppendMeta(key, value, false); }

void ReadSettings() noexcept {
  RecorderState& state = g_recorder;
  ReadJobIdentity(state.rank, state.ranks, &state.job);
  FillPathParts(state.options.writer, state.job, &state.path_parts);
  state.redact = EnvFlag(EnvVariable::kRedact);
  double megabytes = EnvNumber(EnvVariable::kMaxMegabytes);
  if (megabytes < kLeastMegabytes) megabytes = kLeastMegabytes;
  state.max_bytes = static_cast<std::uint64_t>(megabytes * 1e6);
}

// Waits, within bounds, for another thread that is starting.
bool Started() noexcept {
  constexpr int kMostYields = 20'000;
  for (int i = 0; i < kMostYields && CurrentPhase() == Phase::kStarting; ++i) {
    raw::Call(SYS_sched_yield);
  }
  return CurrentPhase() == Phase::kRecording;
}

bool WaitFor(bool (*done)(std::uint32_t), std::uint32_t argument, int deadline_ms) noexcept {
  RecorderState& state = g_recorder;
  const std::uint64_t deadline_ns =
      ReadClockNs(CLOCK_MONOTONIC) +
      static_cast<std::uint64_t>(deadline_ms < 0 ? 0 : deadline_ms) * 1'000'000u;
  while (true) {
    const std::uint32_t seen = state.progress.load(std::memory_order_acquire);
    if (done(argument)) return true;
    const std::uint64_t now_ns = ReadClockNs(CLOCK_MONOTONIC);
    if (now_ns >= deadline_ns) return false;
    raw::FutexWait(&state.progress, seen, deadline_ns - now_ns);
  }
}

void RegisterHandlers() noexcept {
  static std::atomic<bool> registered{false};
  if (registered.exchange(true)) return;
  pthread_atfork(nullptr, nullptr, [] { AfterForkInChild(); });
}

}  // namespace

void WakeDrain() noexcept {
  g_recorder.wake.fetch_add(1, std::memory_order_release);
  raw::FutexWake(&g_recorder.wake, 1);
}

}  // namespace internal

using internal::CurrentPhase;
using internal::g_recorder;
using internal::Phase;

bool Configure(const RecorderOptions& options) noexcept {
  Phase expected = Phase::kUnconfigured;
  const Phase wanted = EnvFlag(EnvVariable::kDisable) ? Phase::kDisabled : Phase::kConfigured;
  if (wanted == Phase::kConfigured) {
    InitClock();
    if (CurrentPhase() == Phase::kUnconfigured) g_recorder.options = options;
  }
  g_recorder.phase.compare_exchange_strong(expected, wanted, std::memory_order_acq_rel);
  return wanted == Phase::kConfigured;
}

bool Start(int rank, int ranks) noexcept {
  internal::RecorderState& state = g_recorder;
  Phase phase = CurrentPhase();
  if (phase != Phase::kConfigured && phase != Phase::kForked) return internal::Started();
  if (!state.phase.compare_exchange_strong(phase, Phase::kStarting, std::memory_order_acq_rel)) {
    return internal::Started();
  }
  state.rank = rank;
  state.ranks = ranks;
  state.start_clock = SampleClock();
  internal::MakeFileId(state.file_id);
  internal::ReadSettings();
  internal::RegisterHandlers();
  const bool memory = state.memory.Create(internal::LayoutFor(state.options),
                                          EnvTextOrDefault(EnvVariable::kSharedMemoryDirectory));
  if (!memory || !state.names.Attach(state.memory.header())) {
    state.phase.store(Phase::kFailed, std::memory_order_release);
    return false;
  }
  internal::RepeatAddedMeta();
  internal::AppendMeta("ring_memory", state.memory.shared() ? "shared" : "anonymous", false);
  if (state.memory.shared()) internal::AppendMeta("ring_file", state.memory.file_path(), false);
  DescribeProcess(state.job, state.redact, internal::AddProcessMeta);
  state.phase.store(Phase::kRecording, std::memory_order_release);
  internal::StartDrainThread();
  return true;
}

bool Recording() noexcept {
  return g_recorder.phase.load(std::memory_order_relaxed) == Phase::kRecording;
}

void Stop(int deadline_ms) noexcept {
  Phase expected = Phase::kRecording;
  const bool first = g_recorder.phase.compare_exchange_strong(expected, Phase::kStopping,
                                                              std::memory_order_acq_rel);
  if (!first && expected != Phase::kStopping) return;
  if (!g_recorder.thread_alive.load(std::memory_order_acquire)) {
    if (first) internal::DrainInline(true);
    return;
  }
  internal::WakeDrain();
  internal::WaitFor([](std::uint32_t) { return CurrentPhase() == Phase::kStopped; }, 0,
                    deadline_ms);
}

bool Flush(int deadline_ms) noexcept {
  const Phase phase = CurrentPhase();
  if (phase != Phase::kRecording) return phase == Phase::kStopped;
  if (!g_recorder.thread_alive.load(std::memory_order_acquire)) {
    internal::DrainInline(false);
    return true;
  }
  const std::uint32_t ticket = g_recorder.flush_wanted.fetch_add(1, std::memory_order_acq_rel) + 1;
  internal::WakeDrain();
  return internal::WaitFor(
      [](std::uint32_t wanted) {
        const std::uint32_t done = g_recorder.flush_done.load(std::memory_order_acquire);
        return static_cast<std::int32_t>(done - wanted) >= 0 || CurrentPhase() == Phase::kStopped;
      },
      ticket, deadline_ms);
}

void FlushForExec(int deadline_ms) noexcept {
  if (CurrentPhase() != Phase::kRecording) return;
  AddMeta("ended_by", "exec");
  Flush(deadline_ms);
  if (g_recorder.memory.shared()) raw::Unlink(g_recorder.memory.file_path());
}

void AfterForkInChild() noexcept {
  internal::RecorderState& state = g_recorder;
  const Phase phase = CurrentPhase();
  if (phase == Phase::kUnconfigured || phase == Phase::kDisabled || phase == Phase::kConfigured)
    return;
  internal::t_ring = {};
  internal::ForgetDrain();
  state.memory.ForgetInChild();
  state.names.UnlockInChild();
  state.adding_meta.store(false, std::memory_order_relaxed);
  state.draining.store(false, std::memory_order_relaxed);
  state.thread_alive.store(false, std::memory_order_relaxed);
  state.half_full.store(false, std::memory_order_relaxed);
  for (internal::ProcessLoss& loss : state.losses) {
    loss.events.store(0, std::memory_order_relaxed);
    loss.bytes.store(0, std::memory_order_relaxed);
  }
  state.trace_path.store("", std::memory_order_relaxed);
  state.phase.store(Phase::kForked, std::memory_order_release);
}

namespace {
// why: the drain thread dies with the process; what it has not written yet must go first. The
// priority puts it behind the destructors of the library that records: they emit their last words.
__attribute__((destructor(101))) void StopAtExit() { Stop(2000); }
}  // namespace

const char* TracePath() noexcept { return g_recorder.trace_path.load(std::memory_order_acquire); }

}  // namespace chokepoint::trace
