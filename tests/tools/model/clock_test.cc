// Ticks to host time, host time to common time.
// Must not test what detectors make of it.
#include "tools/model/clock.h"

#include <gtest/gtest.h>

namespace chokepoint::tools {
namespace {

trace::ClockSample Sample(std::uint64_t ticks, std::uint64_t host_ns, std::uint64_t realtime_ns = 0,
                          std::uint32_t bracket = 10) {
  trace::ClockSample sample;
  sample.ticks = ticks;
  sample.monotonic_raw_ns = host_ns;
  sample.realtime_ns = realtime_ns;
  sample.uncertainty_ticks = bracket;
  return sample;
}

TEST(TickClock, IsExactAtSamplesAndStraightBetween) {
  // 2 ticks per ns, then 1: a virtual machine that was moved.
  const TickClock clock =
      TickClock::Fit({Sample(3000, 2000), Sample(1000, 1000), Sample(4000, 3000)}, 0);
  EXPECT_EQ(clock.ToHostNs(1000), 1000);
  EXPECT_EQ(clock.ToHostNs(2000), 1500);
  EXPECT_EQ(clock.ToHostNs(3000), 2000);
  EXPECT_EQ(clock.ToHostNs(3500), 2500);
  EXPECT_EQ(clock.ToHostNs(5000), 4000);
  EXPECT_EQ(clock.ToHostNs(500), 750);
}

TEST(TickClock, KeepsPrecisionFarFromZero) {
  const std::uint64_t base = 900'000'000'000'000'000;
  const TickClock clock =
      TickClock::Fit({Sample(base, 5'000'000'000), Sample(base + 3'000'000'000, 6'000'000'000)}, 0);
  EXPECT_EQ(clock.ToHostNs(base + 3), 5'000'000'001);
}

TEST(TickClock, OneSampleBorrowsTheRate) {
  const TickClock clock = TickClock::Fit({Sample(1000, 5000)}, 0.5);
  EXPECT_FALSE(clock.rate_measured());
  EXPECT_EQ(clock.ToHostNs(3000), 6000);
}

TEST(TickClock, LeavesOutSamplesThatDoNotGrow) {
  const TickClock clock =
      TickClock::Fit({Sample(1000, 1000), Sample(2000, 900), Sample(3000, 3000)}, 0);
  EXPECT_EQ(clock.ToHostNs(2000), 2000);
}

TEST(TickClock, DamagedTicksDoNotOverflow) {
  const TickClock clock = TickClock::Fit({Sample(1000, 1000), Sample(1001, 2'000'000'000)}, 0);
  EXPECT_GT(clock.ToHostNs(~std::uint64_t{0} >> 1), 1'000'000'000'000'000'000);
}

TEST(TickClock, TakesTheWallClockFromTheTightestSample) {
  const TickClock clock =
      TickClock::Fit({Sample(1000, 1000, 51000, 90), Sample(2000, 2000, 52500, 5)}, 0);
  EXPECT_EQ(clock.realtime_minus_host_ns(), 50500);
}

TEST(AlignByWallClock, OneHostHasNoError) {
  const auto one = AlignByWallClock({1000});
  EXPECT_EQ(one[0].error_ns, 0);
  const auto two = AlignByWallClock({1000, 5000});
  EXPECT_GT(two[0].error_ns, 0);
  EXPECT_EQ(two[1].ToCommonNs(100) - two[0].ToCommonNs(100), 4000);
}

}  // namespace
}  // namespace chokepoint::tools
