// Proxy operations and steps as NCCL reports them at each version, its quirks included.
// Must not assert times: proxy_fold_test.cc does that with its own clock.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/fakes/fake_rank.h"
#include "tests/plugin/plugin_trace.h"

namespace chokepoint::tests {
namespace {

class ProxyTest : public testing::TestWithParam<int> {
 protected:
  bool tells_bytes_by_step() const { return GetParam() >= 4; }
};
INSTANTIATE_TEST_SUITE_P(Profiler, ProxyTest, testing::Range(1, 8), VersionName);

constexpr int kSendGpuWait = ncclProfilerProxyStepSendGPUWait;
constexpr int kSendPeerWait = ncclProfilerProxyStepSendPeerWait_v4;
constexpr int kSendWait = ncclProfilerProxyStepSendWait;
constexpr int kRecvWait = ncclProfilerProxyStepRecvWait;
constexpr int kRecvFlush = ncclProfilerProxyStepRecvFlushWait;
constexpr int kRecvGpuWait = ncclProfilerProxyStepRecvGPUWait;

// All steps of a send, as NCCL of the rank's version reports them.
void PlaySend(FakeRank& rank, void* proxy, int steps, std::size_t bytes) {
  for (int i = 0; i < steps; ++i) {
    void* step = rank.StartStep(proxy, i);
    rank.State(step, kSendGpuWait, 999'999);  // stale size: the previous step's
    if (rank.version() >= 4) rank.State(step, kSendPeerWait, 888'888);
    rank.State(step, kSendWait, bytes);
    rank.Stop(step);
  }
}

TEST_P(ProxyTest, StepsOfASendAreFoldedIntoOneRecord) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {.ranks = 4, .rank = 2});
    void* operation = rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
    void* proxy = rank.StartProxy(operation, FakeRank::Proxy(true, 3, 5, 20));
    PlaySend(rank, proxy, 20, 1000);
    rank.Stop(proxy);
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.proxies.size(), 1u);
  const trace::ProxyOperation& one = played.trace.proxies[0];
  EXPECT_EQ(one.channel, 5);
  EXPECT_EQ(one.peer, 3);
  EXPECT_EQ(one.rank, 2);
  EXPECT_EQ(one.communicator, 1u);
  EXPECT_EQ(one.steps, 20u);
  EXPECT_EQ(one.planned_steps, 20u);
  EXPECT_EQ(one.chunk_bytes, 131072u);
  EXPECT_EQ(one.owner_pid, 0);
  EXPECT_EQ(one.refusals, 0u);
  EXPECT_EQ(one.bytes, tells_bytes_by_step() ? 20'000u : 0u) << "stale sizes must not count";
  EXPECT_EQ(one.flags, trace::kProxySend | (tells_bytes_by_step() ? 0 : trace::kProxyNoBytes));
  ASSERT_EQ(played.trace.collectives.size(), 1u);
  EXPECT_EQ(one.operation, played.trace.collectives[0].operation);
}

TEST_P(ProxyTest, RepeatedReceiveStepStartsAreOneStep) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    void* operation = rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
    void* proxy = rank.StartProxy(operation, FakeRank::Proxy(false, 1, 0, 2));
    for (int i = 0; i < 2; ++i) {
      void* step = nullptr;
      for (int attempt = 0; attempt < 50; ++attempt) step = rank.StartStep(proxy, i);
      rank.State(step, kRecvWait, 7777);
      rank.State(step, kRecvFlush, 512);
      rank.State(step, kRecvGpuWait, 512);
      rank.Stop(step);
    }
    rank.Stop(proxy);
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.proxies.size(), 1u);
  EXPECT_EQ(played.trace.proxies[0].steps, 2u);
  EXPECT_EQ(played.trace.proxies[0].refusals, 98u);
  EXPECT_EQ(played.trace.proxies[0].bytes, tells_bytes_by_step() ? 1024u : 0u);
}

