// unfinished-operations: fires, just does not fire, has not enough data; names who is missing.
// Must not test the model: timeline_test.cc does.
#include <gtest/gtest.h>

#include "tests/tools/timeline_of.h"
#include "tools/detect/detectors.h"

namespace chokepoint::tools {
namespace {

using namespace tests;  // NOLINT: the literals

void Steps(JobBuilder* job) {
  for (int step = 0; step < 10; ++step) job->Step(step * 100_ms, 30_ms, 4_ms);
}

TEST(UnfinishedOperations, NamesTheRankThatNeverCame) {
  const Finding finding = DetectUnfinishedOperations(TimelineOf({}, [](JobBuilder* job) {
    Steps(job);
    job->Rank(1).Killed(1100_ms);
    for (const int rank : {0, 2, 3}) {
      job->Rank(rank).Open({.at_ns = 1200_ms});
      job->Rank(rank).Ends(4200_ms);
    }
  }));
  EXPECT_EQ(finding.verdict, Verdict::kProblem);
  EXPECT_NE(finding.sentence.find("Ranks 0, 2-3 wait in AllReduce number 10 (4 MiB)"),
            std::string::npos)
      << finding.sentence;
  EXPECT_NE(finding.sentence.find(
                "Rank 1 (host node0, pid 1001) never entered it; its process was killed"),
            std::string::npos)
      << finding.sentence;
  EXPECT_NEAR(finding.lost_ns, 3e9, 1e6);
}

TEST(UnfinishedOperations, NamesTheRankThatDiedInside) {
  const Finding finding = DetectUnfinishedOperations(TimelineOf({}, [](JobBuilder* job) {
    Steps(job);
    for (int rank = 0; rank < 4; ++rank) job->Rank(rank).Open({.at_ns = 1200_ms});
    for (const int rank : {0, 1, 2}) job->Rank(rank).Ends(4200_ms);
    job->Rank(3).Killed(1300_ms);
  }));
  EXPECT_EQ(finding.verdict, Verdict::kProblem);
  EXPECT_NE(finding.sentence.find("Rank 3 (host node0, pid 1003) was killed inside it"),
            std::string::npos)
      << finding.sentence;
}

TEST(UnfinishedOperations, AJobKilledAtOnceAccusesNobody) {
  const auto killed_apart_by = [](std::int64_t apart_ns) {
    return DetectUnfinishedOperations(TimelineOf({}, [apart_ns](JobBuilder* job) {
      Steps(job);
      for (int rank = 0; rank < 4; ++rank) job->Rank(rank).Open({.at_ns = 1200_ms});
      for (int rank = 0; rank < 4; ++rank) job->Rank(rank).Killed(2_s - (rank == 3 ? apart_ns : 0));
    }));
  };
  EXPECT_EQ(killed_apart_by(499_ms).verdict, Verdict::kOk);
  EXPECT_EQ(killed_apart_by(501_ms).verdict, Verdict::kProblem);
}

TEST(UnfinishedOperations, OnTheWayWhenAllWereKilledIsNotMissing) {
  const auto others_lived_on_for = [](std::int64_t apart_ns) {
    return DetectUnfinishedOperations(TimelineOf({}, [apart_ns](JobBuilder* job) {
      Steps(job);
      for (const int rank : {0, 1, 2}) job->Rank(rank).Open({.at_ns = 1200_ms});
      for (const int rank : {0, 1, 2}) job->Rank(rank).Killed(2_s);
      job->Rank(3).Killed(2_s - apart_ns);
    }));
  };
  EXPECT_EQ(others_lived_on_for(100_ms).verdict, Verdict::kOk);
  EXPECT_EQ(others_lived_on_for(600_ms).verdict, Verdict::kProblem);
}

TEST(UnfinishedOperations, SaysWhichRanksLeftNoTrace) {
  const Finding finding = DetectUnfinishedOperations(TimelineOf({}, [](JobBuilder* job) {
    for (const int rank : {0, 1}) {
      job->Rank(rank).Open({.at_ns = 1200_ms});
      job->Rank(rank).Killed(30_s);
    }
  }));
  EXPECT_EQ(finding.verdict, Verdict::kProblem);
  EXPECT_NE(finding.sentence.find("Ranks 2-3 left no trace"), std::string::npos)
      << finding.sentence;
}

TEST(UnfinishedOperations, JustDoesNotFire) {
  const auto all_inside = [](std::int64_t until_ns) {
    return DetectUnfinishedOperations(TimelineOf({}, [until_ns](JobBuilder* job) {
      Steps(job);
      for (int rank = 0; rank < 4; ++rank) job->Rank(rank).Open({.at_ns = 1_s});
      job->End(until_ns);
    }));
  };
  EXPECT_EQ(all_inside(11_s + 1_ms).verdict, Verdict::kProblem);
  EXPECT_EQ(all_inside(11_s - 1_ms).verdict, Verdict::kOk);
}

TEST(UnfinishedOperations, ASnapshotOfAnOperationThatEndedIsNone) {
  const Finding finding = DetectUnfinishedOperations(TimelineOf({}, [](JobBuilder* job) {
    for (int rank = 0; rank < 4; ++rank) {
      RankBuilder& builder = job->Rank(rank);
      builder.Open({.at_ns = 1_s, .sequence = 0});
      trace::Collective ended;
      ended.function = builder.file().Literal("AllReduce");
      ended.communicator = 1;
      ended.operation = 1;  // the number of the one that Open wrote
      ended.enqueue_ticks = builder.Ticks(1_s);
      ended.end_after_ticks = 2e9f;
      ended.flags = trace::kOperationHasHostEnd;
      builder.file().Emit(ended);
    }
    job->End(40_s);
  }));
  EXPECT_EQ(finding.verdict, Verdict::kOk) << finding.sentence;
  EXPECT_NE(finding.sentence.find("All 4 operations that began also ended"), std::string::npos)
      << finding.sentence;
}

TEST(UnfinishedOperations, NotEnoughData) {
  const Finding finding =
      DetectUnfinishedOperations(TimelineOf({}, [](JobBuilder* job) { job->Rank(0).Ends(1_s); }));
  EXPECT_EQ(finding.verdict, Verdict::kNoData);
}

}  // namespace
}  // namespace chokepoint::tools
