// The recorder in ordinary processes: one thread, many, too fast, forked, exiting in every way.
// Must not test broken surroundings: see surroundings_test.cc.
#include "trace/recorder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>

#include "tests/trace/scenario.h"
#include "trace/recorder.h"

namespace chokepoint::trace {
namespace {

using tests::ExpectSequence;
using tests::Numbered;
namespace fs = std::filesystem;

class Recorder : public tests::Scenario {};

TEST_F(Recorder, WritesWhatIsEmitted) {
  ASSERT_EQ(Run([] {
              if (!Begin(SmallRings())) return 1;
              AddMeta("nccl_version", "2.27.3");
              if (InternName("a name") != InternName("a name")) return 2;
              if (InternLiteral("AllReduce") != 1 || InternLiteral("AllReduce") != 1) return 3;
              for (std::uint64_t i = 0; i < 1000; ++i) {
                CostProbe probe;
                if (!Emit(Numbered(i))) return 4;
              }
              Stop(10'000);
              return *TracePath() == '\0' ? 5 : 0;
            }),
            0);
  const Contents contents = Read(OnlyFile());
  ExpectSequence(contents.numbers.at(0), 1000);
  EXPECT_TRUE(contents.result.ended);
  EXPECT_EQ(contents.result.lost_bytes, 0u);
  EXPECT_EQ(contents.result.missing_blocks, 0u);
  EXPECT_EQ(contents.lost_in_all(), 0u);
  EXPECT_EQ(contents.file->meta("nccl_version"), "2.27.3");
  EXPECT_EQ(contents.file->meta("ring_memory"), "shared");
  EXPECT_EQ(contents.file->name(1), "AllReduce");
  EXPECT_GE(contents.clocks.size(), 2u);
  ASSERT_FALSE(contents.costs.empty());
  EXPECT_EQ(contents.costs.back().calls, 999u) << "the first call found no ring yet";
  EXPECT_GE(contents.costs.back().sampled_calls, 1u);
  EXPECT_GT(contents.costs.back().drain_cpu_ns, 0u);
  EXPECT_TRUE(fs::is_empty(shm_)) << "an orderly stop leaves nothing in shared memory";
}

TEST_F(Recorder, DoesNothingWhenDisabled) {
  Set("CHOKEPOINT_DISABLE", "1");
  ASSERT_EQ(Run([] {
              if (Configure(SmallRings()) || Start(0, 1) || Recording()) return 1;
              if (Emit(Numbered(0)) || InternName("x") != 0 || Board() != nullptr) return 2;
              Stop(1000);
              return Flush(1000) ? 3 : 0;
            }),
            0);
  EXPECT_TRUE(Files(".cpt").empty());
  EXPECT_TRUE(fs::is_empty(shm_));
  EXPECT_FALSE(fs::exists(traces()));
}

std::size_t CountThreads() {
  const fs::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST_F(Recorder, CreatesNothingBeforeStart) {
  ASSERT_EQ(Run([] {
              const std::size_t threads = CountThreads();
              Configure(SmallRings());
              if (Emit(Numbered(0)) || InternName("x") != 0 || Recording()) return 1;
              return CountThreads() == threads ? 0 : 2;
            }),
            0);
  EXPECT_FALSE(fs::exists(traces()));
  EXPECT_TRUE(fs::is_empty(shm_));
}

TEST_F(Recorder, KeepsErrno) {
  ASSERT_EQ(Run([] {
              errno = 4242;
              if (!Begin(SmallRings())) return 1;
              for (std::uint64_t i = 0; i < 10'000; ++i) Emit(Numbered(i));
              InternName("name");
              AddMeta("key", "value");
              Flush(5000);
              Stop(5000);
              return errno == 4242 ? 0 : 2;
            }),
            0);
}

// Sums are exact whatever the speed: each record is in the file or counted.
TEST_F(Recorder, CountsWhatItDrops) {
  constexpr std::uint64_t kRecords = 200'000;
  ASSERT_EQ(Run([] {
              RecorderOptions options = SmallRings();
              options.ring_bytes = 4096;
              if (!Begin(options)) return 1;
              for (std::uint64_t i = 0; i < kRecords; ++i) Emit(Numbered(i));
              Stop(10'000);
              return 0;
            }),
            0);
  const Contents contents = Read(OnlyFile());
  EXPECT_EQ(contents.count() + contents.lost.at(LossReason::kRingFull), kRecords);
  EXPECT_EQ(contents.lost_bytes_of_records, contents.lost_in_all() * sizeof(CommunicatorEnd));
  const auto& numbers = contents.numbers.at(0);
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
}

TEST_F(Recorder, ManyThreadsEachInOrder) {
  constexpr std::uint32_t kThreads = 8;
  constexpr std::uint64_t kRecords = 20'000;
  ASSERT_EQ(Run([] {
              RecorderOptions options = SmallRings();
              options.ring_bytes = 2 << 20;
              options.max_rings = 16;
              if (!Begin(options)) return 1;
              std::vector<std::thread> threads;
              for (std::uint32_t t = 1; t <= kThreads; ++t) {
                threads.emplace_back([t] {
                  const std::string name = "thread " + std::to_string(t % 3);
                  for (std::uint64_t i = 0; i < kRecords; ++i) {
                    Emit(Numbered(i, t));
                    if (i % 1000 == 0) InternName(name.c_str());
                    if (i % 1000 == 0) InternLiteral("a literal");
                  }
                });
              }
              for (std::thread& thread : threads) thread.join();
              Stop(20'000);
              return 0;
            }),
            0);
  const Contents contents = Read(OnlyFile());
  EXPECT_EQ(contents.lost_in_all(), 0u);
  std::set<std::uint32_t> tids;
  for (std::uint32_t t = 1; t <= kThreads; ++t) {
    ExpectSequence(contents.numbers.at(t), kRecords);
    const auto& of = contents.linux_threads.at(t);
    EXPECT_EQ(std::set<std::uint32_t>(of.begin(), of.end()).size(), 1u);
    tids.insert(of[0]);
  }
  EXPECT_EQ(tids.size(), kThreads);
}

// 1,000 threads, one after the other and in crowds, need a handful of rings; every record has its
// thread's number.
TEST_F(Recorder, ReusesRingsOfEndedThreads) {
  constexpr std::uint32_t kThreads = 1000;
  ASSERT_EQ(Run([] {
              if (!Begin(SmallRings())) return 1;
              for (std::uint32_t t = 0; t < kThreads; t += 4) {
                std::vector<std::thread> crowd;
                for (std::uint32_t k = 0; k < 4; ++k) {
                  crowd.emplace_back([id = t + k + 1] {
                    for (std::uint64_t i = 0; i < 5; ++i) Emit(Numbered(i, id));
                  });
                }
                for (std::thread& thread : crowd) thread.join();
              }
              Stop(20'000);
              return 0;
            }),
            0);
  const Contents contents = Read(OnlyFile());
  EXPECT_EQ(contents.count() + contents.lost_in_all(), kThreads * 5u);
  EXPECT_EQ(contents.lost_in_all(), 0u);
  for (const auto& [thread, tids] : contents.linux_threads) {
    EXPECT_EQ(std::set<std::uint32_t>(tids.begin(), tids.end()).size(), 1u) << thread;
  }
}

TEST_F(Recorder, CountsThreadsWithoutARing) {
  ASSERT_EQ(Run([] {
              RecorderOptions options = SmallRings();
              options.max_rings = 2;
              if (!Begin(options)) return 1;
              Emit(Numbered(0, 1));
              std::thread second([] {
                Emit(Numbered(0, 2));
                std::thread third([] {
                  for (std::uint64_t i = 0; i < 100; ++i) Emit(Numbered(i, 3));
                });
                third.join();
              });
              second.join();
              Stop(10'000);
              return 0;
            }),
            0);
  const Contents contents = Read(OnlyFile());
  EXPECT_EQ(contents.count(), 2u);
  EXPECT_EQ(contents.lost.at(LossReason::kNoRing), 100u);
}

TEST_F(Recorder, FlushPutsEverythingIntoTheFile) {
  const pid_t child = Spawn([] {
    if (!Begin(SmallRings())) return 1;
    for (std::uint64_t i = 0; i < 500; ++i) Emit(Numbered(i));
    if (!Flush(10'000)) return 2;
    kill(getpid(), SIGKILL);
    return 3;
  });
  ASSERT_EQ(Wait(child), -SIGKILL);
  const Contents contents = Read(OnlyFile());
  ExpectSequence(contents.numbers.at(0), 500);
  EXPECT_FALSE(contents.result.ended);
}

TEST_F(Recorder, StopsAtExitWithoutBeingAsked) {
  const pid_t child = Spawn([] {
    if (!Begin(SmallRings())) return 1;
    for (std::uint64_t i = 0; i < 500; ++i) Emit(Numbered(i));
    std::exit(0);
  });
  ASSERT_EQ(Wait(child), 0);
  const Contents contents = Read(OnlyFile());
  ExpectSequence(contents.numbers.at(0), 500);
  EXPECT_TRUE(contents.result.ended);
}

TEST_F(Recorder, SurvivesStopWhileOthersEmit) {
  ASSERT_EQ(Run([] {
              if (!Begin(SmallRings())) return 1;
              std::atomic<bool> run{true};
              std::vector<std::thread> threads;
              for (std::uint32_t t = 1; t <= 4; ++t) {
                threads.emplace_back([t, &run] {
                  for (std::uint64_t i = 0; run.load(); ++i) Emit(Numbered(i, t));
                });
              }
              std::vector<std::thread> stoppers;
              for (int i = 0; i < 3; ++i) stoppers.emplace_back([] { Stop(10'000); });
              for (std::thread& thread : stoppers) thread.join();
              const bool recording = Recording();
              run = false;
              for (std::thread& thread : threads) thread.join();
              return recording ? 2 : 0;
            }),
            0);
  const Contents contents = Read(OnlyFile());
  EXPECT_TRUE(contents.result.ended);
  for (const auto& [thread, numbers] : contents.numbers) {
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  }
}

// A forked child records into its own file, with the names and META that it knew before; the parent
// is not disturbed.
TEST_F(Recorder, ForkedChildrenRecordOnTheirOwn) {
  ASSERT_EQ(Run([] {
              if (!Begin(SmallRings())) return 1;
              AddMeta("said_once", "yes");
              const std::uint32_t name = InternName("known before the fork");
              Emit(Numbered(0, 1));
              for (std::uint32_t child = 2; child < 5; ++child) {
                const pid_t pid = fork();
                if (pid == 0) {
                  for (std::uint64_t i = 0; i < 100; ++i) Emit(Numbered(i, child));
                  const bool same = InternName("known before the fork") == name;
                  Stop(10'000);
                  _exit(same ? 0 : 9);
                }
                if (Wait(pid) != 0) return 2;
              }
              const pid_t silent = fork();
              if (silent == 0) _exit(0);
              Wait(silent);
              for (std::uint64_t i = 1; i < 100; ++i) Emit(Numbered(i, 1));
              Stop(10'000);
              return 0;
            }),
            0);
  std::set<std::uint32_t> seen;
  const auto files = Files(".cpt");
  ASSERT_EQ(files.size(), 4u) << "a child that records nothing leaves nothing";
  for (const std::string& path : files) {
    const Contents contents = Read(path);
    ASSERT_EQ(contents.numbers.size(), 1u) << path;
    const auto& [thread, numbers] = *contents.numbers.begin();
    ExpectSequence(numbers, 100);
    seen.insert(thread);
    EXPECT_TRUE(contents.result.ended);
    EXPECT_EQ(contents.file->meta("said_once"), "yes");
    EXPECT_EQ(contents.file->meta("pid"), std::to_string(contents.file->header().pid));
  }
  EXPECT_EQ(seen, (std::set<std::uint32_t>{1, 2, 3, 4}));
  EXPECT_TRUE(fs::is_empty(shm_));
}

TEST_F(Recorder, ForkFromAProcessOfManyThreads) {
  ASSERT_EQ(Run([] {
              if (!Begin(SmallRings())) return 1;
              std::atomic<bool> run{true};
              std::thread busy([&run] {
                for (std::uint64_t i = 0; run.load(); ++i) Emit(Numbered(i, 1));
              });
              int result = 0;
              for (int i = 0; i < 20; ++i) {
                const pid_t pid = fork();
                if (pid == 0) {
                  Emit(Numbered(0, 2));
                  Stop(10'000);
                  _exit(0);
                }
                if (Wait(pid) != 0) result = 2;
              }
              run = false;
              busy.join();
              Stop(10'000);
              return result;
            }),
            0);
  int children = 0;
  for (const std::string& path : Files(".cpt")) {
    const Contents contents = Read(path);
    children += contents.numbers.count(2) != 0 ? 1 : 0;
  }
  EXPECT_EQ(children, 20);
}

// An operation that is open for long is written while it is open, and again when the process stops.
TEST_F(Recorder, ShowsOpenOperations) {
  const auto claim = [](std::uint64_t id) {
    BoardSlot& slot = Board()[id % BoardSlots()];
    Collective collective;
    collective.flags = kOperationOpen;
    collective.sequence = static_cast<std::uint32_t>(id);
    std::memcpy(slot.record, &collective, sizeof(collective));
    slot.opened_ticks.store(NowTicks());
    slot.id.store(id);
  };
  ASSERT_EQ(Run([&] {
              if (!Begin(SmallRings()) || Board() == nullptr) return 1;
              claim(7);
              usleep(2'600'000);
              claim(8);
              Stop(10'000);
              return 0;
            }),
            0);
  const Contents contents = Read(OnlyFile());
  std::map<std::uint32_t, int> seen;
  for (const Collective& collective : contents.open) ++seen[collective.sequence];
  EXPECT_EQ(seen[7], 2) << "after one second, and at the end";
  EXPECT_EQ(seen[8], 1);
}

TEST_F(Recorder, NamesRunOutCounted) {
  ASSERT_EQ(Run([] {
              if (!Begin(SmallRings())) return 1;
              std::uint32_t refused = 0;
              for (int i = 0; i < 3000; ++i) {
                const std::string name(40, static_cast<char>('a' + i % 26));
                refused += InternName((name + std::to_string(i)).c_str()) == 0 ? 1 : 0;
              }
              if (InternName(nullptr) != 0) return 2;
              const std::string long_name(5000, 'x');
              AddMeta("refused", std::to_string(refused).c_str());
              Stop(10'000);
              return refused > 0 ? 0 : 3;
            }),
            0);
  const Contents contents = Read(OnlyFile());
  EXPECT_EQ(std::to_string(contents.lost.at(LossReason::kNamesFull)),
            contents.file->meta("refused"));
}

}  // namespace
}  // namespace chokepoint::trace
