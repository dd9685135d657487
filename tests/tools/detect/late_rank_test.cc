// late-rank: fires, just does not fire, has not enough data.
// Must not test the model: timeline_test.cc does.
#include <gtest/gtest.h>

#include "tests/tools/timeline_of.h"
#include "tools/detect/detectors.h"

namespace chokepoint::tools {
namespace {

using namespace tests;  // NOLINT: the literals

// 30 steps in 3 s, rank 2 late by `late_ns` in each. The first operation of a communicator is not
// judged.
Timeline Steps(const JobBuilder::Options& options, std::int64_t late_ns, int steps = 30) {
  return TimelineOf(options, [&](JobBuilder* job) {
    for (int step = 0; step < steps; ++step) job->Step(step * 100_ms, 30_ms, 4_ms, 2, late_ns);
    job->End(3_s);
  });
}

TEST(LateRank, Fires) {
  const Finding finding = DetectLateRank(Steps({}, 20_ms));
  EXPECT_EQ(finding.verdict, Verdict::kProblem);
  EXPECT_NE(finding.sentence.find("Rank 2 ("), std::string::npos) << finding.sentence;
  EXPECT_NEAR(finding.lost_ns, 580e6, 1e3);
  EXPECT_EQ(finding.confidence, Confidence::kHigh);
}

TEST(LateRank, FiresAcrossHostsWithoutACommonClock) {
  const Finding finding =
      DetectLateRank(Steps({.ranks_per_host = 2, .clock_offset_ns = 7_s}, 20_ms));
  EXPECT_EQ(finding.verdict, Verdict::kProblem);
  EXPECT_NE(finding.sentence.find("Rank 2 ("), std::string::npos) << finding.sentence;
  EXPECT_NEAR(finding.lost_ns, 580e6, 1e6);
}

TEST(LateRank, JustDoesNotFire) {
  EXPECT_EQ(DetectLateRank(Steps({}, 5_ms + 300_us)).verdict,
            Verdict::kProblem);  // 29 times: 5.1 % of the run
  EXPECT_EQ(DetectLateRank(Steps({}, 5_ms + 100_us)).verdict, Verdict::kOk);  // 4.9 %
}

TEST(LateRank, OneLongAbsenceIsNotAHabit) {
  const Finding finding = DetectLateRank(TimelineOf({}, [](JobBuilder* job) {
    for (int step = 0; step < 30; ++step)
      job->Step(step * 100_ms, 30_ms, 4_ms, 2, step == 7 ? 600_ms : 0);
    job->End(4_s);
  }));
  EXPECT_EQ(finding.verdict, Verdict::kOk) << finding.sentence;
}

TEST(LateRank, StartUpIsNotAHabit) {
  const Finding finding = DetectLateRank(TimelineOf({}, [](JobBuilder* job) {
    for (int step = 0; step < 30; ++step) {
      job->Step(1_s + step * 100_ms, 30_ms, 4_ms, 2, step == 0 ? -900_ms : 20_ms);
    }
    job->End(4_s);
  }));
  EXPECT_EQ(finding.verdict, Verdict::kProblem);
  EXPECT_NEAR(finding.lost_ns, 580e6, 1e5);
}

TEST(LateRank, TakingTurnsIsNotAHabit) {
  const Finding finding = DetectLateRank(TimelineOf({}, [](JobBuilder* job) {
    for (int step = 0; step < 40; ++step) job->Step(step * 100_ms, 30_ms, 4_ms, step % 4, 20_ms);
    job->End(4_s);
  }));
  EXPECT_EQ(finding.verdict, Verdict::kOk) << finding.sentence;
}

TEST(LateRank, NotEnoughOperations) {
  EXPECT_EQ(DetectLateRank(Steps({}, 20_ms, 20)).verdict, Verdict::kNoData);
  EXPECT_EQ(DetectLateRank(Steps({}, 50_ms, 21)).verdict, Verdict::kProblem);
}

TEST(LateRank, NotEnoughRanks) {
  const Timeline timeline = TimelineOf({}, [](JobBuilder* job) {
    for (int step = 0; step < 30; ++step) {
      for (int rank = 0; rank < 3; ++rank)
        job->Rank(rank).AllReduce(step * 100_ms + (rank == 2 ? 20_ms : 0), 30_ms);
    }
    job->End(3_s);  // rank 3 left no trace
  });
  EXPECT_EQ(DetectLateRank(timeline).verdict, Verdict::kNoData);
}

}  // namespace
}  // namespace chokepoint::tools
