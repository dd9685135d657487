// The cheapest steady clock of this machine, and samples that tie it to the system's clocks.
// Must not convert ticks to time in the guest: readers do, from ClockSample records.
#pragma once

#include <cstdint>
#include <ctime>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "trace/events.h"

namespace chokepoint::trace {

// Set once by InitClock: true when the x86 TSC is invariant and the kernel trusts it.
extern bool g_use_tsc;

// Decides which clock to use; call before the first NowTicks. Threads: idempotent, any.
void InitClock() noexcept;

// Of a clock of the system.
inline std::uint64_t ReadClockNs(clockid_t clock) noexcept {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Unit: TSC or CNTVCT cycles, or nanoseconds of CLOCK_MONOTONIC_RAW where there is no usable
// counter.
inline std::uint64_t NowTicks() noexcept {
#if defined(__x86_64__)
  if (__builtin_expect(g_use_tsc, 1)) return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
  return ReadClockNs(CLOCK_MONOTONIC_RAW);
}

// Reads all three clocks, several times, and keeps the tightest bracket.
ClockSample SampleClock() noexcept;

// "tsc", "cntvct" or "monotonic_raw".
const char* TickSource() noexcept;

// An estimate, for time-outs in the guest and for META. 0 when the samples are too close to each
// other.
std::uint64_t TicksPerSecond(const ClockSample& earlier, const ClockSample& later) noexcept;

}  // namespace chokepoint::trace
