// The sampler as a whole: timetable, election, budget, and what it costs with 64 sockets and 10
// interfaces. Must not assert any absolute time: costs are ratios of CPU time to wall time of one
// run.
#include "counters/sampler.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "tests/counters/network.h"
#include "tests/counters/system_tree.h"
#include "trace/clock.h"

namespace chokepoint::tests {
namespace {

using counters::Sampler;
using counters::SamplerOptions;

constexpr std::uint64_t kSecond = 1'000'000'000;

// A sampler on a recorded machine, whose clock the test turns.
class SamplerOnTree : public testing::Test {
 protected:
  SamplerOnTree() {
    tree_.Write("/proc/stat", "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
    tree_.Write("/proc/net/dev", "h\nh\neth0: 5 5 0 0 0 0 0 0 5 5 0 0 0 0 0 0\n");
    tree_.Write("/proc/net/snmp", "Tcp: InSegs\nTcp: 1\n");
    tree_.Write("/proc/net/netstat", "TcpExt: TCPTimeouts\nTcpExt: 1\n");
    tree_.Write("/proc/self/stat", "1 (a) S 0\n");
    tree_.Write("/proc/self/task/1/schedstat", "1 1 1\n");
    tree_.Write("/proc/sys/net/ipv4/tcp_congestion_control", "cubic\n");
  }
  SamplerOptions Options() {
    SamplerOptions options;
    options.root = tree_.root().c_str();
    options.leader_directory = tree_.root().c_str();
    options.tcp = false;
    options.sink = tree_.events().sink();
    return options;
  }
  void Run(Sampler* sampler, int seconds) {
    for (const std::uint64_t end = now_ + static_cast<std::uint64_t>(seconds) * kSecond;
         now_ < end;) {
      now_ = sampler->Tick(now_);
    }
  }
  SystemTree tree_;
  std::unique_ptr<Sampler> sampler_ = std::make_unique<Sampler>();
  std::uint64_t now_ = 100 * kSecond;
};

TEST_F(SamplerOnTree, TheLeaderRecordsProcessAndHost) {
  sampler_->Init(Options());
  Run(sampler_.get(), 21);
  EXPECT_EQ(tree_.events().All<trace::ProcessSample>().size(), 21u);
  EXPECT_GE(tree_.events().All<trace::NetstatSample>().size(), 20u);
  EXPECT_EQ(tree_.events().All<trace::CpuSample>().size(), 3u);
  EXPECT_EQ(tree_.events().All<trace::SamplerCost>().size(), 3u);
  const auto roles = tree_.events().All<trace::SamplerRole>();
  ASSERT_EQ(roles.size(), 1u);
  EXPECT_EQ(roles[0].flags, trace::kSamplerLeader);
  EXPECT_EQ(tree_.events().meta().at("net.tcp_congestion_control"), "cubic");
  sampler_->Finish(now_);
  EXPECT_EQ(tree_.events().All<trace::SamplerRole>().back().flags & trace::kSamplerEnding,
            trace::kSamplerEnding);
}

TEST_F(SamplerOnTree, RdmaPortsAreNamedByEachProcessAndCountedByTheLeader) {
  tree_.Write("/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts", "5\n");
  tree_.Write("/sys/class/infiniband/rxe0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
  auto second = std::make_unique<Sampler>();
  RecordingSink others;
  SamplerOptions options = Options();
  options.sink = others.sink();
  sampler_->Init(Options());
  second->Init(options);
  std::uint64_t other_now = now_;
  Run(sampler_.get(), 5);
  while (other_now < now_) other_now = second->Tick(other_now);
  EXPECT_EQ(tree_.events().All<trace::RdmaPort>().size(), 1u);
  EXPECT_EQ(others.All<trace::RdmaPort>().size(), 1u);
  EXPECT_GE(tree_.events().All<trace::RdmaSample>().size(), 5u);
  EXPECT_TRUE(others.All<trace::RdmaSample>().empty());
}

TEST_F(SamplerOnTree, TheGpuOfTheProcessIsFollowed) {
  setenv("FAKE_NVML", "util=70", 1);
  SamplerOptions options = Options();
  options.nvml_library = CHOKEPOINT_TEST_NVML;
  sampler_->Init(options);
  Run(sampler_.get(), 12);
  EXPECT_EQ(tree_.events().All<trace::GpuDevice>().size(), 1u);
  EXPECT_EQ(tree_.events().All<trace::GpuHealth>().size(), 2u);
  const auto samples = tree_.events().All<trace::GpuSample>();
  ASSERT_EQ(samples.size(), 12u);
  EXPECT_EQ(samples.back().utilisation_percent, 70);
}

TEST_F(SamplerOnTree, OnlyOneOfTwoRecordsTheHostAndTheOtherFollows) {
  auto second = std::make_unique<Sampler>();
  sampler_->Init(Options());
  RecordingSink others;
  SamplerOptions options = Options();
  options.sink = others.sink();
  second->Init(options);
  std::uint64_t other_now = now_;
  for (int i = 0; i < 5; ++i) {
    Run(sampler_.get(), 1);
    while (other_now < now_) other_now = second->Tick(other_now);
  }
  EXPECT_FALSE(tree_.events().All<trace::NicSample>().empty());
  EXPECT_TRUE(others.All<trace::NicSample>().empty());
  EXPECT_FALSE(others.All<trace::ProcessSample>().empty());
  sampler_->Finish(now_);
  for (int i = 0; i < 12; ++i) other_now = second->Tick(other_now);
  EXPECT_FALSE(others.All<trace::NicSample>().empty());
  EXPECT_EQ(others.All<trace::SamplerRole>().back().flags & trace::kSamplerLeader,
            trace::kSamplerLeader);
  second->Finish(other_now);
}

TEST_F(SamplerOnTree, WithoutAPlaceForALockTheLocalRankDecides) {
  for (const int local_rank : {0, 1}) {
    SamplerOptions options = Options();
    options.leader_directory = "/nonexistent";
    options.local_rank = local_rank;
    auto sampler = std::make_unique<Sampler>();
    tree_.events().Clear();
    sampler->Init(options);
    sampler->Tick(now_);
    const auto roles = tree_.events().All<trace::SamplerRole>();
    ASSERT_EQ(roles.size(), 1u);
    EXPECT_EQ(roles[0].flags,
              trace::kSamplerNoElection | (local_rank == 0 ? trace::kSamplerLeader : 0));
  }
}

TEST_F(SamplerOnTree, IdentitiesAreRepeatedForTracesThatForget) {
  sampler_->Init(Options());
  Run(sampler_.get(), 10);
  const std::size_t before = tree_.events().All<trace::NicInterface>().size();
  Run(sampler_.get(), 300);
  EXPECT_EQ(tree_.events().All<trace::NicInterface>().size(), before + 1);
}

TEST_F(SamplerOnTree, AJumpOfTheClockIsOneSampleNotMany) {
  sampler_->Init(Options());
  Run(sampler_.get(), 2);
  const std::size_t before = tree_.events().All<trace::ProcessSample>().size();
  now_ += 1000 * kSecond;
  now_ = sampler_->Tick(now_);
  EXPECT_LE(tree_.events().All<trace::ProcessSample>().size(), before + 1);
}

TEST_F(SamplerOnTree, RecordsNothingButMissingSourcesOnAnEmptyMachine) {
  SystemTree empty;
  SamplerOptions options = Options();
  const std::string root = empty.root();
  options.root = root.c_str();
  options.sink = empty.events().sink();
  sampler_->Init(options);
  Run(sampler_.get(), 30);
  std::vector<std::uint8_t> missing;
  for (const auto& status : empty.events().All<trace::SourceStatus>())
    missing.push_back(status.source);
  for (const trace::SamplerSource source :
       {trace::SamplerSource::kNic, trace::SamplerSource::kCpu, trace::SamplerSource::kMemory,
        trace::SamplerSource::kPressure, trace::SamplerSource::kDisk, trace::SamplerSource::kMount,
        trace::SamplerSource::kNetstat, trace::SamplerSource::kSoftnet,
        trace::SamplerSource::kThread, trace::SamplerSource::kProcess}) {
    EXPECT_NE(std::find(missing.begin(), missing.end(), static_cast<std::uint8_t>(source)),
              missing.end())
        << static_cast<int>(source) << " is not listed as missing";
  }
  EXPECT_LT(empty.events().All<trace::SourceStatus>().size(), 30u) << "said again and again";
}

// ---- cost ----

std::uint64_t NowNs() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

void Discard(const void*, std::size_t, void*) noexcept {}
std::uint32_t NoName(const char*, void*) noexcept { return 1; }
void NoMeta(const char*, const char*, void*) noexcept {}

struct Shared {
  double share[3];
  std::uint64_t reads;
  bool enough_sockets;
};

// Runs in a process of its own: 64 sockets with traffic, 10 interfaces, for some seconds.
void MeasureCost(Shared* shared) {
  if (unshare(CLONE_NEWNET) != 0) _exit(2);
  RunCommand("ip link set lo up");
  for (int i = 0; i < 9; ++i) {
    const std::string name = "dummy" + std::to_string(i);
    RunCommand("ip link add " + name + " type veth peer name peer" + std::to_string(i));
    RunCommand("ip link set " + name + " up");
  }
  std::vector<Connection> connections;
  for (int i = 0; i < 32; ++i) connections.push_back(Connect("", ""));
  shared->enough_sockets = connections.back().server >= 0;
  for (std::size_t run = 0; run < std::size(shared->share); ++run) {
    std::thread([&] {
      auto sampler = std::make_unique<Sampler>();
      SamplerOptions options;
      options.leader_scope = "cost test";
      options.own_thread = true;
      options.sink = {.emit = Discard, .intern = NoName, .meta = NoMeta, .argument = nullptr};
      sampler->Init(options);
      const std::uint64_t start = NowNs();
      std::uint64_t cpu_after_setup = 0;
      std::uint64_t counted_from = start;
      std::uint64_t next_traffic = start;
      for (std::uint64_t now = start; now < start + 4 * kSecond; now = NowNs()) {
        const std::uint64_t due = sampler->Tick(now);
        if (cpu_after_setup == 0) {
          cpu_after_setup = sampler->cpu_ns();
          counted_from = NowNs();
        }
        if (now >= next_traffic) {  // on another thread: it is not the sampler's cost
          std::thread([&] {
            for (const Connection& connection : connections) Transfer(connection, 1'500'000);
          }).join();
          next_traffic += kSecond;
        }
        const std::uint64_t after = NowNs();
        if (due > after) std::this_thread::sleep_for(std::chrono::nanoseconds(due - after));
      }
      shared->share[run] = static_cast<double>(sampler->cpu_ns() - cpu_after_setup) /
                           static_cast<double>(NowNs() - counted_from);
      sampler->Finish(NowNs());
    }).join();
  }
}

TEST(SamplerCost, StaysWithinATenthOfAPercentWith64SocketsAnd10Interfaces) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers multiply the cost";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers multiply the cost";
#endif
#endif
  if (geteuid() != 0) GTEST_SKIP() << "a network namespace with ten interfaces needs root";
  trace::InitClock();
  auto* shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t pid = fork();
  if (pid == 0) {
    MeasureCost(shared);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
    GTEST_SKIP() << "no network namespace can be made here";
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(shared->enough_sockets);
  std::sort(std::begin(shared->share), std::end(shared->share));
  std::printf("sampling 64 sockets and 10 interfaces: %.4f %% of a core (%.4f to %.4f)\n",
              shared->share[1] * 100, shared->share[0] * 100, shared->share[2] * 100);
  EXPECT_GT(shared->share[1], 0);
  EXPECT_LE(shared->share[1], 0.001);
  munmap(shared, sizeof(Shared));
}

}  // namespace
}  // namespace chokepoint::tests
