// Kernel events: folded per operation, also when NCCL loses or repeats some.
// Must not wait longer than the reaper's quiet time allows.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/fakes/fake_rank.h"
#include "tests/plugin/plugin_trace.h"

namespace chokepoint::tests {
namespace {

constexpr std::uint64_t kNs = 1'700'000'000'000'000'000;

class KernelsTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Profiler, KernelsTest, testing::Range(4, 8), VersionName);

Played PlayKernels(int version, const std::function<void(FakeRank&, void*)>& script,
                   const FakeEvent& event) {
  return PlayAt(version,
                [&](FakeProfiler& profiler) {
                  FakeRank rank(&profiler, {});
                  void* operation = rank.HandOver(event);
                  script(rank, operation);
                  rank.Finalize();
                },
                {{"CHOKEPOINT_EVENT_MASK", "0x747"}});
}

TEST_P(KernelsTest, TimesAreTheFirstStartAndTheLastEnd) {
  const Played played = PlayKernels(
      GetParam(),
      [](FakeRank& rank, void* operation) {
        void* a = rank.StartKernel(operation, 0, kNs + 50);
        void* b = rank.StartKernel(operation, 1, kNs + 20);
        void* c = rank.StartKernel(operation, 2, kNs + 70);
        rank.StopKernel(b, kNs + 900);
        rank.StopKernel(c, kNs + 300);
        rank.StopKernel(a, kNs + 100);
      },
      FakeRank::Collective("AllReduce", 0, 1, 3));
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.collectives.size(), 1u);
  EXPECT_EQ(played.trace.collectives[0].gpu_start_ns, kNs + 20);
  EXPECT_EQ(played.trace.collectives[0].gpu_end_ns, kNs + 900);
  EXPECT_NE(played.trace.collectives[0].flags & trace::kOperationHasGpuTime, 0);
}

// NCCL keeps 64 time stamps per channel: a late proxy thread reads stamps of other kernels.
TEST_P(KernelsTest, AnEndBeforeTheStartIsDiscarded) {
  const Played played = PlayKernels(
      GetParam(),
      [](FakeRank& rank, void* operation) { rank.RunKernels(operation, 1, kNs + 50, kNs + 10); },
      FakeRank::Collective("AllReduce", 0, 1, 1));
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.collectives.size(), 1u);
  const trace::Collective& one = played.trace.collectives[0];
  EXPECT_EQ(one.flags & trace::kOperationHasGpuTime, 0);
  EXPECT_EQ(one.gpu_start_ns, 0u);
  EXPECT_EQ(one.gpu_end_ns, 0u);
  EXPECT_NE(one.flags & trace::kOperationHasHostEnd, 0) << "that it ended is known all the same";
}

TEST_P(KernelsTest, StoppedTwice) {
  const Played played = PlayKernels(
      GetParam(),
      [](FakeRank& rank, void* operation) {
        void* a = rank.StartKernel(operation, 0, kNs);
        rank.StopKernel(a, kNs + 10);
        rank.StopKernel(a, kNs + 10);
        void* b = rank.StartKernel(operation, 1, kNs);
        rank.StopKernel(b, kNs + 20);
        rank.StopKernel(b, kNs + 99);  // after the operation's end: another's time
      },
      FakeRank::Collective("AllReduce", 0, 1, 2));
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.collectives.size(), 1u);
  EXPECT_EQ(played.trace.collectives[0].gpu_end_ns, kNs + 20);
  EXPECT_EQ(played.trace.collectives[0].flags & trace::kOperationOpen, 0);
}

// NCCL never resets its array of kernel handles: a stop may name a kernel of an operation long
// gone.
TEST_P(KernelsTest, StopWithoutStartNamesAnOldKernel) {
  const Played played =
      PlayAt(GetParam(),
             [](FakeProfiler& profiler) {
               FakeRank rank(&profiler, {});
               void* first = rank.HandOver(FakeRank::Collective("AllReduce", 0, 1, 1));
               void* kernel = rank.StartKernel(first, 0, kNs);
               rank.StopKernel(kernel, kNs + 10);
               void* second = rank.HandOver(FakeRank::Collective("AllReduce", 1, 1, 1));
               rank.StopKernel(kernel, kNs + 5000);  // stale, in place of the second's
               void* own = rank.StartKernel(second, 0, kNs + 100);
               rank.StopKernel(own, kNs + 200);
               rank.Finalize();
             },
             {{"CHOKEPOINT_EVENT_MASK", "0x747"}});
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.collectives.size(), 2u);
  EXPECT_EQ(played.trace.collectives[0].gpu_end_ns, kNs + 10);
  EXPECT_EQ(played.trace.collectives[1].gpu_start_ns, kNs + 100);
  EXPECT_EQ(played.trace.collectives[1].gpu_end_ns, kNs + 200);
}

TEST_P(KernelsTest, PointToPointWithFewerKernelsThanChannelsEndsWhenQuiet) {
  const Played played = PlayKernels(
      GetParam(),
      [](FakeRank& rank, void* operation) {
        rank.RunKernels(operation, 2, kNs, kNs + 100);
        usleep(900'000);  // the drain thread looks every 250 ms, and wants 100 ms of quiet
      },
      FakeRank::PointToPoint("Send", 1, 8, 4));
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.point_to_points.size(), 1u);
  const trace::PointToPoint& one = played.trace.point_to_points[0];
  EXPECT_EQ(one.flags & (trace::kOperationOpen | trace::kOperationAborted), 0);
  EXPECT_NE(one.flags & trace::kOperationHasGpuTime, 0);
  EXPECT_NE(one.flags & trace::kOperationHasHostEnd, 0);
  EXPECT_EQ(one.gpu_end_ns, kNs + 101);
}

