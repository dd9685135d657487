// What a recording thread keeps between calls. All of it lies in one piece of memory that a forked
// child finds zeroed, so a child knows itself by the first state it looks at. Must not be shared
// between threads, but for the totals, which the drain thread reads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interpose/guard.h"
#include "trace/events.h"
#include "trace/recorder.h"

namespace chokepoint::interpose {

inline constexpr std::size_t kWindowsPerThread = 8;
inline constexpr std::size_t kMaxThreads = 2048;
inline constexpr std::uint32_t kMaxSingleCalls =
    64;  // FileCall records per thread and window's time

// The window for one (file, kind), if `slot` is set. Its FileWindow is slot->record, the
// bookkeeping slot->side.
struct WindowRef {
  std::uint64_t key;
  trace::BoardSlot* slot;
};

// Windows opened per thread and window's time; beyond it files are taken together by directory.
inline constexpr std::uint32_t kMaxWindows = 128;

struct WindowSide {
  std::int64_t next_offset;    // where a positioned call continues the one before
  std::uint64_t copied_calls;  // how many of its calls the drain thread has already shown
  std::uint64_t first_offset;
  std::uint64_t opened_coarse_ns;  // when it was opened, on the clock that is cheap to read
  std::int32_t fd;
  std::uint32_t detail;
  std::uint32_t slow;  // one of its calls was: all are timed
};

// Calls made by a signal handler while this thread was inside our own code.
struct NestedCalls {
  std::atomic<std::uint64_t> bytes[2];  // read, written
  std::atomic<std::uint32_t> calls[2];
};

struct alignas(64) ThreadState {
  std::atomic<std::uint32_t> alive;  // 0: free, or wiped by fork
  std::uint32_t busy;                // the state is being changed, or a record emitted
  std::uint32_t windows_opened;      // in the budget's time
  std::uint32_t thread;
  std::uintptr_t busy_stack;  // stack pointer of who made it busy
  trace::BoardSlot*
      totals_slot;  // its record is the ThreadFileTotals, or `own_totals` stands for it
  trace::ThreadFileTotals* totals;
  std::uint64_t single_since_ticks;  // the budget of FileCall records began here
  std::uint32_t single_calls;
  std::uint32_t random;
  WindowRef windows[kWindowsPerThread];
  NestedCalls nested;
  trace::ThreadFileTotals own_totals;
};

// The first thing in that memory.
struct Gate {
  std::atomic<std::uint32_t> alive;           // 0 in a forked child until it was noticed
  std::atomic<std::uint32_t> highest_thread;  // states below it may be in use
  std::atomic<std::uint32_t> ended_threads;
  std::atomic<std::uint64_t> ended_read_bytes;  // totals of threads that have ended
  std::atomic<std::uint64_t> ended_written_bytes;
  std::atomic<std::uint64_t> ended_async_bytes;
  std::atomic<std::uint64_t> ended_other_read_bytes;
  std::atomic<std::uint64_t> ended_other_written_bytes;
};

// Makes the memory. False when there is none: nothing is recorded then.
bool SetupThreadStates();

// Before the first thread records: what happens when threads end.
void PrepareThreadEnd();

Gate& TheGate();
ThreadState& ThreadStateOf(std::size_t index);

// The state of this thread, made when needed. Null: forward only. Notices that this process is a
// forked child.
ThreadState* FindThreadState();

inline ThreadState* UseThreadState() {
  if (__builtin_expect(MustForward(), 0)) return nullptr;
  ThreadState* state = t_state;
  if (__builtin_expect(state != nullptr && state->alive.load(std::memory_order_relaxed) != 0, 1)) {
    // why here: only the hook's own frame can be compared with the one that was left.
    if (__builtin_expect(state->busy != 0, 0) && Abandoned(state->busy_stack)) state->busy = 0;
    return state;
  }
  return FindThreadState();
}

// Board slots for windows and totals. Null when all are taken.
trace::BoardSlot* ClaimSlot();
void FreeSlot(trace::BoardSlot* slot);

}  // namespace chokepoint::interpose
