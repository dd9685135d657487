// Quantiles within 1 %, the rest exact.
// Must not test what detectors make of it.
#include "tools/model/histogram.h"

#include <gtest/gtest.h>

#include <random>

namespace chokepoint::tools {
namespace {

TEST(Histogram, QuantilesAreWithinOnePercent) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> times(12, 3);
  std::vector<std::int64_t> values;
  Histogram histogram;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(static_cast<std::int64_t>(times(random)));
    histogram.Add(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double share : {0.01, 0.5, 0.9, 0.99, 1.0}) {
    const auto exact = static_cast<double>(values[static_cast<std::size_t>(share * 20'000) - 1]);
    EXPECT_NEAR(histogram.Quantile(share), exact, exact * 0.01 + 1) << share;
  }
  EXPECT_EQ(histogram.count(), 20'000u);
  EXPECT_EQ(histogram.min_ns(), static_cast<double>(values.front()));
  EXPECT_EQ(histogram.max_ns(), static_cast<double>(values.back()));
}

TEST(Histogram, MergeIsLikeAddingAll) {
  Histogram all, low, high;
  for (int i = 0; i < 1000; ++i) {
    all.Add(i);
    low.Add(i);
    all.Add(i * 100'000);
    high.Add(i * 100'000);
  }
  high.Merge(low);
  high.Merge(Histogram());
  EXPECT_EQ(high.count(), all.count());
  EXPECT_EQ(high.sum_ns(), all.sum_ns());
  for (const double share : {0.1, 0.5, 0.75, 0.99})
    EXPECT_EQ(high.Quantile(share), all.Quantile(share));
}

TEST(Histogram, EqualValuesAreExact) {
  Histogram histogram;
  for (int i = 0; i < 10; ++i) histogram.Add(1'234'567);
  EXPECT_EQ(histogram.Quantile(0.5), 1'234'567);
  EXPECT_EQ(Histogram().Quantile(0.5), 0);
}

}  // namespace
}  // namespace chokepoint::tools
