// The sampler's thread: start, wake, stop, fork; signals; and what it writes, read back from the
// trace. Must not measure time.
#include "counters/sampler_thread.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "counters/sampler.h"
#include "tests/counters/network.h"
#include "tests/counters/recording_sink.h"

namespace chokepoint::tests {
namespace {

// Each test in a process of its own: there is one sampler per process, once.
int InChild(int (*work)()) {
  const pid_t pid = fork();
  if (pid == 0) _exit(work());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

RecordingSink* g_events = nullptr;

counters::SamplerOptions Options() {
  g_events = new RecordingSink;
  counters::SamplerOptions options;
  options.sink = g_events->sink();
  options.leader_scope = "sampler thread test";
  return options;
}

std::string ThreadStatus(const char* wanted_name) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(task.path() / "comm");
    std::string name;
    std::getline(comm, name);
    if (name != wanted_name) continue;
    std::ifstream status(task.path() / "status");
    return {std::istreambuf_iterator<char>(status), {}};
  }
  return "";
}

TEST(SamplerThread, StartsOnceStopsAndHasTakenItsSamples) {
  EXPECT_EQ(InChild([] {
              if (!counters::StartSampler(Options())) return 1;
              if (counters::StartSampler(Options())) return 2;
              std::this_thread::sleep_for(std::chrono::milliseconds(700));
              counters::StopSampler(2000);
              counters::StopSampler(2000);
              return 0;
            }),
            0);
}

TEST(SamplerThread, RecordsThroughItsSink) {
  EXPECT_EQ(InChild([] {
              const counters::SamplerOptions options = Options();
              RecordingSink* events = g_events;
              if (!counters::StartSampler(options)) return 1;
              std::this_thread::sleep_for(std::chrono::milliseconds(600));
              counters::StopSampler(2000);
              if (events->All<trace::ProcessSample>().size() < 2) return 2;
              if (events->All<trace::SamplerRole>().size() != 2) return 3;
              if (events->All<trace::NicSample>().empty()) return 4;
              if (events->All<trace::SamplerCost>().back().cpu_ns == 0) return 5;
              return 0;
            }),
            0);
}

TEST(SamplerThread, BlocksEverySignal) {
  EXPECT_EQ(InChild([] {
              if (!counters::StartSampler(Options())) return 1;
              std::this_thread::sleep_for(std::chrono::milliseconds(300));
              const std::string status = ThreadStatus("chokepoint-smp");
              counters::StopSampler(2000);
              const std::size_t at = status.find("SigBlk:\t");
              if (at == std::string::npos) return 2;
              const std::uint64_t blocked = std::stoull(status.substr(at + 8, 16), nullptr, 16);
              const std::uint64_t may_not_be_blocked = 1ull << (SIGKILL - 1) |
                                                       1ull << (SIGSTOP - 1) |
                                                       3ull << 31;  // and glibc's own two
              return (blocked | may_not_be_blocked) == ~0ull ? 0 : 3;
            }),
            0);
}

TEST(SamplerThread, ASlowOperationIsReadAtOnce) {
  EXPECT_EQ(
      InChild([] {
        const counters::SamplerOptions options = Options();
        RecordingSink* events = g_events;
        Connection connection = Connect("", "");
        if (!counters::StartSampler(options)) return 1;
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        if (!Transfer(connection, 4 << 20)) return 2;
        counters::NoteSlowOperation();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        counters::StopSampler(2000);
        for (const auto& sample : events->All<trace::TcpSample>()) {
          if (sample.reason == static_cast<std::uint8_t>(trace::TcpSampleReason::kSlowOperation))
            return 0;
        }
        return 3;
      }),
      0);
}

TEST(SamplerThread, NewConnectionsPeersAndPinnedThreadsAreTaken) {
  EXPECT_EQ(InChild([] {
              const counters::SamplerOptions options = Options();
              RecordingSink* events = g_events;
              if (!counters::StartSampler(options)) return 1;
              std::this_thread::sleep_for(std::chrono::milliseconds(400));
              Connection connection = Connect("", "");
              counters::NoteNewConnections();
              counters::NotePinnedThread(static_cast<std::uint32_t>(gettid()));
              std::this_thread::sleep_for(std::chrono::milliseconds(400));
              counters::StopSampler(2000);
              if (events->All<trace::TcpConnection>().size() != 2) return 2;
              Close(&connection);
              bool pinned = false;
              for (const auto& sample : events->All<trace::ThreadSample>()) {
                pinned |= (sample.flags & trace::kThreadPinned) != 0;
              }
              return pinned ? 0 : 3;
            }),
            0);
}

TEST(SamplerThread, AForkedChildHasNoneMayStartItsOwnAndHoldsNoDescriptors) {
  EXPECT_EQ(InChild([] {
              const auto count_fds = [] {
                int count = 0;
                for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
                  (void)entry;
                  ++count;
                }
                return count;
              };
              const int before = count_fds();
              if (!counters::StartSampler(Options())) return 1;
              std::this_thread::sleep_for(std::chrono::milliseconds(400));
              if (count_fds() <= before) return 2;
              const pid_t child = fork();
              if (child == 0) {
                if (count_fds() != before) _exit(3);
                counters::NoteSlowOperation();
                counters::NotePinnedThread(1);
                counters::StopSampler(100);
                if (!counters::StartSampler(Options())) _exit(4);
                std::this_thread::sleep_for(std::chrono::milliseconds(300));
                counters::StopSampler(2000);
                _exit(0);
              }
              int status = 0;
              waitpid(child, &status, 0);
              counters::StopSampler(2000);
              return status == 0 ? 0 : 10 + WEXITSTATUS(status);
            }),
            0);
}

TEST(SamplerThread, NotesBeforeStartAndAfterStopDoNothing) {
  EXPECT_EQ(InChild([] {
              const auto all = [] {
                counters::NoteSlowOperation();
                counters::NoteNewConnections();
                counters::NotePinnedThread(1);
                sockaddr_storage address{};
                counters::NotePeer(reinterpret_cast<const sockaddr*>(&address));
                counters::ForgetSamplerAfterFork();
              };
              all();
              if (!counters::StartSampler(Options())) return 1;
              counters::StopSampler(2000);
              all();
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace chokepoint::tests
