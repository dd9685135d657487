// A lock that gives up: for the rare moments in which threads of the guest could meet.
// Must not be used on a hot path, and never waits for a thread that does not run.
#pragma once

#include <atomic>

#include "trace/raw_io.h"

namespace chokepoint::trace {

// The holder needs a microsecond, but it may have lost its processor, or be the thread that a
// signal handler interrupted.
inline bool TryLock(std::atomic<bool>* lock) noexcept {
  constexpr int kSpins = 2000;
  constexpr int kYieldEvery = 50;
  for (int i = 1; i <= kSpins; ++i) {
    if (!lock->exchange(true, std::memory_order_acquire)) return true;
    if (i % kYieldEvery == 0) raw::Call(SYS_sched_yield);
  }
  return false;
}
inline void Unlock(std::atomic<bool>* lock) noexcept {
  lock->store(false, std::memory_order_release);
}

}  // namespace chokepoint::trace
