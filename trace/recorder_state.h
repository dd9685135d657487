// What the recorder's two halves share: recorder.cc (any thread) and drain.cc (the drain thread, or
// who holds its lock). Must not be included by anybody else.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/job_identity.h"
#include "trace/names.h"
#include "trace/recorder.h"
#include "trace/ring_memory.h"
#include "trace/trace_path.h"

namespace chokepoint::trace::internal {

enum class Phase : int {
  kUnconfigured,
  kDisabled,
  kConfigured,
  kStarting,
  kRecording,
  kStopping,
  kStopped,
  kFailed,  // no memory
  kForked,  // in a child of a process that recorded: starts again with its first record
};

inline constexpr std::size_t kLossReasons = kRingFileLossReasons;
struct ProcessLoss {
  std::atomic<std::uint64_t> events{0};
  std::atomic<std::uint64_t> bytes{0};
};

struct RecorderState {
  std::atomic<Phase> phase{Phase::kUnconfigured};
  RecorderOptions options;
  int rank = -1;
  int ranks = -1;
  bool redact = false;
  JobIdentity job;
  PathParts path_parts{};
  std::uint64_t max_bytes = 0;
  std::uint8_t file_id[16] = {};
  ClockSample start_clock;

  RingMemory memory;
  NameTable names;
  std::atomic<bool> adding_meta{false};
  ProcessLoss losses[kLossReasons];  // while there is no ring file to count in
  char added_meta[8192] = {};        // pairs of AddMeta: a forked child says them again
  std::size_t added_meta_bytes = 0;
  std::atomic<const char*> trace_path{""};

  // Futex words. The drain sleeps on `wake`; Flush and Stop on `progress`.
  std::atomic<std::uint32_t> wake{0};
  std::atomic<std::uint32_t> progress{0};
  std::atomic<bool> half_full{false};  // a wake for a full ring is under way
  std::atomic<std::uint32_t> flush_wanted{0};
  std::atomic<std::uint32_t> flush_done{0};
  std::atomic<bool> thread_alive{false};
  std::atomic<bool> draining{false};  // lock of the drain's state
};
extern RecorderState g_recorder;

// True when the ring file, and so names, board and rings, are there.
inline bool HasMemory(Phase phase) noexcept {
  return phase == Phase::kRecording || phase == Phase::kStopping || phase == Phase::kStopped;
}

inline Phase CurrentPhase() noexcept { return g_recorder.phase.load(std::memory_order_acquire); }

void CountLoss(LossReason reason, std::uint64_t events, std::uint64_t bytes) noexcept;
void WakeDrain() noexcept;
// Appends to the META text; `remember`: forked children say it too.
void AppendMeta(const char* key, const char* value, bool remember) noexcept;

// In a forked child: what the parent's code has said once holds here too.
void RepeatAddedMeta() noexcept;

// ---- drain_thread.cc ----
// Starts the background thread; false when there is none to be had.
bool StartDrainThread() noexcept;
// One pass on the calling thread, for processes without a drain thread. `last`: writes END and
// closes.
void DrainInline(bool last) noexcept;
// In a forked child.
void ForgetDrain() noexcept;

}  // namespace chokepoint::trace::internal
