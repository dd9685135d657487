// trace-loss: fires, just does not fire, has not enough data.
// Must not test the model: timeline_test.cc does.
#include <gtest/gtest.h>

#include "tests/tools/timeline_of.h"
#include "tools/detect/detectors.h"

namespace chokepoint::tools {
namespace {

using namespace tests;  // NOLINT: the literals

Finding WithLoss(std::uint64_t dropped) {
  return DetectTraceLoss(TimelineOf({.ranks = 1}, [dropped](JobBuilder* job) {
    for (int step = 0; step < 990; ++step) job->Rank(0).AllReduce(step * 1_ms, 500_us);
    if (dropped > 0) job->Rank(0).file().Loss(trace::LossReason::kRingFull, dropped, dropped * 64);
    job->End(1_s);
  }));
}

TEST(TraceLoss, Fires) {
  const Finding finding = WithLoss(10);
  EXPECT_EQ(finding.verdict, Verdict::kProblem);
  EXPECT_NE(finding.sentence.find("10 of 1,000 records were dropped (1.0 %)"), std::string::npos)
      << finding.sentence;
  ASSERT_EQ(finding.evidence.size(), 1u);
  EXPECT_EQ(std::get<std::string>(finding.evidence[0].rows[0][0]),
            "ring full: the program was faster than the recorder");
}

TEST(TraceLoss, JustDoesNotFire) {
  EXPECT_EQ(WithLoss(9).verdict, Verdict::kOk);
  EXPECT_NE(WithLoss(0).sentence.find("Nothing is known to be lost"), std::string::npos);
}

TEST(TraceLoss, FiresOnGapsInTheSequence) {
  const Finding finding = DetectTraceLoss(TimelineOf({.ranks = 1}, [](JobBuilder* job) {
    for (int step = 0; step < 100; ++step) {
      job->Rank(0).Do(
          {.at_ns = step * 1_ms, .took_ns = 500_us, .sequence = step < 50 ? step : step + 2});
    }
    job->End(1_s);
  }));
  EXPECT_EQ(finding.verdict, Verdict::kProblem);
  EXPECT_NE(finding.sentence.find("2 operations are missing"), std::string::npos)
      << finding.sentence;
}

TEST(TraceLoss, NotEnoughData) {
  EXPECT_EQ(
      DetectTraceLoss(TimelineOf({}, [](JobBuilder* job) { job->Rank(0).Ends(1_s); })).verdict,
      Verdict::kNoData);
}

}  // namespace
}  // namespace chokepoint::tools
