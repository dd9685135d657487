// Two samples of the clock, as far apart as they come.
// Must not take long: one sample for each call, and none once the rate is good.
#include "plugin/clock_rate.h"

#include <atomic>

#include "plugin/proxy_fold.h"
#include "trace/clock.h"

namespace chokepoint::plugin {
namespace {

constexpr std::uint64_t kEnoughNs = 1'000'000'000;  // apart: more would not change a threshold
constexpr std::uint64_t kLeastNs = 1'000'000;

trace::ClockSample g_first;
std::atomic<std::uint64_t> g_ticks_per_ms{0};
std::atomic<bool> g_settled{false};

}  // namespace

void StartClockRate() noexcept { g_first = trace::SampleClock(); }

void LearnClockRate() noexcept {
  if (g_settled.load(std::memory_order_relaxed) || g_first.ticks == 0) return;
  const trace::ClockSample now = trace::SampleClock();
  const std::uint64_t apart_ns = now.monotonic_raw_ns - g_first.monotonic_raw_ns;
  if (apart_ns < kLeastNs) return;
  const double ticks_per_ns =
      static_cast<double>(now.ticks - g_first.ticks) / static_cast<double>(apart_ns);
  g_ticks_per_ms.store(static_cast<std::uint64_t>(ticks_per_ns * 1e6), std::memory_order_relaxed);
  g_ticks_per_4us.store(static_cast<std::uint64_t>(ticks_per_ns * 4e3), std::memory_order_relaxed);
  if (apart_ns > kEnoughNs) g_settled.store(true, std::memory_order_relaxed);
}

std::uint64_t MillisecondsInTicks(std::uint64_t milliseconds) noexcept {
  return milliseconds * g_ticks_per_ms.load(std::memory_order_relaxed);
}

}  // namespace chokepoint::plugin