TEST_P(KernelsTest, PointToPointQuietAtTheEndOfItsCommunicatorHasEnded) {
  const Played played = PlayKernels(
      GetParam(),
      [](FakeRank& rank, void* operation) { rank.RunKernels(operation, 2, kNs, kNs + 100); },
      FakeRank::PointToPoint("Send", 1, 8, 4));
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.point_to_points.size(), 1u);
  EXPECT_EQ(
      played.trace.point_to_points[0].flags & (trace::kOperationOpen | trace::kOperationAborted),
      0);
}

TEST_P(KernelsTest, AStartedKernelThatNeverStopsIsOpenAtTheEnd) {
  const Played played = PlayKernels(
      GetParam(), [](FakeRank& rank, void* operation) { rank.StartKernel(operation, 0, kNs + 7); },
      FakeRank::Collective("AllReduce", 0, 1, 1));
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.collectives.size(), 1u);
  const trace::Collective& one = played.trace.collectives[0];
  EXPECT_NE(one.flags & trace::kOperationOpen, 0);
  EXPECT_NE(one.flags & trace::kOperationAborted, 0);
  EXPECT_EQ(one.gpu_start_ns, kNs + 7) << "that it began on the GPU is worth knowing";
  EXPECT_EQ(one.flags & trace::kOperationHasGpuTime, 0);
}

// NCCL tells no kernels of what a rank sends to itself.
TEST_P(KernelsTest, SendToOneselfWaitsForNoKernel) {
  const Played played = PlayAt(GetParam(),
                               [](FakeProfiler& profiler) {
                                 FakeRank rank(&profiler, {.ranks = 4, .rank = 2});
                                 rank.HandOver(FakeRank::PointToPoint("Send", 2, 8));
                                 rank.HandOver(FakeRank::PointToPoint("Recv", 2, 8));
                               },
                               {{"CHOKEPOINT_EVENT_MASK", "0x747"}});
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.point_to_points.size(), 2u);
  for (const auto& one : played.trace.point_to_points)
    EXPECT_EQ(one.flags & (trace::kOperationOpen | trace::kOperationExpectsKernel), 0);
}

// A proxy thread that lags can lose all kernels of an operation; that later ones are over tells
// that it is.
TEST_P(KernelsTest, AnOperationWhoseKernelsWereLostIsOverWhenALaterOneIs) {
  const Played played = PlayAt(GetParam(),
                               [](FakeProfiler& profiler) {
                                 FakeRank rank(&profiler, {});
                                 rank.HandOver(FakeRank::Collective("AllReduce", 0, 1, 2));
                                 void* later =
                                     rank.HandOver(FakeRank::Collective("AllReduce", 1, 1, 2));
                                 rank.RunKernels(later, 2, kNs, kNs + 10);
                                 rank.HandOver(FakeRank::Collective("AllReduce", 2, 1, 2));
                                 rank.Finalize();
                               },
                               {{"CHOKEPOINT_EVENT_MASK", "0x747"}});
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.collectives.size(), 3u);
  for (const auto& one : played.trace.collectives) {
    EXPECT_EQ((one.flags & trace::kOperationOpen) != 0, one.sequence == 2) << one.sequence;
    EXPECT_EQ((one.flags & trace::kOperationHasHostEnd) != 0, one.sequence == 1) << one.sequence;
  }
}

TEST_P(KernelsTest, KernelsOfUnknownOperationsGetNoHandle) {
  const Played played = PlayKernels(
      GetParam(),
      [](FakeRank& rank, void*) {
        EXPECT_EQ(rank.StartKernel(nullptr, 0, kNs), nullptr);
        EXPECT_EQ(rank.StartKernel(reinterpret_cast<void*>(0x7fff12345678), 0, kNs), nullptr);
      },
      FakeRank::Collective("AllReduce", 0, 1, 1));
  ASSERT_TRUE(played.exited);
}

TEST_P(KernelsTest, DetailRecordsEachChannel) {
  const Played played =
      PlayAt(GetParam(),
             [](FakeProfiler& profiler) {
               FakeRank rank(&profiler, {});
               void* operation = rank.HandOver(FakeRank::Collective("AllReduce", 0, 1, 3));
               rank.RunKernels(operation, 3, kNs, kNs + 100);
               rank.Finalize();
             },
             {{"CHOKEPOINT_EVENT_MASK", "0x747"}, {"CHOKEPOINT_DETAIL", "kernels"}});
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.kernels.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(played.trace.kernels[i].channel, i);
    EXPECT_EQ(played.trace.kernels[i].gpu_start_ns, kNs + i);
    EXPECT_EQ(played.trace.kernels[i].gpu_end_ns, kNs + 100 + i);
    EXPECT_EQ(played.trace.kernels[i].operation, played.trace.collectives[0].operation);
  }
}

// v3 asks for kernels only when the user insists, and has no GPU time.
TEST(KernelsV3Test, HostTimeOnly) {
  const Played played = PlayAt(3,
                               [](FakeProfiler& profiler) {
                                 FakeRank rank(&profiler, {});
                                 void* operation =
                                     rank.HandOver(FakeRank::Collective("AllReduce", 0, 1, 2));
                                 rank.RunKernels(operation, 2, 0, 0);
                                 rank.Finalize();
                               },
                               {{"CHOKEPOINT_EVENT_MASK", "0x47"}});
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.collectives.size(), 1u);
  EXPECT_EQ(played.trace.collectives[0].flags & trace::kOperationHasGpuTime, 0);
  EXPECT_EQ(played.trace.collectives[0].flags & trace::kOperationOpen, 0);
}

}  // namespace
}  // namespace chokepoint::tests
