// API calls (v5 and later) and copy-engine events (v6 and later).
// Must not assert times, only their order.
#include <gtest/gtest.h>

#include "tests/fakes/fake_rank.h"
#include "tests/plugin/plugin_trace.h"

namespace chokepoint::tests {
namespace {

class ApiTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Profiler, ApiTest, testing::Range(5, 8), VersionName);

TEST_P(ApiTest, CallsAreRecordedOnlyInDetail) {
  const auto script = [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    FakeEvent event = FakeRank::Collective("AllReduce", 0, 4096);
    event.group_depth = 2;
    rank.HandOver(event);
    void* launch = profiler.Start(rank.context(), FakeEvent{.type = ncclProfileKernelLaunch});
    rank.Stop(launch);
    rank.Stop(launch);  // twice
    rank.HandOver(FakeRank::PointToPoint("Send", 1, 77));
    rank.Finalize();
  };
  const Played plain = PlayAt(GetParam(), script);
  ASSERT_TRUE(plain.exited);
  EXPECT_TRUE(plain.trace.calls.empty());
  const Played detailed = PlayAt(GetParam(), script, {{"CHOKEPOINT_DETAIL", "api"}});
  ASSERT_TRUE(detailed.exited);
  std::map<int, int> kinds;
  for (const auto& call : detailed.trace.calls) {
    kinds[call.call] += 1;
    EXPECT_EQ(call.communicator, 1u);
    EXPECT_EQ(call.flags & trace::kApiOpen, 0);
    EXPECT_GT(call.start_ticks, 0u);
    if (call.call == static_cast<int>(trace::ApiKind::kCollective)) {
      EXPECT_EQ(detailed.trace.name(call.function), "AllReduce");
      EXPECT_EQ(call.count, 4096u);
    }
  }
  EXPECT_EQ(kinds[static_cast<int>(trace::ApiKind::kGroup)], 2);
  EXPECT_EQ(kinds[static_cast<int>(trace::ApiKind::kCollective)], 1);
  EXPECT_EQ(kinds[static_cast<int>(trace::ApiKind::kPointToPoint)], 1);
  EXPECT_EQ(kinds[static_cast<int>(trace::ApiKind::kKernelLaunch)], 1);
  ASSERT_EQ(detailed.trace.collectives.size(), 1u);
  EXPECT_NE(detailed.trace.collectives[0].flags & trace::kOperationHasArrival, 0);
}

TEST_P(ApiTest, CallsOpenAtTheEndAreMarked) {
  const Played played = PlayAt(GetParam(),
                               [](FakeProfiler& profiler) {
                                 FakeRank rank(&profiler, {});
                                 FakeEvent event = FakeRank::Collective("AllReduce", 0, 4096);
                                 event.type = ncclProfileCollApi;
                                 void* call = profiler.Start(rank.context(), event);
                                 rank.Finalize();
                                 rank.Stop(call);
                               },
                               {{"CHOKEPOINT_DETAIL", "api"}});
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.calls.size(), 1u);
  EXPECT_NE(played.trace.calls[0].flags & trace::kApiOpen, 0);
}

// The collective's parent is its call: so its arrival is known, also when the call's event has been
// stopped long before.
TEST_P(ApiTest, ArrivalIsTheStartOfTheCall) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    FakeEvent events[2] = {FakeRank::Collective("AllReduce", 0, 1),
                           FakeRank::Collective("AllReduce", 1, 2)};
    void* operations[2];
    rank.HandOverGroup(events, 2, operations);
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.collectives.size(), 2u);
  for (const auto& one : played.trace.collectives) {
    EXPECT_NE(one.flags & trace::kOperationHasArrival, 0);
    EXPECT_GT(one.arrival_before_ticks, 0);
  }
  const trace::Collective& first = played.trace.collectives[0];
  const trace::Collective& second = played.trace.collectives[1];
  const double first_arrival =
      static_cast<double>(first.enqueue_ticks) - first.arrival_before_ticks;
  const double second_arrival =
      static_cast<double>(second.enqueue_ticks) - second.arrival_before_ticks;
  EXPECT_EQ(first_arrival < second_arrival, first.sequence < second.sequence);
}

// In 2.28 to 2.30 the handle of a collective's call is never reset: a later collective may name an
// old one.
TEST_P(ApiTest, AStaleCallHandleIsStoppedAgainWithoutHarm) {
  const Played played = PlayAt(GetParam(),
                               [](FakeProfiler& profiler) {
                                 FakeRank rank(&profiler, {});
                                 FakeEvent event = FakeRank::Collective("AllReduce", 0, 1);
                                 event.type = ncclProfileCollApi;
                                 void* call = profiler.Start(rank.context(), event);
                                 for (int i = 0; i < 5; ++i) rank.Stop(call);
                                 rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
                                 rank.Stop(call);
                                 rank.Finalize();
                               },
                               {{"CHOKEPOINT_DETAIL", "api"}});
  ASSERT_TRUE(played.exited);
  EXPECT_EQ(played.trace.calls.size(), 3u);
}

class CopyEngineTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Profiler, CopyEngineTest, testing::Range(6, 8), VersionName);

TEST_P(CopyEngineTest, CollectivePartsCarryTheirCollective) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    EXPECT_EQ(rank.mask() & 0x7000, 0x7000);
    FakeEvent collective{.type = ncclProfileCeColl};
    collective.function = "AllGather";
    collective.sequence = 9;
    collective.count = 1 << 16;
    void* whole = profiler.Start(rank.context(), collective);
    FakeEvent part{.type = ncclProfileCeSync, .parent = whole};
    part.parts = 8;
    void* sync = profiler.Start(rank.context(), part);
    rank.Stop(sync);
    part.type = ncclProfileCeBatch;
    part.parts = 7;
    part.bytes = 4096;
    void* batch = profiler.Start(rank.context(), part);
    rank.Stop(batch);
    rank.Stop(batch);
    rank.Stop(whole);
    void* dangling = profiler.Start(rank.context(), collective);
    EXPECT_NE(dangling, nullptr);
    rank.Finalize();
    rank.Stop(dangling);
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.copies.size(), 4u);
  const trace::CopyEngine& sync = played.trace.copies[0];
  const trace::CopyEngine& batch = played.trace.copies[1];
  const trace::CopyEngine& whole = played.trace.copies[2];
  EXPECT_EQ(sync.part, static_cast<int>(trace::CopyEnginePart::kSynchronisation));
  EXPECT_EQ(sync.parts, 8u);
  EXPECT_EQ(batch.part, static_cast<int>(trace::CopyEnginePart::kBatch));
  EXPECT_EQ(batch.bytes, 4096u);
  EXPECT_EQ(batch.parts, 7u);
  EXPECT_EQ(whole.part, static_cast<int>(trace::CopyEnginePart::kCollective));
  EXPECT_EQ(whole.bytes, 1u << 16);
  for (const auto& one : played.trace.copies) {
    EXPECT_EQ(one.communicator, 1u);
    EXPECT_EQ(one.sequence, 9u);
    EXPECT_EQ(played.trace.name(one.function), "AllGather");
  }
  EXPECT_EQ(sync.operation, whole.operation);
  EXPECT_EQ(batch.operation, whole.operation);
  EXPECT_EQ(played.trace.copies[3].end_after_ticks, 0);
}

}  // namespace
}  // namespace chokepoint::tests
