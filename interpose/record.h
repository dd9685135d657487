// From a call to a record: times it, folds small calls into windows, emits large, slow and rare
// ones. Must not call libc, change errno or wait.
#pragma once

#include <cstdint>

#include "interpose/fd_table.h"
#include "interpose/process_state.h"
#include "interpose/thread_state.h"
#include "trace/clock.h"
#include "trace/events.h"

namespace chokepoint::interpose {

using trace::FileCallKind;

inline constexpr std::uint64_t kUnknownOffset = ~std::uint64_t{0};
inline constexpr std::uint64_t kSingleBytes = 1 << 20;  // calls from here are recorded one by one

// The scale of time in this process: set when recording begins, made exact by the drain thread.
struct TickScale {
  std::uint64_t window_ticks = 250'000'000;  // 100 ms
  std::uint64_t slow_ticks = 3'000'000;      // the histogram's last bucket: recorded one by one
  std::uint64_t sampled_ticks = 65'536;      // calls below this need not all be timed
  std::uint64_t coarse_step_ns = 4'000'000;  // of CLOCK_MONOTONIC_COARSE
  float ticks_per_ns = 2.5F;
  std::uint8_t unit_shift = 10;
};
extern TickScale g_ticks;

inline constexpr std::uint16_t kMaxWindowCalls = 60'000;
inline constexpr std::uint16_t kAlwaysTimedCalls = 32;  // the first of each window
inline constexpr std::uint32_t kSampledShift = 3;       // then one in eight, at random

inline void CompilerBarrier() { __asm__ volatile("" ::: "memory"); }

// Until Release, a signal handler's calls on this thread are only counted.
inline void MakeBusy(ThreadState* state) {
  state->busy_stack = StackPointer();
  state->busy = 1;
  CompilerBarrier();
}
// False when this is such a handler.
inline bool Claim(ThreadState* state) {
  if (__builtin_expect(state->busy != 0, 0)) return false;
  MakeBusy(state);
  return true;
}
inline void Release(ThreadState* state) {
  CompilerBarrier();
  state->busy = 0;
}

inline std::uint64_t WindowKey(std::uint32_t file, FileCallKind kind) {
  return std::uint64_t{file} << 8 | static_cast<std::uint64_t>(kind);
}
inline std::size_t WindowPlace(std::uint32_t file, FileCallKind kind) {
  return (file * 3 + static_cast<unsigned>(kind)) % kWindowsPerThread;
}

// The histogram's bucket for a time in its units: see FileWindow.latency.
inline std::size_t LatencyBucket(std::uint64_t units) {
  constexpr std::size_t kLast = sizeof(trace::FileWindow::latency) / sizeof(std::uint16_t) - 1;
  if (units < 4) return units;
  const auto octave = static_cast<std::size_t>(63 - __builtin_clzll(units));
  const std::size_t bucket = 2 * octave + ((units >> (octave - 1)) & 1);
  return bucket < kLast ? bucket : kLast;
}

// The part of a call that needs no clock.
inline void CountInWindow(trace::FileWindow* window, WindowSide* side, std::uint8_t flags,
                          std::uint64_t bytes, std::uint64_t offset, bool sequential) {
  ++window->calls;
  window->flags |= flags;
  window->bytes += bytes;
  if (bytes > window->largest_bytes) {
    window->largest_bytes = bytes < 0xffffffffu ? static_cast<std::uint32_t>(bytes) : 0xffffffffu;
  }
  if (offset != kUnknownOffset) {
    sequential = sequential || side->next_offset == static_cast<std::int64_t>(offset);
    side->next_offset = static_cast<std::int64_t>(offset + bytes);
  }
  if (sequential) ++window->sequential_calls;
}

inline void AddToWindow(trace::FileWindow* window, WindowSide* side, std::uint8_t flags,
                        std::uint64_t bytes, std::uint64_t offset, bool sequential,
                        std::uint64_t ticks) {
  CountInWindow(window, side, flags, bytes, offset, sequential);
  ++window->timed_calls;
  window->time_ticks += ticks;
  if (ticks >= g_ticks.sampled_ticks) side->slow = 1;
  const auto span = static_cast<float>(ticks);
  if (span > window->longest_ticks) window->longest_ticks = span;
  ++window->latency[LatencyBucket(ticks >> window->unit_shift)];
}

inline bool HasNested(const ThreadState* state) {
  return (state->nested.calls[0].load(std::memory_order_relaxed) |
          state->nested.calls[1].load(std::memory_order_relaxed)) != 0;
}

// Tells the calls of signal handlers that interrupted our own code on this thread.
void EmitNested(ThreadState* state, std::uint64_t now);

// One finished call.
struct Call {
  FileCallKind kind;
  std::uint8_t flags;  // trace::FileCallFlag
  std::uint32_t file;
  std::int64_t bytes;    // negative: failed
  std::uint64_t offset;  // kUnknownOffset
  bool sequential;       // known to continue the one before
  bool single;           // always recorded one by one, if the budget allows
  int error;
  int fd;
  std::uint32_t detail;
  std::uint64_t start_ticks;
  std::uint64_t end_ticks;
};

// Says that a call begins, for those who look at a process that hangs in it. Returns the time.
inline std::uint64_t BeginCall(ThreadState* state, FileCallKind kind, std::uint32_t file) {
  const std::uint64_t now = trace::NowTicks();
  trace::ThreadFileTotals* totals = state->totals;
  totals->start_ticks = now;
  totals->file = file;
  totals->call = static_cast<std::uint8_t>(kind);
  return now;
}

// Records it. Counts into the totals too.
void EndCall(ThreadState* state, const Call& call);

// True when this thread may emit another record of its own for one call now: their rate is bounded,
// the rest is folded.
bool WithinBudget(ThreadState* state, std::uint64_t now);

// Bytes of read(2) and write(2) on what is no file: they are in the kernel's counters, so they must
// be in ours.
inline void CountOther(int direction, std::int64_t bytes) {
  ThreadState* state = t_state;
  if (state == nullptr || bytes <= 0 || MustForward()) return;
  if (state->alive.load(std::memory_order_relaxed) == 0) return;
  trace::ThreadFileTotals* totals = state->totals;
  (direction == 0 ? totals->other_read_bytes : totals->other_written_bytes) +=
      static_cast<std::uint64_t>(bytes);
}

// Emits a record that is no FileCall (rename, map, connection), unless this thread is inside our
// own code.
template <class Event>
void EmitGuarded(ThreadState* state, const Event& event) {
  if (!Claim(state)) return;
  trace::Emit(event);
  Release(state);
}

// Makes sure that the trace says what `file` is. False: it is no file after all.
bool TellFile(ThreadState* state, std::uint32_t file, int fd);

// Closes all windows of this thread.
void CloseWindows(ThreadState* state);

// From the drain thread and at the end: shows windows of other threads that are idle, or all.
void ShowWindows(bool all);

// Emits how a thread stands.
void ShowTotals();

}  // namespace chokepoint::interpose
