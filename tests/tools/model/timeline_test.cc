// What the passes over the traces make of a job: groups, waiting, transfer, sums per rank.
// Must not test what detectors make of it.
#include <gtest/gtest.h>

#include "tests/tools/timeline_of.h"
#include "tools/model/intervals.h"

namespace chokepoint::tools {
namespace {

using namespace tests;  // NOLINT: the literals

constexpr double kRounding = 2e3;  // f32 ticks of some hundred ms

TEST(Timeline, WaitingIsForTheLastToArrive) {
  const Timeline timeline = TimelineOf({.ranks = 3}, [](JobBuilder* job) {
    job->Rank(0).AllReduce(100_ms, 60_ms).AllReduce(300_ms, 60_ms);
    job->Rank(1).AllReduce(120_ms, 40_ms).AllReduce(320_ms, 40_ms);
    job->Rank(2).AllReduce(150_ms, 10_ms).AllReduce(350_ms, 10_ms);
    job->End(1_s);
  });
  ASSERT_EQ(timeline.ranks.size(), 3u);
  EXPECT_NEAR(static_cast<double>(timeline.ranks[0].waiting_ns), 100e6, kRounding);
  EXPECT_NEAR(static_cast<double>(timeline.ranks[1].waiting_ns), 60e6, kRounding);
  EXPECT_NEAR(static_cast<double>(timeline.ranks[2].waiting_ns), 0, kRounding);
  for (const Rank& rank : timeline.ranks) {
    EXPECT_NEAR(static_cast<double>(rank.transfer_ns), 20e6, kRounding);
    EXPECT_EQ(rank.startup_ns + rank.waiting_ns + rank.transfer_ns + rank.OutsideNs(),
              rank.end_ns - rank.start_ns);
  }
  EXPECT_NEAR(static_cast<double>(timeline.ranks[1].startup_ns), 120e6, kRounding);
  ASSERT_EQ(timeline.classes.size(), 1u);
  const OperationClass& row = timeline.classes[0];
  EXPECT_EQ(row.groups, 2u);
  EXPECT_EQ(row.records, 6u);
  EXPECT_EQ(row.total_bytes, 8 << 20);
  EXPECT_NEAR(row.transfer.Quantile(0.5), 10e6, 1e5);
  EXPECT_EQ(row.source, TimeSource::kHost);
  EXPECT_EQ(timeline.communicators[0].judged_groups, 1u);  // the first shows start-up
  EXPECT_EQ(timeline.communicators[0].lateness[2].groups_last, 1u);
  EXPECT_NEAR(timeline.communicators[0].lateness[2].cost_ns, 40e6, kRounding);
}

TEST(Timeline, AcrossHostsWaitingComesFromDurations) {
  const Timeline timeline =
      TimelineOf({.ranks = 2, .ranks_per_host = 1, .clock_offset_ns = 100_s}, [](JobBuilder* job) {
        job->Rank(0)
            .AllReduce(100_ms, 60_ms)
            .Do({.function = "Broadcast", .at_ns = 200_ms, .took_ns = 30_ms});
        job->Rank(1)
            .AllReduce(150_ms, 10_ms)
            .Do({.function = "Broadcast", .at_ns = 220_ms, .took_ns = 10_ms});
        job->End(1_s);
      });
  EXPECT_EQ(timeline.hosts.size(), 2u);
  EXPECT_GT(timeline.clock_error_ns, 0);
  EXPECT_EQ(timeline.communicators[0].method, WaitMethod::kDurations);
  // Of the broadcast, which lets a rank leave before another comes, nothing is called waiting.
  EXPECT_NEAR(static_cast<double>(timeline.ranks[0].waiting_ns), 50e6, kRounding);
  EXPECT_NEAR(static_cast<double>(timeline.ranks[0].transfer_ns), 40e6, kRounding);
  EXPECT_EQ(timeline.ranks[1].waiting_ns, 0);
}

TEST(Timeline, GpuTimeIsPreferredAndNeverMixed) {
  const Timeline timeline = TimelineOf({.ranks = 2}, [](JobBuilder* job) {
    for (int rank = 0; rank < 2; ++rank) {
      job->Rank(rank)
          .Do({.at_ns = 100_ms, .took_ns = 60_ms, .gpu_ns = rank == 0 ? 30_ms : 10_ms})
          .Do({.at_ns = 200_ms, .took_ns = 60_ms});
    }
    job->End(1_s);
  });
  ASSERT_EQ(timeline.classes.size(), 2u);
  EXPECT_EQ(timeline.classes[0].source, TimeSource::kGpu);
  EXPECT_NEAR(timeline.classes[0].seen.max_ns(), 60e6, kRounding);
  EXPECT_NEAR(timeline.classes[0].transfer.Quantile(0.5), 10e6, 1e5);
  EXPECT_NEAR(timeline.classes[0].waiting.max_ns(), 20e6, 1);
  EXPECT_EQ(timeline.classes[1].source, TimeSource::kHost);
  EXPECT_NEAR(timeline.classes[1].transfer.Quantile(0.5), 60e6, 6e5);
}

TEST(Timeline, AnOperationBeginsWhenTheOneBeforeHasEnded) {
  const Timeline timeline = TimelineOf({.ranks = 1}, [](JobBuilder* job) {
    // All handed over at once; the GPU does them one after the other.
    for (int i = 0; i < 3; ++i) job->Rank(0).AllReduce(100_ms, 10_ms * (i + 1));
    job->End(1_s);
  });
  EXPECT_NEAR(timeline.classes[0].own.max_ns(), 10e6, kRounding);
  EXPECT_NEAR(static_cast<double>(timeline.ranks[0].InNcclNs()), 30e6, kRounding);
}

TEST(Timeline, NetworkEndsStandInWhereKernelsWereNotTimed) {
  const Timeline timeline = TimelineOf({.ranks = 2}, [](JobBuilder* job) {
    for (int rank = 0; rank < 2; ++rank) {
      job->Rank(rank)
          .Do({.at_ns = 100_ms})
          .Network(1 - rank, 101_ms, 4_ms, 1000)
          .Network(1 - rank, 101_ms, 7_ms, 1000);
      job->Rank(rank).Do({.at_ns = 200_ms});
    }
    job->End(1_s);
  });
  ASSERT_EQ(timeline.classes.size(), 2u);
  EXPECT_EQ(timeline.classes[0].source, TimeSource::kProxy);
  EXPECT_NEAR(timeline.classes[0].seen.Quantile(0.5), 8e6, 1e5);
  EXPECT_EQ(timeline.classes[1].source, TimeSource::kUnknown);
  EXPECT_EQ(timeline.ranks[0].operations_without_end, 1u);
  EXPECT_EQ(timeline.processes[0].network_sent_bytes, 2000u);
}

TEST(Timeline, PointToPointPairsMatch) {
  const Timeline timeline = TimelineOf({.ranks = 2}, [](JobBuilder* job) {
    for (int i = 0; i < 5; ++i) {
      job->Rank(0).Do({.function = "Send", .at_ns = i * 100_ms, .took_ns = 50_ms, .peer = 1});
      job->Rank(1).Do(
          {.function = "Recv", .at_ns = i * 100_ms + 40_ms, .took_ns = 10_ms, .peer = 0});
    }
    job->End(1_s);
  });
  ASSERT_EQ(timeline.classes.size(), 1u);
  EXPECT_EQ(timeline.classes[0].function, "SendRecv");
  EXPECT_EQ(timeline.classes[0].groups, 5u);
  EXPECT_EQ(timeline.classes[0].records, 10u);
  EXPECT_NEAR(static_cast<double>(timeline.ranks[0].waiting_ns), 200e6, kRounding * 5);
}

TEST(Timeline, SeveralRanksInOneProcess) {
  const Timeline timeline = TimelineOf({.ranks = 3}, [](JobBuilder* job) {
    RankBuilder& process = job->Rank(0);
    process.Communicator(2, 0xc0ffee, 1, 3).Communicator(3, 0xc0ffee, 2, 3);
    for (int i = 0; i < 4; ++i) {
      for (std::uint32_t gpu = 1; gpu <= 3; ++gpu) {
        process.Do({.at_ns = i * 100_ms + gpu * 10_ms,
                    .took_ns = 40_ms - gpu * 10_ms,
                    .communicator = gpu});
      }
    }
    job->End(1_s);
  });
  ASSERT_EQ(timeline.ranks.size(), 3u);
  EXPECT_EQ(timeline.ranks[2].number, 2);
  EXPECT_EQ(timeline.classes[0].groups, 4u);
  EXPECT_NEAR(static_cast<double>(timeline.ranks[0].waiting_ns), 80e6, kRounding * 4);
  EXPECT_EQ(timeline.ranks[1].operations_missing, 0u);
}

TEST(Timeline, SnapshotsAreSignsOfLife) {
  const Timeline timeline = TimelineOf({.ranks = 1}, [](JobBuilder* job) {
    job->Rank(0).file().Meta("ticks_per_second", "1000000000");
    job->Rank(0).AllReduce(100_ms, 10_ms).Open({.at_ns = 300_ms, .sequence = 1});
    trace::Collective again;
    again.function = job->Rank(0).file().Literal("AllReduce");
    again.communicator = 1;
    again.operation = 2;  // that of Open
    again.sequence = 1;
    again.enqueue_ticks = job->Rank(0).Ticks(300_ms);
    job->Rank(0).file().Snapshot(again);
    job->Rank(0).Killed(200_ms);
  });
  EXPECT_NEAR(static_cast<double>(timeline.ranks[0].end_ns), 6.3e9, 1e7);
  EXPECT_NEAR(static_cast<double>(timeline.ranks[0].waiting_ns), 6e9, 1e7);
}

TEST(Timeline, ManyThreadsGiveTheSame) {
  const Scratch scratch;
  {
    JobBuilder job(scratch.traces(), {.ranks = 6});
    for (int step = 0; step < 300; ++step)
      job.Step(step * 10_ms, 3_ms, 1_ms, step % 5, step * 7_us);
    job.End(4_s);
  }
  const Timeline one = BuildTimeline(OpenTraceSet({scratch.traces()}), 1);
  for (int i = 0; i < 5; ++i) {
    const Timeline many = BuildTimeline(OpenTraceSet({scratch.traces()}), 6);
    ASSERT_EQ(one.ranks.size(), many.ranks.size());
    for (std::size_t r = 0; r < one.ranks.size(); ++r) {
      EXPECT_EQ(one.ranks[r].waiting_ns, many.ranks[r].waiting_ns);
      EXPECT_EQ(one.ranks[r].transfer_ns, many.ranks[r].transfer_ns);
      EXPECT_EQ(one.communicators[0].lateness[r].cost_ns,
                many.communicators[0].lateness[r].cost_ns);
    }
  }
}

TEST(Intervals, AMomentCountsOnce) {
  // Two overlapping operations: while one transfers, the other's waiting does not count.
  std::vector<OpenInterval> intervals = {{0, 50, 100}, {40, 90, 120}, {200, 200, 210}};
  const TimeInNccl time = SumIntervals(&intervals);
  EXPECT_EQ(time.waiting_ns, 50);
  EXPECT_EQ(time.transfer_ns, 80);
}

}  // namespace
}  // namespace chokepoint::tools
