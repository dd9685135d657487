// Maps a process's ticks to the host's steady clock, and each host's steady clock to one common
// time. Must not touch GPU time stamps: they belong to another clock and are never subtracted from
// these.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/events.h"

namespace chokepoint::tools {

// Piecewise linear through ClockSamples: exact at each sample, straight between two, extended
// beyond the ends.
class TickClock {
 public:
  // Samples in any order; unusable ones (time or ticks that do not grow) are left out.
  // `fallback_ns_per_tick`: used when there are fewer than two usable samples; 0 = unknown, counts
  // as 1.
  static TickClock Fit(std::vector<trace::ClockSample> samples, double fallback_ns_per_tick);

  // CLOCK_MONOTONIC_RAW of a tick count, ns.
  std::int64_t ToHostNs(std::uint64_t ticks) const;
  double NsPerTick() const { return overall_ns_per_tick_; }
  bool has_samples() const { return !knots_.empty(); }
  // At least two samples: the rate was measured, not taken from elsewhere.
  bool rate_measured() const { return rate_measured_; }
  double uncertainty_ns() const { return uncertainty_ns_; }
  std::int64_t first_sample_ns() const { return knots_.empty() ? 0 : knots_.front().host_ns; }
  std::int64_t last_sample_ns() const { return knots_.empty() ? 0 : knots_.back().host_ns; }
  // Wall clock minus steady clock at the sample with the tightest bracket.
  std::int64_t realtime_minus_host_ns() const { return realtime_minus_host_ns_; }

 private:
  struct Knot {
    std::uint64_t ticks;
    std::int64_t host_ns;
    double ns_per_tick;  // until the next knot
  };
  std::vector<Knot> knots_;
  double overall_ns_per_tick_ = 1;
  double uncertainty_ns_ = 0;
  std::int64_t realtime_minus_host_ns_ = 0;
  bool rate_measured_ = false;
};

// One clock per host: common time = host time + offset + drift * (host time - reference).
struct HostClock {
  std::int64_t offset_ns = 0;
  double drift = 0;
  std::int64_t reference_host_ns = 0;
  double error_ns = 0;  // bound of the difference to the other hosts' clocks; 0 with one host
  std::string method;   // "one host", "wall clock", ...: printed

  std::int64_t ToCommonNs(std::int64_t host_ns) const {
    return host_ns + offset_ns +
           static_cast<std::int64_t>(drift * static_cast<double>(host_ns - reference_host_ns));
  }
};

// Aligns hosts by their wall clocks: right as far as NTP is. `realtime_minus_host_ns` has one entry
// per host.
std::vector<HostClock> AlignByWallClock(const std::vector<std::int64_t>& realtime_minus_host_ns);

// What two hosts' wall clocks may differ by under ordinary NTP over a public network.
inline constexpr double kWallClockErrorNs = 10e6;

}  // namespace chokepoint::tools
