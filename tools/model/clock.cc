// Maps a process's ticks to the host's steady clock, and each host's steady clock to one common
// time. Must not touch GPU time stamps: they belong to another clock and are never subtracted from
// these.
#include "tools/model/clock.h"

#include <algorithm>

namespace chokepoint::tools {
namespace {

// Later moments are damage; sums of four of these still fit.
constexpr std::uint64_t kLatestNs = 2'200'000'000'000'000'000;

std::int64_t TicksBetween(std::uint64_t from, std::uint64_t to) {
  return static_cast<std::int64_t>(to - from);
}

}  // namespace

TickClock TickClock::Fit(std::vector<trace::ClockSample> samples, double fallback_ns_per_tick) {
  std::sort(
      samples.begin(), samples.end(),
      [](const trace::ClockSample& a, const trace::ClockSample& b) { return a.ticks < b.ticks; });
  TickClock clock;
  std::uint32_t tightest = ~0u;
  for (const trace::ClockSample& sample : samples) {
    if (sample.monotonic_raw_ns > kLatestNs || sample.realtime_ns > kLatestNs) continue;
    const auto host_ns = static_cast<std::int64_t>(sample.monotonic_raw_ns);
    if (!clock.knots_.empty()) {
      Knot& last = clock.knots_.back();
      if (sample.ticks <= last.ticks || host_ns <= last.host_ns) continue;
      last.ns_per_tick = static_cast<double>(host_ns - last.host_ns) /
                         static_cast<double>(TicksBetween(last.ticks, sample.ticks));
    }
    clock.knots_.push_back({sample.ticks, host_ns, 0});
    if (sample.uncertainty_ticks < tightest) {
      tightest = sample.uncertainty_ticks;
      clock.realtime_minus_host_ns_ =
          static_cast<std::int64_t>(sample.realtime_ns - sample.monotonic_raw_ns);
    }
  }
  const std::size_t count = clock.knots_.size();
  clock.rate_measured_ = count >= 2;
  if (count >= 2) {
    const Knot& first = clock.knots_.front();
    const Knot& last = clock.knots_.back();
    clock.overall_ns_per_tick_ = static_cast<double>(last.host_ns - first.host_ns) /
                                 static_cast<double>(TicksBetween(first.ticks, last.ticks));
    clock.knots_.back().ns_per_tick = clock.knots_[count - 2].ns_per_tick;
  } else {
    clock.overall_ns_per_tick_ = fallback_ns_per_tick > 0 ? fallback_ns_per_tick : 1;
    if (count == 1) clock.knots_.back().ns_per_tick = clock.overall_ns_per_tick_;
  }
  if (count > 0) clock.uncertainty_ns_ = tightest * clock.overall_ns_per_tick_;
  return clock;
}

std::int64_t TickClock::ToHostNs(std::uint64_t ticks) const {
  if (knots_.empty())
    return static_cast<std::int64_t>(static_cast<double>(ticks) * overall_ns_per_tick_);
  auto after =
      std::upper_bound(knots_.begin(), knots_.end(), ticks,
                       [](std::uint64_t value, const Knot& knot) { return value < knot.ticks; });
  const Knot& knot = after == knots_.begin() ? knots_.front() : *(after - 1);
  const double ns = static_cast<double>(TicksBetween(knot.ticks, ticks)) * knot.ns_per_tick;
  return knot.host_ns +
         static_cast<std::int64_t>(std::clamp(ns, -2.2e18, 2.2e18));  // damage must not overflow
}

std::vector<HostClock> AlignByWallClock(const std::vector<std::int64_t>& realtime_minus_host_ns) {
  std::vector<HostClock> clocks(realtime_minus_host_ns.size());
  const bool single = clocks.size() == 1;
  for (std::size_t host = 0; host < clocks.size(); ++host) {
    clocks[host].offset_ns = realtime_minus_host_ns[host];
    clocks[host].error_ns = single ? 0 : kWallClockErrorNs;
    clocks[host].method = single ? "one host" : "wall clock";
  }
  return clocks;
}

}  // namespace chokepoint::tools
