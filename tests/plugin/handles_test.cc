// What NCCL may do with handles, contexts, descriptors and arguments, and what must not come of it.
// Must not end in anything but a process that exits in order.
#include <gtest/gtest.h>

#include <random>

#include "tests/fakes/fake_rank.h"
#include "tests/plugin/plugin_trace.h"

namespace chokepoint::tests {
namespace {

void* Raw(std::uint64_t bits) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(bits)); }

class HandlesTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Profiler, HandlesTest, testing::Range(1, 8), VersionName);

TEST_P(HandlesTest, NullIsAccepted) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    EXPECT_EQ(profiler.Stop(nullptr), ncclSuccess);
    const FakeStateArgs args;
    for (int state = 0; state <= 31; ++state) {
      EXPECT_EQ(profiler.State(nullptr, state, &args), ncclSuccess);
      EXPECT_EQ(profiler.State(nullptr, state, nullptr), ncclSuccess);
    }
    EXPECT_EQ(profiler.Finalize(nullptr), ncclSuccess);
    const FakeEvent event = FakeRank::Collective("AllReduce", 0, 1);
    void* operation = profiler.FakeProfiler::Start(nullptr, event);
    EXPECT_NE(operation, nullptr) << "2.28: a null context is possible";
    profiler.Stop(operation);
    EXPECT_EQ(profiler.Start(rank.context(), static_cast<void**>(nullptr), &event), ncclSuccess);
    void* handle = Raw(0x1234);
    EXPECT_EQ(profiler.Start(rank.context(), &handle, nullptr), ncclSuccess);
    EXPECT_EQ(handle, nullptr);
    EXPECT_EQ(profiler.Init(nullptr, nullptr, {}), ncclSuccess);
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.collectives.size(), 1u) << "the one with a null context";
  EXPECT_EQ(played.trace.collectives[0].communicator, 0u);
}

TEST_P(HandlesTest, DoubleStopsDoNothing) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    std::vector<void*> handles;
    for (std::uint64_t i = 0; i < 20; ++i) {
      void* operation = rank.HandOver(FakeRank::Collective("AllReduce", i, 1));
      void* proxy = rank.StartProxy(operation, FakeRank::Proxy(true, 1, 0, 1));
      void* step = rank.StartStep(proxy, 0);
      if (rank.asks_kernels()) rank.RunKernels(operation, 1, 100, 200);
      for (void* handle : {step, proxy, operation}) {
        rank.Stop(handle);
        rank.Stop(handle);
        handles.push_back(handle);
      }
    }
    for (void* handle : handles) rank.Stop(handle);
    rank.Finalize();
    for (void* handle : handles) rank.Stop(handle);
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  EXPECT_EQ(played.trace.collectives.size(), 20u);
  EXPECT_EQ(played.trace.proxies.size(), 20u);
  EXPECT_EQ(played.trace.communicator_ends.size(), 1u);
}

TEST_P(HandlesTest, StaleParentsDoNotReviveTheDead) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    void* operation = rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
    if (rank.asks_kernels()) rank.RunKernels(operation, 1, 100, 200);
    // Proxy work of an operation often comes after its end, and is its work all the same.
    void* proxy = rank.StartProxy(operation, FakeRank::Proxy(true, 1, 0, 1));
    rank.Stop(proxy);
    void* step = rank.StartStep(proxy, 0);  // of a dead proxy operation
    const FakeStateArgs args{.bytes = 77};
    profiler.State(step, ncclProfilerProxyStepSendWait, &args);
    rank.Stop(step);
    rank.StartKernel(operation, 0, 300);
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  ASSERT_EQ(played.trace.collectives.size(), 1u);
  ASSERT_EQ(played.trace.proxies.size(), 1u);
  EXPECT_EQ(played.trace.proxies[0].operation, played.trace.collectives[0].operation);
  EXPECT_EQ(played.trace.proxies[0].steps, 0u);
  EXPECT_EQ(played.trace.proxies[0].bytes, 0u);
}

