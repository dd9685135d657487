// The fast way of reads and writes that are many: they fall into a window that is open, and not all
// of them are timed. why: two reads of the time stamp counter are most of what a hook costs. When a
// window has seen many calls, all fast, one in eight is timed; the others read a clock that costs a
// third and moves every few milliseconds, so that no stall goes unseen. Must not emit: what does
// not fit goes through EndCall.
#pragma once

#include <time.h>

#include <cstdint>

#include "interpose/record.h"

namespace chokepoint::interpose {

struct TransferStart {
  std::uint64_t ticks;
  std::uint64_t coarse_ns;  // 0: `ticks` is exact
};

inline std::uint64_t CoarseNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t TicksIn(std::uint64_t ns) {
  return static_cast<std::uint64_t>(static_cast<float>(ns) * g_ticks.ticks_per_ns);
}

inline trace::FileWindow* OpenWindowOf(const ThreadState* state, std::uint32_t file,
                                       FileCallKind kind, WindowSide** side) {
  const WindowRef& ref = state->windows[WindowPlace(file, kind)];
  if (ref.key != WindowKey(file, kind)) return nullptr;
  *side = reinterpret_cast<WindowSide*>(ref.slot->side);
  return reinterpret_cast<trace::FileWindow*>(ref.slot->record);
}

// BeginCall for reads and writes.
inline TransferStart BeginTransfer(ThreadState* state, FileCallKind kind, std::uint32_t file) {
  WindowSide* side = nullptr;
  const trace::FileWindow* window = OpenWindowOf(state, file, kind, &side);
  if (window == nullptr || window->calls < kAlwaysTimedCalls || side->slow != 0) {
    return {BeginCall(state, kind, file), 0};
  }
  state->random = state->random * 1664525u + 1013904223u;
  if (state->random >> (32 - kSampledShift) == 0) return {BeginCall(state, kind, file), 0};
  const std::uint64_t now_ns = CoarseNs();
  trace::ThreadFileTotals* totals = state->totals;
  totals->start_ticks = window->start_ticks + TicksIn(now_ns - side->opened_coarse_ns);
  totals->file = file;
  totals->call = static_cast<std::uint8_t>(kind);
  return {totals->start_ticks, now_ns};
}

inline void FinishFold(ThreadState* state, FileCallKind kind, std::uint64_t bytes,
                       std::uint64_t now) {
  trace::ThreadFileTotals* totals = state->totals;
  totals->call = 0;
  ++totals->calls;
  (kind == FileCallKind::kRead ? totals->read_bytes : totals->written_bytes) += bytes;
  CompilerBarrier();
  if (__builtin_expect(HasNested(state), 0)) EmitNested(state, now);
  Release(state);
}

// False: nothing was done, EndCall must.
inline bool FoldTransfer(ThreadState* state, const Call& call) {
  WindowSide* side = nullptr;
  trace::FileWindow* window = OpenWindowOf(state, call.file, call.kind, &side);
  if (window == nullptr || state->busy != 0 || call.bytes < 0) return false;
  const auto bytes = static_cast<std::uint64_t>(call.bytes);
  const std::uint64_t ticks = call.end_ticks - call.start_ticks;
  if (call.start_ticks - window->start_ticks > g_ticks.window_ticks ||
      ticks >= g_ticks.slow_ticks || bytes >= kSingleBytes || window->calls >= kMaxWindowCalls) {
    return false;
  }
  MakeBusy(state);
  if (call.flags & trace::kFileCallCoarse) {
    CountInWindow(window, side, call.flags & ~std::uint8_t{trace::kFileCallCoarse}, bytes,
                  call.offset, call.sequential);
  } else {
    AddToWindow(window, side, call.flags, bytes, call.offset, call.sequential, ticks);
    window->end_after_ticks = static_cast<float>(call.end_ticks - window->start_ticks);
  }
  FinishFold(state, call.kind, bytes, call.end_ticks);
  return true;
}

}  // namespace chokepoint::interpose
