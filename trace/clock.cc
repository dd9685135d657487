// Decides whether the processor's counter can be trusted, and reads the three clocks together.
// Must not convert: readers do.
#include "trace/clock.h"

#include <atomic>

#include "trace/raw_io.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace chokepoint::trace {

bool g_use_tsc = false;

namespace {

#if defined(__x86_64__)
bool TscIsInvariant() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
}

// why: the kernel watches the TSC against other clocks and over sockets; what it does not use, we
// do not either.
bool KernelUsesTsc() noexcept {
  char source[32];
  if (raw::ReadSmallFile("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
                         sizeof(source)) == 0) {
    return false;
  }
  return std::strncmp(source, "tsc", 3) == 0;
}
#endif

}  // namespace

void InitClock() noexcept {
#if defined(__x86_64__)
  static std::atomic<bool> decided{false};
  if (decided.load(std::memory_order_acquire)) return;
  g_use_tsc = TscIsInvariant() && KernelUsesTsc();
  decided.store(true, std::memory_order_release);
#endif
}

const char* TickSource() noexcept {
#if defined(__aarch64__)
  return "cntvct";
#else
  return g_use_tsc ? "tsc" : "monotonic_raw";
#endif
}

ClockSample SampleClock() noexcept {
  constexpr int kTries = 5;
  ClockSample best;
  std::uint64_t best_width = ~std::uint64_t{0};
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = NowTicks();
    const std::uint64_t raw_ns = ReadClockNs(CLOCK_MONOTONIC_RAW);
    const std::uint64_t realtime_ns = ReadClockNs(CLOCK_REALTIME);
    const std::uint64_t width = NowTicks() - before;
    if (width >= best_width) continue;
    best_width = width;
    best.ticks = before + width / 2;
    best.monotonic_raw_ns = raw_ns;
    best.realtime_ns = realtime_ns;
  }
  best.uncertainty_ticks =
      best_width > 0xffffffffu ? 0xffffffffu : static_cast<std::uint32_t>(best_width);
  return best;
}

std::uint64_t TicksPerSecond(const ClockSample& earlier, const ClockSample& later) noexcept {
#if defined(__aarch64__)
  std::uint64_t frequency;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
  if (frequency != 0) return frequency;
#endif
  if (!g_use_tsc) return 1'000'000'000u;
  const double span_ns = static_cast<double>(later.monotonic_raw_ns - earlier.monotonic_raw_ns);
  if (span_ns < 1e6) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(later.ticks - earlier.ticks) * 1e9 /
                                    span_ns);
}

}  // namespace chokepoint::trace
