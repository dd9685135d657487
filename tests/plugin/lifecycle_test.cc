// The plugin's life in a process: init, finalize, abort, reload, fork, exit, and being switched
// off. Must not share a process between tests.
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/fakes/fake_rank.h"
#include "tests/plugin/plugin_trace.h"

namespace chokepoint::tests {
namespace {

class LifecycleTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Profiler, LifecycleTest, testing::Range(1, 8), VersionName);

TEST_P(LifecycleTest, InitAddsToTheMaskAndNeverFails) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    EXPECT_STREQ(profiler.name(), "chokepoint");
    void* context = nullptr;
    int mask = 0x40000000;  // another profiler's wish
    EXPECT_EQ(profiler.Init(&context, &mask, {}), ncclSuccess);
    EXPECT_NE(context, nullptr);
    EXPECT_EQ(mask & 0x40000000, 0x40000000);
    EXPECT_EQ(mask & 0x1f, 0x1f);
    EXPECT_EQ((static_cast<unsigned>(mask) & ncclProfileKernelCh) != 0, profiler.version() >= 5);
    profiler.Finalize(context);
  });
  ASSERT_TRUE(played.exited);
  ASSERT_FALSE(played.trace.communicators.empty());
  EXPECT_NE(played.trace.communicators[0].event_mask & 0x40000000u, 0u) << "the mask in force";
}

TEST_P(LifecycleTest, MoreCommunicatorsThanTheRegistryHolds) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    std::vector<FakeRank> ranks;
    for (std::uint64_t i = 0; i < 1100; ++i) {
      ranks.emplace_back(&profiler, FakeCommunicator{.id = i + 1});
      ASSERT_NE(ranks.back().context(), nullptr);
    }
    ranks.front().HandOver(FakeRank::Collective("AllReduce", 0, 1));
    ranks.back().HandOver(FakeRank::Collective("AllReduce", 0, 2));
    for (FakeRank& rank : ranks) rank.Finalize();
    // Room again.
    FakeRank later(&profiler, {.id = 5000});
    later.HandOver(FakeRank::Collective("AllReduce", 0, 3));
    later.Finalize();
  });
  ASSERT_TRUE(played.exited);
  std::map<std::uint64_t, std::uint32_t> communicator_of_count;
  for (const auto& one : played.trace.collectives)
    communicator_of_count[one.count] = one.communicator;
  EXPECT_EQ(communicator_of_count[1], 1u);
  EXPECT_EQ(communicator_of_count[2], 0u) << "unknown, but recorded";
  EXPECT_GT(communicator_of_count[3], 1000u) << "a new number, never an old one";
  EXPECT_EQ(played.trace.communicator_ends.size(), 1025u);
}

// ncclCommAbort stops nothing that is open.
TEST_P(LifecycleTest, AbortWithoutStops) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    void* group = profiler.Start(rank.context(), FakeEvent{.type = ncclProfileGroup});
    FakeEvent event = FakeRank::Collective("AllReduce", 0, 1);
    event.parent = event.group = group;
    void* operation = profiler.Start(rank.context(), event);
    void* proxy = rank.StartProxy(operation, FakeRank::Proxy(false, 1, 0, 4));
    void* step = rank.StartStep(proxy, 0);
    rank.State(step, ncclProfilerProxyStepRecvWait, 0);
    rank.Finalize();
    rank.Stop(step);
    rank.Stop(proxy);
    rank.Stop(operation);
    rank.Stop(group);
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.collectives.size(), 1u);
  EXPECT_NE(played.trace.collectives[0].flags & trace::kOperationOpen, 0);
  EXPECT_NE(played.trace.collectives[0].flags & trace::kOperationAborted, 0);
  ASSERT_EQ(played.trace.proxies.size(), 1u);
  EXPECT_EQ(played.trace.proxies[0].flags, trace::kProxyOpen | trace::kProxyAborted |
                                               (GetParam() <= 3 ? trace::kProxyNoBytes : 0));
}

// With shared resources a child's work goes on in its parent's proxy, and the dead parent's context
// is still passed.
TEST_P(LifecycleTest, AChildCommunicatorOutlivesItsParent) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank parent(&profiler, {.id = 1});
    FakeRank child(&profiler, {.id = 2});
    void* of_parent = parent.HandOver(FakeRank::Collective("AllReduce", 0, 1));
    void* late = parent.StartProxy(of_parent, FakeRank::Proxy(true, 1, 0, 1));
    parent.Finalize();
    const FakeEvent control{.type = ncclProfileProxyCtrl};
    EXPECT_EQ(profiler.FakeProfiler::Start(parent.context(), control), nullptr);
    parent.Stop(late);
    void* of_child = child.HandOver(FakeRank::Collective("AllReduce", 0, 2));
    void* proxy =
        parent.StartProxy(of_child, FakeRank::Proxy(true, 1, 1, 1));  // the dead parent's context
    parent.Stop(proxy);
    void* own = child.StartProxy(of_child, FakeRank::Proxy(true, 1, 2, 1));
    child.Stop(own);
    child.Finalize();
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.proxies.size(), 3u);
  EXPECT_EQ(played.trace.proxies[1].communicator, 0u);
  EXPECT_EQ(played.trace.proxies[1].flags & trace::kProxyForeign, 0)
      << "ours, though its context is over";
  EXPECT_EQ(played.trace.proxies[2].communicator, 2u);
}