TEST_P(ProxyTest, StepStatesTwiceOrBackwardsCountOnce) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    void* operation = rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
    void* proxy = rank.StartProxy(operation, FakeRank::Proxy(true, 1, 0, 1));
    void* step = rank.StartStep(proxy, 0);
    rank.State(step, kSendWait, 100);
    rank.State(step, kSendWait, 100);
    rank.State(step, kSendGpuWait, 100);
    rank.State(step, kRecvFlush, 100);  // a receive's state
    rank.State(step, 12345, 100);
    rank.Stop(step);
    rank.Stop(step);
    rank.State(step, kSendWait, 100);
    rank.Stop(proxy);
    rank.Stop(step);
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.proxies.size(), 1u);
  EXPECT_EQ(played.trace.proxies[0].steps, 1u);
  EXPECT_EQ(played.trace.proxies[0].bytes, tells_bytes_by_step() ? 100u : 0u);
}

// NCCL 2.24 to 2.26 never stop some receive steps.
TEST_P(ProxyTest, ForgottenStepsEndWithTheirOperation) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    void* operation = rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
    void* proxy = rank.StartProxy(operation, FakeRank::Proxy(false, 1, 0, 30));
    for (int i = 0; i < 30; ++i) {
      void* step = rank.StartStep(proxy, i);
      rank.State(step, kRecvWait, 0);
      if (i % 3 != 0) rank.Stop(step);
    }
    rank.Stop(proxy);
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.proxies.size(), 1u);
  EXPECT_EQ(played.trace.proxies[0].steps, 20u);
  EXPECT_EQ(played.trace.proxies[0].flags & trace::kProxyOpen, 0);
}

TEST_P(ProxyTest, OperationStatesTellBytesBefore227) {
  if (GetParam() > 3) GTEST_SKIP() << "2.27 and later do not send these states";
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    void* operation = rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
    void* proxy = rank.StartProxy(operation, FakeRank::Proxy(true, 1, 0, 2));
    for (int i = 0; i < 2; ++i) {
      void* step = rank.StartStep(proxy, i);
      rank.State(step, kSendGpuWait, 0);
      const FakeStateArgs args{.bytes = static_cast<std::size_t>(i + 1) * 4096, .steps = i + 1};
      for (int attempt = 0; attempt < 4; ++attempt)
        profiler.State(proxy, ncclProfilerProxyOpSendRemFifoWait, &args);
      rank.State(step, kSendWait, 0);
      profiler.State(proxy, ncclProfilerProxyOpSendTransmitted, &args);
      rank.Stop(step);
      profiler.State(proxy, ncclProfilerProxyOpSendDone, &args);
    }
    rank.Stop(proxy);
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.proxies.size(), 1u);
  EXPECT_EQ(played.trace.proxies[0].bytes, 8192u) << "the argument is cumulative";
  EXPECT_EQ(played.trace.proxies[0].refusals, 6u);
  EXPECT_EQ(played.trace.proxies[0].flags, trace::kProxySend);
}

// PXN: another process's operation is progressed here; its handles are numbers of that process.
TEST_P(ProxyTest, WorkOfAnotherProcessIsMarkedAndNotAttributed) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    void* operation = rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
    FakeEvent event = FakeRank::Proxy(true, 1, 0, 1);
    event.pid = getpid() + 1;
    event.rank = 6;
    event.parent = operation;
    // As if it were the other process's context, and its pointer: must not be touched.
    for (void* context :
         {rank.context(), reinterpret_cast<void*>(0x7f0000001000), static_cast<void*>(nullptr)}) {
      void* proxy = profiler.Start(context, event);
      ASSERT_NE(proxy, nullptr);
      FakeEvent step_event{.type = ncclProfileProxyStep, .parent = proxy};
      void* step = profiler.Start(context, step_event);
      rank.State(step, kSendWait, 10);
      rank.Stop(step);
      rank.Stop(proxy);
    }
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.proxies.size(), 3u);
  for (const auto& one : played.trace.proxies) {
    EXPECT_NE(one.flags & trace::kProxyForeign, 0);
    EXPECT_EQ(one.communicator, 0u);
    EXPECT_NE(one.owner_pid, 0);
    EXPECT_EQ(one.rank, 6);
    EXPECT_EQ(one.steps, 1u);
  }
}

