// Wraps, resets and saturation of hardware counters.
// Must not need a device.
#include "counters/counter_value.h"

#include <gtest/gtest.h>

namespace chokepoint::counters {
namespace {

constexpr CounterWidth k64{64, false}, k32{32, false}, kPma16{16, true}, kPma4{4, true};

TEST(CounterValue, BeginsAtTheDevicesOwnValue) {
  CounterValue value;
  EXPECT_FALSE(value.known());
  EXPECT_EQ(value.Add(1000, k64), CounterStep::kFirst);
  EXPECT_EQ(value.Add(1500, k64), CounterStep::kForward);
  EXPECT_EQ(value.total(), 1500u);
}

TEST(CounterValue, A32BitWrapContinues) {
  CounterValue value;
  value.Add(0xffff'fff0u, k32);
  EXPECT_EQ(value.Add(0x10, k32), CounterStep::kWrapped);
  EXPECT_EQ(value.total(), 0xffff'fff0u + 0x20ull);
}

TEST(CounterValue, AFallFromTheMiddleOf32BitsIsAReset) {
  CounterValue value;
  value.Add(1'000'000, k32);
  EXPECT_EQ(value.Add(5, k32), CounterStep::kReset);
  EXPECT_EQ(value.total(), 1'000'005u);
}

TEST(CounterValue, A64BitCounterNeverWraps) {
  CounterValue value;
  value.Add(0xffff'ffffu, k64);
  EXPECT_EQ(value.Add(3, k64), CounterStep::kReset);
  EXPECT_EQ(value.total(), 0xffff'ffffull + 3);
}

TEST(CounterValue, AWideReadingOfANarrowCounterIsNotAWrap) {
  CounterValue value;  // newer firmware reports more bits than the table says
  value.Add(std::uint64_t{5} << 32, k32);
  EXPECT_EQ(value.Add(7, k32), CounterStep::kReset);
}

TEST(CounterValue, SaturationSaysAtLeast) {
  CounterValue value;
  value.Add(65'534, kPma16);
  EXPECT_FALSE(value.at_maximum());
  value.Add(65'535, kPma16);
  EXPECT_TRUE(value.at_maximum());
  EXPECT_EQ(value.Add(0, kPma16), CounterStep::kReset);
  EXPECT_FALSE(value.at_maximum());
  EXPECT_EQ(value.total(), 65'535u);
  CounterValue small;
  small.Add(15, kPma4);
  EXPECT_TRUE(small.at_maximum());
}

TEST(CounterValue, NeverFalls) {
  for (const CounterWidth width : {k64, k32, kPma16}) {
    CounterValue value;
    std::uint64_t state = 12345;
    std::uint64_t previous = 0;
    for (int i = 0; i < 10'000; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      value.Add((state >> 20) & width.Maximum(), width);
      ASSERT_GE(value.total(), previous);
      previous = value.total();
    }
  }
}

}  // namespace
}  // namespace chokepoint::counters
