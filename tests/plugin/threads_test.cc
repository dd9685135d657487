// Many threads at once, in the same and in different communicators: nothing lost, nothing twice,
// nothing torn. Must not use more threads than a small machine can bear; a thread sanitizer's run
// of this file is the point.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>
#include <thread>

#include "tests/fakes/fake_rank.h"
#include "tests/plugin/plugin_trace.h"

namespace chokepoint::tests {
namespace {

class ThreadsTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Profiler, ThreadsTest, testing::Range(1, 8), VersionName);

constexpr int kThreads = 8;

// A launching thread and a progress thread for each of four communicators, as in a process with
// four GPUs.
TEST_P(ThreadsTest, EveryOperationOfEveryCommunicatorOnce) {
  constexpr std::uint64_t kOperations = 400;
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    std::vector<std::thread> threads;
    for (std::uint64_t c = 0; c < 4; ++c) {
      threads.emplace_back([&profiler, c] {
        FakeRank rank(&profiler, {.id = 100 + c});
        std::atomic<void*> box{nullptr};
        std::thread progress([&] {
          for (std::uint64_t i = 0; i < kOperations; ++i) {
            void* operation = nullptr;
            while ((operation = box.exchange(nullptr)) == nullptr) std::this_thread::yield();
            void* proxy = rank.StartProxy(operation, FakeRank::Proxy(true, 1, 0, 1));
            void* step = rank.StartStep(proxy, 0);
            rank.State(step, ncclProfilerProxyStepSendWait, 10);
            rank.Stop(step);
            rank.Stop(proxy);
            if (rank.asks_kernels()) rank.RunKernels(operation, 2, 1000 + i, 2000 + i);
          }
        });
        for (std::uint64_t i = 0; i < kOperations; ++i) {
          void* operation = rank.HandOver(FakeRank::Collective("AllReduce", i, i, 2));
          while (box.load() != nullptr) std::this_thread::yield();
          box.store(operation);
        }
        progress.join();
        rank.Finalize();
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  ASSERT_TRUE(played.exited);
  std::map<std::uint32_t, std::set<std::uint32_t>> sequences;
  std::set<std::uint32_t> numbers;
  for (const auto& one : played.trace.collectives) {
    EXPECT_TRUE(sequences[one.communicator].insert(one.sequence).second);
    EXPECT_TRUE(numbers.insert(one.operation).second);
    EXPECT_EQ(one.count, one.sequence);
    EXPECT_EQ(one.flags & trace::kOperationOpen, 0);
    if (GetParam() >= 5) {
      EXPECT_EQ(one.gpu_start_ns, 1000 + one.sequence);
    }
  }
  EXPECT_EQ(sequences.size(), 4u);
  for (const auto& [communicator, seen] : sequences)
    EXPECT_EQ(seen.size(), kOperations) << communicator;
  EXPECT_EQ(played.trace.proxies.size(), 4 * kOperations);
  for (const auto& one : played.trace.proxies) EXPECT_EQ(one.steps, 1u);
  EXPECT_EQ(played.trace.communicator_ends.size(), 4u);
}

// What NCCL does not do, but its bugs come near: threads that stop, repeat and abandon each other's
// events.
TEST_P(ThreadsTest, SharedHandlesBreakNothing) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    FakeRank rank(&profiler, {});
    std::atomic<void*> shared[64] = {};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 random(static_cast<std::uint64_t>(t));
        for (int i = 0; i < 4000; ++i) {
          std::atomic<void*>& place = shared[random() % 64];
          void* handle = place.load();
          switch (random() % 8) {
            case 0:
              place.store(rank.HandOver(FakeRank::Collective("AllReduce", random() % 100, 1, 2)));
              break;
            case 1:
              place.store(rank.StartProxy(handle, FakeRank::Proxy(random() % 2 == 0, 1, 0, 4)));
              break;
            case 2:
              place.store(rank.StartStep(handle, static_cast<int>(random() % 8)));
              break;
            case 3:
              rank.State(handle, static_cast<int>(random() % 24), 100);
              break;
            case 4:
              place.store(rank.StartKernel(handle, static_cast<int>(random() % 4), random()));
              break;
            case 5:
              rank.StopKernel(handle, random());
              break;
            case 6:
              rank.HandOver(FakeRank::PointToPoint("Send", static_cast<int>(random() % 3), 1));
              break;
            case 7:
              rank.Stop(handle);
              break;
            default:
              break;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    rank.Finalize();
  });
  ASSERT_TRUE(played.exited);
  EXPECT_EQ(played.trace.lost_bytes, 0u);
  std::set<std::uint32_t> numbers;
  for (const auto& one : played.trace.collectives)
    EXPECT_TRUE(numbers.insert(one.operation).second) << "emitted twice";
  for (const auto& one : played.trace.point_to_points)
    EXPECT_TRUE(numbers.insert(one.operation).second);
}

TEST_P(ThreadsTest, CommunicatorsComeAndGoAtTheSameTime) {
  const Played played = PlayAt(GetParam(), [](FakeProfiler& profiler) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&profiler, t] {
        for (int i = 0; i < 20; ++i) {
          FakeRank rank(&profiler, {.id = static_cast<std::uint64_t>(t * 100 + i + 1)});
          void* operation = rank.HandOver(FakeRank::Collective("AllReduce", 0, 1));
          if (rank.asks_kernels()) rank.RunKernels(operation, 1, 100, 200);
          rank.Finalize();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  ASSERT_TRUE(played.exited);
  EXPECT_EQ(played.trace.files, 1);
  EXPECT_EQ(played.trace.communicator_ends.size(), 20u * kThreads);
  EXPECT_EQ(played.trace.collectives.size(), 20u * kThreads);
  for (const auto& one : played.trace.collectives) EXPECT_NE(one.communicator, 0u);
}

}  // namespace
}  // namespace chokepoint::tests