// NCCL does not clear the handle before a start: what was in it would be used.
TEST_P(HandlesTest, UnaskedTypesAreIgnoredAndTheHandleIsAlwaysWritten) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    std::uint64_t types[] = {0, 3, 0x20, 0x80, 0x8000, 0xff};
    for (const std::uint64_t type : types) {
      void* handle = Raw(0xdead);
      const FakeEvent event{.type = type, .parent = Raw(0xbeef)};
      EXPECT_EQ(profiler.Start(rank.context(), &handle, &event), ncclSuccess);
      EXPECT_EQ(handle, nullptr) << type;
    }
    if (rank.version() >= 5) {
      for (int bit = 16; bit < 64; ++bit) {
        void* handle = Raw(0xdead);
        const FakeEvent event{.type = std::uint64_t{1} << bit};
        profiler.Start(rank.context(), &handle, &event);
        EXPECT_EQ(handle, nullptr) << bit;
      }
    }
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  EXPECT_TRUE(played.trace.collectives.empty());
}

// API, kernel and copy-engine events that this version does have, although the mask does not ask
// for them.
TEST_P(HandlesTest, ForcedAncestorsAreAccepted) {
  const Played played =
      PlayAt(GetParam(),
             [](FakeProfiler& profiler) {
               FakeRank rank(&profiler, {});
               EXPECT_EQ(rank.mask(), 0x40);
               void* operation = rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
               void* kernel = rank.StartKernel(operation, 0, 1000);
               rank.StopKernel(kernel, 2000);
               void* proxy = rank.StartProxy(operation, FakeRank::Proxy(true, 1, 0, 1));
               rank.Stop(proxy);
               rank.Finalize();
             },
             {{"CHOKEPOINT_EVENT_MASK", "0x40"}});
  ASSERT_TRUE(played.exited);
  EXPECT_EQ(played.trace.collectives.size(), 1u);
  EXPECT_EQ(played.trace.proxies.size(), 1u);
}

TEST_P(HandlesTest, GarbageIsHarmless) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    std::mt19937_64 random(42);
    for (int i = 0; i < 200'000; ++i) {
      const std::uint64_t bits = random();
      // Also with small numbers: ids that exist, under any tag.
      void* garbage = Raw(i % 2 == 0 ? bits : (bits & 0xf003'0000'0000'0000u) | (bits % 300));
      switch (i % 7) {
        case 0:
          profiler.Stop(garbage);
          break;
        case 1: {
          const FakeStateArgs args{
              .bytes = bits, .steps = static_cast<int>(bits), .timer_ns = bits};
          profiler.State(garbage, static_cast<int>(bits % 40) - 2, &args);
          break;
        }
        case 2:
          profiler.State(garbage, static_cast<int>(bits), nullptr);
          break;
        case 3:
          rank.StartKernel(garbage, static_cast<int>(bits & 255), bits);
          break;
        case 4:
          rank.StartStep(garbage, static_cast<int>(bits));
          break;
        case 5: {
          FakeEvent event =
              FakeRank::Proxy((bits & 1) != 0, static_cast<int>(bits), 255, static_cast<int>(bits));
          event.parent = garbage;
          event.pid = static_cast<int>(bits);
          profiler.Stop(profiler.FakeProfiler::Start(garbage, event));
          break;
        }
        case 6: {
          FakeEvent event = (bits & 8) != 0
                                ? FakeRank::Collective("AllReduce", bits, bits, 255)
                                : FakeRank::PointToPoint("Recv", static_cast<int>(bits), bits, 255);
          event.parent = garbage;
          event.group = garbage;
          profiler.Stop(profiler.FakeProfiler::Start(garbage, event));
          break;
        }
        default:
          break;
      }
    }
    rank.Finalize();
  });
  EXPECT_TRUE(played.exited) << played.raw_status;
  EXPECT_EQ(played.trace.lost_bytes, 0u);
  EXPECT_EQ(played.trace.unknown_events, 0u);
}

TEST_P(HandlesTest, NoHandleIsAPointer) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    void* operation = rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
    void* proxy = rank.StartProxy(operation, FakeRank::Proxy(true, 1, 0, 1));
    void* step = rank.StartStep(proxy, 0);
    for (void* handle : {rank.context(), operation, proxy, step}) {
      // User-space addresses end far below.
      EXPECT_GE(reinterpret_cast<std::uintptr_t>(handle) >> 56, 1u);
    }
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
}

}  // namespace
}  // namespace chokepoint::tests