// Two containers may use the same pid: the context tells.
TEST_P(ProxyTest, AForeignContextWithOurPidIsForeign) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    FakeEvent event = FakeRank::Proxy(true, 1, 0, 1);
    event.pid = getpid();
    const auto ours = reinterpret_cast<std::uintptr_t>(rank.context());
    event.parent = reinterpret_cast<void*>(std::uintptr_t{0x7000000000000005});
    void* proxy = profiler.Start(reinterpret_cast<void*>(ours ^ (std::uintptr_t{1} << 40)), event);
    rank.Stop(proxy);
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.proxies.size(), 1u);
  EXPECT_NE(played.trace.proxies[0].flags & trace::kProxyForeign, 0);
  EXPECT_EQ(played.trace.proxies[0].communicator, 0u);
}

// CollNet and copy-engine proxies are started and never stopped.
TEST_P(ProxyTest, DanglingOperationsEndWithTheirCommunicator) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank first(&profiler, {.id = 1});
    FakeRank second(&profiler, {.id = 2});
    void* operation = first.HandOver(FakeRank::Collective("AllReduce", 0, 1));
    for (int i = 0; i < 10; ++i) first.StartProxy(operation, FakeRank::Proxy(false, 1, i, 4));
    void* survivor = second.StartProxy(operation, FakeRank::Proxy(true, 1, 60, 4));
    first.Finalize();
    second.Stop(survivor);
    second.Finalize();
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.proxies.size(), 11u);
  for (const auto& one : played.trace.proxies) {
    const bool dangling = one.communicator == 1;
    EXPECT_EQ((one.flags & trace::kProxyOpen) != 0, dangling);
    EXPECT_EQ((one.flags & trace::kProxyAborted) != 0, dangling);
  }
}

TEST_P(ProxyTest, TheHandleIsNeverNullEvenWhenTheBoardIsFull) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    void* operation = rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
    for (int i = 0; i < 5000; ++i) {
      void* proxy = rank.StartProxy(operation, FakeRank::Proxy(true, 1, i % 64, 1));
      ASSERT_NE(proxy, nullptr) << "NCCL 2.27 would read through a null pointer of its own";
      ASSERT_NE(rank.StartStep(proxy, 0), nullptr);
    }
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  EXPECT_GE(played.trace.proxies.size(), 4000u);
  EXPECT_FALSE(played.trace.losses.empty());
}

TEST_P(ProxyTest, DetailRecordsEachStep) {
  const Played played =
      PlayAt(GetParam(),
             [](FakeProfiler& profiler) {
               FakeRank rank(&profiler, {});
               void* operation = rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
               void* proxy = rank.StartProxy(operation, FakeRank::Proxy(true, 1, 2, 12));
               PlaySend(rank, proxy, 12, 64);
               rank.Stop(proxy);
               rank.Finalize();
             },
             {{"CHOKEPOINT_DETAIL", "steps"}});
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.steps.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) {
    const trace::ProxyStep& step = played.trace.steps[i];
    EXPECT_EQ(step.step, i);
    EXPECT_EQ(step.channel, 2);
    EXPECT_EQ(step.peer, 1);
    EXPECT_EQ(step.bytes, tells_bytes_by_step() ? 64u : 0u);
    EXPECT_GE(step.end_after_ticks, step.wire_after_ticks);
  }
  ASSERT_EQ(played.trace.proxies.size(), 1u);
}

}  // namespace
}  // namespace chokepoint::tests
