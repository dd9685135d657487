// Whole operations at every interface version: what NCCL says is what the trace says.
// Must not assert times, only which were seen.
#include <gtest/gtest.h>

#include <set>

#include "tests/fakes/fake_rank.h"
#include "tests/plugin/plugin_trace.h"

namespace chokepoint::tests {
namespace {

constexpr std::uint64_t kStartNs = 1'700'000'000'000'000'000;

class OperationsTest : public testing::TestWithParam<int> {
 protected:
  int version() const { return GetParam(); }
  // Kernel events are in force by default.
  bool kernels() const { return version() >= 5; }
  bool api() const { return version() >= 5; }
};
INSTANTIATE_TEST_SUITE_P(Profiler, OperationsTest, testing::Range(1, 8), VersionName);

TEST_P(OperationsTest, OneCollectiveIsOneRecordWithAllThatNcclSaid) {
  const Played played = PlayAt(version(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {.id = 0xabcdef, .name = "dp", .nodes = 2, .ranks = 4, .rank = 3});
    FakeEvent event = FakeRank::Collective("AllReduce", 0, 1 << 20, 2);
    event.root = 1;
    void* operation = rank.HandOver(event);
    if (rank.asks_kernels()) rank.RunKernels(operation, 2, kStartNs, kStartNs + 5000);
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  const PluginTrace& trace = played.trace;
  EXPECT_EQ(trace.files, 1);
  EXPECT_TRUE(trace.ended);
  ASSERT_EQ(trace.collectives.size(), 1u);
  const trace::Collective& one = trace.collectives[0];
  EXPECT_EQ(trace.name(one.function), "AllReduce");
  EXPECT_EQ(trace.name(one.algorithm), "RING");
  EXPECT_EQ(trace.name(one.protocol), "SIMPLE");
  EXPECT_EQ(trace.name(one.datatype), "ncclFloat32");
  EXPECT_EQ(one.channels, 2);
  EXPECT_EQ(one.count, 1u << 20);
  EXPECT_EQ(one.root, 1);
  EXPECT_EQ(one.sequence, 0u);
  EXPECT_EQ(one.communicator, 1u);
  EXPECT_NE(one.operation, 0u);
  EXPECT_NE(one.enqueue_ticks, 0u);
  const unsigned expected = (api() ? unsigned{trace::kOperationHasArrival} : 0u) |
                            (kernels() ? trace::kOperationHasHostEnd | trace::kOperationHasGpuTime |
                                             trace::kOperationExpectsKernel
                                       : 0u);
  EXPECT_EQ(one.flags, expected);
  EXPECT_EQ(one.gpu_start_ns, kernels() ? kStartNs : 0u);
  EXPECT_EQ(one.gpu_end_ns, kernels() ? kStartNs + 5001 : 0u) << "the last channel's end";
  EXPECT_TRUE(trace.losses.empty());
  EXPECT_TRUE(trace.groups.empty()) << "one operation that the program did not group";
}

TEST_P(OperationsTest, TheCommunicatorIsKnown) {
  const Played played = PlayAt(version(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {.id = 0xabcdef, .name = "tp", .nodes = 2, .ranks = 4, .rank = 3});
    rank.HandOver(FakeRank::Collective("AllReduce", 0, 8));
    rank.HandOver(FakeRank::Collective("AllReduce", 1, 8));
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  // Up to v3 the first operation tells: the communicator comes twice, the second time with its id.
  ASSERT_EQ(played.trace.communicators.size(), version() <= 3 ? 2u : 1u);
  const trace::Communicator& last = played.trace.communicators.back();
  EXPECT_EQ(last.communicator_id, 0xabcdefu);
  EXPECT_EQ(played.trace.name(last.name), "tp");
  EXPECT_EQ(last.rank, 3);
  EXPECT_EQ(last.ranks, version() <= 3 ? 0 : 4);
  EXPECT_EQ(last.nodes, version() <= 3 ? 0 : 2);
  EXPECT_EQ(last.api_version, version());
  EXPECT_EQ(last.communicator, 1u);
  ASSERT_EQ(played.trace.communicator_ends.size(), 1u);
  EXPECT_EQ(played.trace.communicator_ends[0].communicator, 1u);
}

TEST_P(OperationsTest, SequencesHaveNoGaps) {
  constexpr std::uint64_t kOperations = 3000;
  const Played played = PlayAt(version(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    for (std::uint64_t i = 0; i < kOperations; ++i) {
      void* operation =
          rank.HandOver(FakeRank::Collective(i % 2 == 0 ? "AllReduce" : "AllGather", i / 2, i + 1));
      if (rank.asks_kernels()) rank.RunKernels(operation, 1, kStartNs + i, kStartNs + i + 1);
    }
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  std::map<std::string, std::set<std::uint32_t>> seen;
  for (const auto& one : played.trace.collectives) {
    EXPECT_TRUE(seen[played.trace.name(one.function)].insert(one.sequence).second);
    EXPECT_EQ(one.flags & trace::kOperationOwnSequence, 0);
  }
  for (const char* function : {"AllReduce", "AllGather"}) {
    EXPECT_EQ(seen[function].size(), kOperations / 2);
    EXPECT_EQ(*seen[function].rbegin(), kOperations / 2 - 1);
  }
}

TEST_P(OperationsTest, PointToPointIsNumberedByPeerAndDirection) {
  const Played played = PlayAt(version(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {.ranks = 8});
    for (int round = 0; round < 3; ++round)
      for (const int peer : {1, 5})
        for (const char* function : {"Send", "Recv"}) {
          void* operation = rank.HandOver(FakeRank::PointToPoint(function, peer, 100, 1));
          if (rank.asks_kernels()) rank.RunKernels(operation, 1, kStartNs, kStartNs + 10);
        }
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.point_to_points.size(), 12u);
  std::map<std::pair<std::string, int>, std::set<std::uint32_t>> seen;
  for (const auto& one : played.trace.point_to_points) {
    EXPECT_NE(one.flags & trace::kOperationOwnSequence, 0);
    EXPECT_EQ(one.channels, version() >= 4 ? 1 : 0);
    EXPECT_EQ(one.count, 100u);
    seen[{played.trace.name(one.function), one.peer}].insert(one.sequence);
  }
  EXPECT_EQ(seen.size(), 4u);
  for (const auto& [key, sequences] : seen)
    EXPECT_EQ(sequences, (std::set<std::uint32_t>{0, 1, 2})) << key.first;
}

// v5 and later say that a call was captured; before, only the repetition shows.
TEST_P(OperationsTest, GraphReplaysThatRepeatTheirSequenceNumberAreCounted) {
  const Played played = PlayAt(version(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    const bool has_api = rank.version() >= 5;
    void* call = nullptr;
    if (has_api) {
      FakeEvent captured = FakeRank::Collective("AllReduce", 0, 64);
      captured.type = ncclProfileCollApi;
      captured.graph_captured = true;
      call = profiler.Start(rank.context(), captured);
      profiler.Stop(call);
    }
    for (int replay = 0; replay < 4; ++replay) {
      void* group = profiler.Start(rank.context(), FakeEvent{.type = ncclProfileGroup});
      FakeEvent event = FakeRank::Collective("AllReduce", 7, 64);
      event.parent = has_api ? call : group;
      event.group = group;
      void* operation = profiler.Start(rank.context(), event);
      profiler.Stop(operation);
      profiler.Stop(group);
      if (rank.asks_kernels()) rank.RunKernels(operation, 1, kStartNs, kStartNs + 10);
    }
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.collectives.size(), 4u);
  std::vector<std::uint32_t> replays;
  for (const auto& one : played.trace.collectives) {
    EXPECT_EQ(one.flags & trace::kOperationHasArrival, 0) << "the call was made once, long ago";
    if ((one.flags & trace::kOperationReplay) == 0) {
      EXPECT_EQ(one.sequence, 7u);
      continue;
    }
    EXPECT_NE(one.flags & trace::kOperationOwnSequence, 0);
    replays.push_back(one.sequence);
  }
  if (version() >= 5) {
    EXPECT_EQ(replays, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  } else {
    EXPECT_EQ(replays, (std::vector<std::uint32_t>{0, 1, 2})) << "the first looks like any other";
  }
}

TEST_P(OperationsTest, UnknownStringsAreKeptAsTheyAre) {
  if (version() == 1) GTEST_SKIP() << "v1 has numbers instead of strings";
  const Played played = PlayAt(version(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    FakeEvent event = FakeRank::Collective("AllGatherOfTheFuture", 0, 10);
    event.datatype = "Unknown";  // what NCCL says for ncclUint8
    event.algorithm = "TORUS";
    event.protocol = "LL256";
    rank.HandOver(event);
    event.datatype = nullptr;
    event.algorithm = nullptr;
    event.protocol = nullptr;
    event.sequence = 1;
    rank.HandOver(event);
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.collectives.size(), 2u);
  const trace::Collective& one = played.trace.collectives[0];
  EXPECT_EQ(played.trace.name(one.function), "AllGatherOfTheFuture");
  EXPECT_EQ(played.trace.name(one.datatype), "Unknown");
  EXPECT_EQ(played.trace.name(one.algorithm), "TORUS");
  EXPECT_EQ(played.trace.name(one.protocol), "LL256");
  EXPECT_EQ(played.trace.collectives[1].datatype, 0);
  EXPECT_EQ(played.trace.collectives[1].algorithm, 0);
}

TEST_P(OperationsTest, GroupsAreRecordedWhenTheySaySomething) {
  const Played played = PlayAt(version(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    void* operations[3];
    FakeEvent events[3] = {FakeRank::Collective("AllReduce", 0, 1),
                           FakeRank::Collective("AllReduce", 1, 2),
                           FakeRank::Collective("AllReduce", 2, 3)};
    rank.HandOverGroup(events, 3, operations);
    FakeEvent alone = FakeRank::Collective("AllReduce", 3, 4);
    rank.HandOver(alone);
    alone.sequence = 4;
    alone.group_depth = 2;  // the program's own ncclGroupStart
    rank.HandOver(alone);
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  const PluginTrace& trace = played.trace;
  ASSERT_EQ(trace.groups.size(), api() ? 2u : 1u);
  EXPECT_EQ(trace.groups[0].operations, 3);
  EXPECT_EQ(trace.groups[0].communicator, 1u);
  EXPECT_EQ(trace.groups[0].last_operation - trace.groups[0].first_operation, 2u);
  std::set<std::uint32_t> numbers;
  for (const auto& one : trace.collectives) numbers.insert(one.operation);
  EXPECT_TRUE(numbers.contains(trace.groups[0].first_operation));
  if (api()) {
    EXPECT_EQ(trace.groups[1].operations, 1);
  }
}

TEST_P(OperationsTest, WithoutKernelEventsTheRecordComesAtTheHandOver) {
  const Played played = PlayAt(version(),
                               [](FakeProfiler& profiler) {
                                 FakeRank rank(&profiler, {});
                                 EXPECT_FALSE(rank.asks_kernels());
                                 rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
                                 // No finalize: the program just ends.
                               },
                               {{"CHOKEPOINT_EVENT_MASK", "0x7"}});
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.collectives.size(), 1u);
  const auto flags = played.trace.collectives[0].flags;
  EXPECT_EQ(
      flags & (trace::kOperationOpen | trace::kOperationAborted | trace::kOperationExpectsKernel),
      0);
  EXPECT_EQ(flags & trace::kOperationHasHostEnd, 0) << "nobody said when it ended";
}

// A plan's kernels may be over before NCCL gets to stop the event.
TEST_P(OperationsTest, KernelsMayEndBeforeTheHandOverDoes) {
  const Played played = PlayAt(version(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    if (!rank.asks_kernels()) return rank.Finalize();
    void* group = profiler.Start(rank.context(), FakeEvent{.type = ncclProfileGroup});
    FakeEvent event = FakeRank::Collective("AllReduce", 0, 64, 2);
    event.group = group;
    void* operation = profiler.Start(rank.context(), event);
    rank.RunKernels(operation, 2, kStartNs, kStartNs + 10);
    profiler.Stop(operation);
    profiler.Stop(group);
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  if (!kernels()) return;
  ASSERT_EQ(played.trace.collectives.size(), 1u);
  EXPECT_EQ(played.trace.collectives[0].flags & trace::kOperationOpen, 0);
  EXPECT_NE(played.trace.collectives[0].flags & trace::kOperationHasGpuTime, 0);
  EXPECT_NE(played.trace.collectives[0].flags & trace::kOperationHasHostEnd, 0);
}

// More operations open than the board has places: none is missing from the trace, and the loss of
// their ends is counted.
TEST_P(OperationsTest, TooManyOpenOperationsAreStillInTheTrace) {
  if (!kernels()) GTEST_SKIP() << "nothing stays open without kernel events";
  constexpr std::uint64_t kOperations = 6000;
  const Played played = PlayAt(version(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    for (std::uint64_t i = 0; i < kOperations; ++i)
      rank.HandOver(FakeRank::Collective("AllReduce", i, 1));
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  std::set<std::uint32_t> sequences;
  for (const auto& one : played.trace.collectives) {
    EXPECT_NE(one.flags & trace::kOperationOpen, 0);
    sequences.insert(one.sequence);
  }
  EXPECT_EQ(played.trace.collectives.size(), kOperations);
  EXPECT_EQ(sequences.size(), kOperations);
  std::uint64_t counted = 0;
  for (const auto& loss : played.trace.losses)
    if (loss.reason == static_cast<std::uint16_t>(trace::LossReason::kBoardFull))
      counted += loss.events;
  EXPECT_GE(counted, kOperations - 4096);
}

}  // namespace
}  // namespace chokepoint::tests
