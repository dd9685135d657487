// Whether this process records, and when it begins and ends: dormant until it does I/O that is
// worth a trace. Must not start anything in a process that only runs a shell, a compiler or git.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/fd_table.h"

namespace chokepoint::interpose {

enum class Mode : std::uint32_t {
  kNew = 0,  // the constructor has not run
  kOff,      // disabled, or over
  kDormant,  // counts, but has neither file nor thread
  kActive,
};

extern std::atomic<Mode> g_mode;
extern std::atomic<std::uint32_t> g_generation;  // 1, +1 in each forked child
extern std::atomic<std::uint32_t> g_gaps;        // trace::IoGap
extern std::atomic<std::uint64_t> g_mapped_bytes;

inline bool Active() { return g_mode.load(std::memory_order_relaxed) == Mode::kActive; }
// True when descriptors are to be followed at all.
inline bool Watching() { return g_mode.load(std::memory_order_relaxed) >= Mode::kDormant; }

void AddGap(std::uint32_t gap);

// Counts a call of a dormant process; becomes active when enough was moved. `direction`: 0 read, 1
// written.
void CountEarly(std::uint32_t file, int direction, std::int64_t bytes);

// A file of a dormant process was opened: active if everything is to be recorded.
void NoteOpened(std::uint32_t file);

// Becomes active now, if it may. True when active.
bool Activate();

// A socket was connected: active if NCCL is loaded. True when active.
bool ActivateForNccl();

// In a forked child, whose gate is zero. Forgets the parent's recording.
void BecomeChild();

// Around libc's fork, in the parent: what the child must know.
void NoteForkByLibc(bool begins);

// In the child of libc's fork.
void NoteFork();

// exec: writes what is known, within the deadline.
void FlushBeforeExec(int deadline_ms);

// The end: all windows, totals and coverage, then the trace is closed.
void FinishProcess(int deadline_ms);

// After FinishProcess: returns when the recorder's thread is gone.
void AwaitRecorderThread(int deadline_ms);

}  // namespace chokepoint::interpose