// All communicators gone: NCCL closes the library. The next communicator opens it again.
TEST_P(LifecycleTest, ReloadAfterDlclose) {
  const int version = GetParam();
  const Played played = Play([version](FakeNccl& nccl) {
    {
      const auto profiler = nccl.Profiler(version);
      FakeRank rank(profiler.get(), {.id = 1});
      rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
      rank.Finalize();
    }
    nccl.Close();
    const auto again = FakeNccl::Load(CHOKEPOINT_PLUGIN);
    ASSERT_NE(again, nullptr);
    const auto profiler = again->Profiler(version);
    FakeRank rank(profiler.get(), {.id = 2});
    rank.HandOver(FakeRank::Collective("AllReduce", 0, 2));
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  EXPECT_EQ(played.trace.files, 1);
  EXPECT_EQ(played.trace.collectives.size(), 2u);
  EXPECT_EQ(played.trace.communicator_ends.size(), 2u);
}

TEST_P(LifecycleTest, AProgramThatNeverDestroysItsCommunicator) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    for (std::uint64_t i = 0; i < 10; ++i) {
      void* operation = rank.HandOver(FakeRank::Collective("AllReduce", i, 1));
      if (rank.asks_kernels()) rank.RunKernels(operation, 1, 100, 200);
    }
  });
  ASSERT_TRUE(played.exited);
  EXPECT_EQ(played.trace.collectives.size(), 10u);
  EXPECT_TRUE(played.trace.communicator_ends.empty());
  EXPECT_TRUE(played.trace.ended);
}

TEST_P(LifecycleTest, DisabledRecordsNothingAndSaysYes) {
  const Played played =
      PlayAt(GetParam(),
             [](FakeProfiler& profiler) {
               EXPECT_EQ(getenv("NCCL_PROFILER_PLUGIN"), nullptr);
               FakeRank rank(&profiler, {});
               EXPECT_NE(rank.context(), nullptr);
               EXPECT_EQ(rank.mask(), 0);
               EXPECT_EQ(rank.HandOver(FakeRank::Collective("AllReduce", 0, 1)), nullptr);
               rank.Finalize();
             },
             {{"CHOKEPOINT_DISABLE", "1"}});
  ASSERT_TRUE(played.exited);
  EXPECT_EQ(played.trace.files, 0);
}

TEST_P(LifecycleTest, ErrnoIsPreserved) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    errno = 1234;
    FakeRank rank(&profiler, {});
    EXPECT_EQ(errno, 1234);
    void* operation = rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
    rank.Stop(rank.StartProxy(operation, FakeRank::Proxy(true, 1, 0, 1)));
    EXPECT_EQ(errno, 1234);
    rank.Finalize();
    EXPECT_EQ(errno, 1234);
  });
  ASSERT_TRUE(played.exited);
}

// A data-loader worker forked while communicators exist: it must neither write nor disturb.
TEST_P(LifecycleTest, AForkedChildTouchesNothing) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    FakeEvent event = FakeRank::Collective("AllReduce", 0, 1);
    void* operation = profiler.Start(rank.context(), event);
    void* proxy = rank.StartProxy(operation, FakeRank::Proxy(true, 1, 0, 1));
    const pid_t child = fork();
    if (child == 0) {
      // Nobody would do this; the parent's records must survive it all the same.
      rank.Stop(operation);
      rank.Stop(proxy);
      rank.HandOver(FakeRank::Collective("AllReduce", 1, 99));
      rank.Finalize();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    rank.Stop(proxy);
    rank.Stop(operation);
    if (rank.asks_kernels()) rank.RunKernels(operation, 1, 100, 200);
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  EXPECT_EQ(played.trace.files, 1) << "the child makes none";
  ASSERT_EQ(played.trace.collectives.size(), 1u);
  EXPECT_EQ(played.trace.collectives[0].count, 1u);
  EXPECT_EQ(played.trace.collectives[0].flags & trace::kOperationOpen, 0);
  EXPECT_EQ(played.trace.proxies.size(), 1u);
}

TEST_P(LifecycleTest, MetaSaysWhichNcclAndHowItCame) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    EXPECT_STREQ(getenv("NCCL_PROFILER_PLUGIN"), "libnccl-net-chokepoint.so");
    rank.Finalize();
    const std::string& log = FakeNcclLogText();
    if (rank.version() >= 4) {
      EXPECT_NE(log.find("level 3 flags 1: chokepoint "), std::string::npos) << log;
      EXPECT_NE(log.find(".nccl.cpt"), std::string::npos) << log;
      EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
    }
  });
  ASSERT_TRUE(played.exited);
  const FakeRelease& release = ReleaseWithProfiler(GetParam());
  EXPECT_EQ(played.trace.meta.at("nccl_version"), release.name);
  EXPECT_EQ(played.trace.meta.at("nccl_profiler_api"), std::to_string(GetParam()));
  EXPECT_EQ(played.trace.meta.at("nccl_loaded_by"), "NCCL_NET_PLUGIN");
}

TEST(LifecycleChoiceTest, TheUsersProfilerWins) {
  PlayOptions options;
  options.environment = {{"NCCL_PROFILER_PLUGIN", "none"}};
  const Played played =
      Play(options, [](FakeNccl&) { EXPECT_STREQ(getenv("NCCL_PROFILER_PLUGIN"), "none"); });
  ASSERT_TRUE(played.exited);
}

}  // namespace
}  // namespace chokepoint::tests
