// Processes that die without a word: what they had recorded is found again, once and in order.
// Must not rely on luck: each claim is checked against what the dying process said in shared
// memory.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/trace/scenario.h"
#include "trace/clock.h"

namespace chokepoint::trace {
namespace {

using tests::ExpectSequence;
using tests::Numbered;
namespace fs = std::filesystem;

class Salvage : public tests::Scenario {
 protected:
  static RecorderOptions Options() {
    RecorderOptions options = SmallRings();
    options.ring_bytes = 1 << 20;
    return options;
  }
  // Emits numbers, slowly enough that nothing is dropped, and says in `done` how many it has
  // emitted.
  static int EmitForEver(std::atomic<std::uint64_t>* done) {
    for (std::uint64_t i = 0;; ++i) {
      if (!Emit(Numbered(i))) return 2;
      done->store(i + 1, std::memory_order_release);
      if (i % 256 == 255) usleep(200);
    }
  }
};

// Waits until the child has emitted `count` records; false when it ended first.
bool EmitsAtLeast(std::uint64_t count, const std::atomic<std::uint64_t>* done, pid_t child) {
  siginfo_t ended{};
  while (done->load() < count) {
    if (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) != 0)
      return false;
    if (ended.si_pid == child) return false;
    usleep(100);
  }
  return true;
}

std::atomic<std::uint64_t>* SharedCounter() {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (memory) std::atomic<std::uint64_t>(0);
}

// kill -9 at 30 random moments, in the first milliseconds and later: at most the record being
// written is lost, none is doubled.
TEST_F(Salvage, NothingIsLostByKill) {
  std::mt19937 random(20240607);
  std::atomic<std::uint64_t>* done = SharedCounter();
  for (int round = 0; round < 30; ++round) {
    done->store(0);
    const pid_t child = Spawn([&] { return Begin(Options()) ? EmitForEver(done) : 1; });
    ASSERT_TRUE(EmitsAtLeast(1, done, child));
    const auto longest_us = round % 3 == 0 ? 3'000u : 400'000u;
    usleep(static_cast<unsigned>(random() % longest_us));
    kill(child, SIGKILL);
    ASSERT_EQ(Wait(child), -SIGKILL);
    const std::uint64_t emitted = done->load();
    const bool moved = round % 2 == 0;
    if (moved) SalvageRingFiles(traces());
    // Killed before it had a trace file, a process leaves its ring file only.
    const auto files = Files(".cpt");
    std::string path;
    if (files.empty()) {
      for (const auto& entry : fs::directory_iterator(shm_)) path = entry.path().string();
    } else {
      path = files[0];
    }
    const Contents contents = Read(path, !files.empty());
    ASSERT_TRUE(contents.numbers.contains(0)) << "round " << round;
    const auto& numbers = contents.numbers.at(0);
    ASSERT_GE(numbers.size(), emitted) << "round " << round;
    ASSERT_LE(numbers.size(), emitted + 1) << "round " << round;
    ExpectSequence(numbers, numbers.size());
    EXPECT_FALSE(contents.result.ended);
    fs::remove_all(traces());
    for (const auto& entry : fs::directory_iterator(shm_)) fs::remove(entry.path());
  }
}

TEST_F(Salvage, NamesMetaAndOpenOperationsAreFound) {
  const pid_t child = Spawn([] {
    if (!Begin(Options()) || !Flush(10'000)) return 1;
    const std::uint32_t name = InternName("interned after the last drain");
    AddMeta("late", "fact");
    BoardSlot& slot = Board()[5];
    Collective collective;
    collective.flags = kOperationOpen;
    collective.sequence = 55;
    std::memcpy(slot.record, &collective, sizeof(collective));
    slot.id.store(5);
    Emit(Numbered(0, name));
    kill(getpid(), SIGKILL);
    return 2;
  });
  ASSERT_EQ(Wait(child), -SIGKILL);
  const auto found = FindRingFiles(traces());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].process_alive);
  EXPECT_EQ(found[0].pid, static_cast<std::uint32_t>(child));
  EXPECT_EQ(found[0].trace_path, OnlyFile());
  const Contents contents = Read(OnlyFile(), true);
  ASSERT_EQ(contents.numbers.size(), 1u);
  EXPECT_EQ(contents.file->name(contents.numbers.begin()->first), "interned after the last drain");
  EXPECT_EQ(contents.file->meta("late"), "fact");
  ASSERT_EQ(contents.open.size(), 1u);
  EXPECT_EQ(contents.open[0].sequence, 55u);
}

// Drops that no LOSS record has told are told by the ring file.
TEST_F(Salvage, WhatWasDroppedIsCounted) {
  constexpr std::uint64_t kRecords = 20'000;
  const pid_t child = Spawn([] {
    RecorderOptions options = SmallRings();
    options.ring_bytes = 4096;
    if (!Begin(options) || !Flush(10'000)) return 1;
    for (std::uint64_t i = 0; i < kRecords; ++i) Emit(Numbered(i));
    CountBoardFull();
    kill(getpid(), SIGKILL);
    return 2;
  });
  ASSERT_EQ(Wait(child), -SIGKILL);
  Contents contents = Read(OnlyFile(), true);
  EXPECT_EQ(contents.count() + contents.lost[LossReason::kRingFull], kRecords);
  EXPECT_EQ(contents.lost[LossReason::kBoardFull], 1u);
}

// Killed between creating its file and writing into it, a process has its ring file only.
TEST_F(Salvage, AnEmptyTraceIsReadFromItsRing) {
  const pid_t child = Spawn([] {
    if (!Begin(Options()) || !Flush(10'000)) return 1;
    for (std::uint64_t i = 0; i < 10; ++i) Emit(Numbered(i));
    kill(getpid(), SIGKILL);
    return 2;
  });
  ASSERT_EQ(Wait(child), -SIGKILL);
  const std::string path = OnlyFile();
  for (const std::uintmax_t bytes : {63u, 8u, 0u, 50u, 500u}) {
    fs::resize_file(path, bytes);
    ExpectSequence(Read(path, true).numbers.at(0), 10);
  }
}

// The next process of the same user moves what is left, and leaves a living one alone.
TEST_F(Salvage, TheNextProcessMovesStaleRings) {
  std::atomic<std::uint64_t>* done = SharedCounter();
  const auto dead =
      Spawn([&] { return Begin(Options()) && Flush(10'000) ? EmitForEver(done) : 1; });
  ASSERT_TRUE(EmitsAtLeast(100, done, dead));
  kill(dead, SIGKILL);
  Wait(dead);
  const std::uint64_t emitted = done->load();
  done->store(0);
  const auto living =
      Spawn([&] { return Begin(Options()) && Flush(10'000) ? EmitForEver(done) : 1; });
  ASSERT_TRUE(EmitsAtLeast(100, done, living));
  ASSERT_EQ(Run([] {
              if (!Begin(Options())) return 1;
              Emit(Numbered(0));
              Flush(10'000);
              Flush(10'000);  // the stale files are looked for after the first pass
              Stop(10'000);
              return 0;
            }),
            0);
  const auto rings = Files(".ring");
  ASSERT_EQ(rings.size(), 1u);
  EXPECT_EQ(FindRingFiles(traces()).size(), 1u) << "of the living one";
  EXPECT_TRUE(FindRingFiles(traces())[0].process_alive);
  EXPECT_EQ(SalvageRingFiles(traces()), 0u);
  const std::string trace = rings[0].substr(0, rings[0].size() - 5);
  const Contents contents = Read(trace, true);
  EXPECT_GE(contents.numbers.at(0).size(), emitted);
  ExpectSequence(contents.numbers.at(0), contents.numbers.at(0).size());
  kill(living, SIGKILL);
  Wait(living);
}

// A new program in the same process: the old image's ring file is not in use any more.
TEST_F(Salvage, ExecLeavesARingThatIsMoved) {
  ASSERT_EQ(Run([] {
              if (!Begin(Options())) return 1;
              for (std::uint64_t i = 0; i < 10; ++i) Emit(Numbered(i));
              Flush(10'000);
              for (std::uint64_t i = 10; i < 20; ++i) Emit(Numbered(i));
              execl("/bin/true", "true", nullptr);
              return 2;
            }),
            0);
  EXPECT_EQ(SalvageRingFiles(traces()), 1u);
  ExpectSequence(Read(OnlyFile(), true).numbers.at(0), 20);
}

TEST_F(Salvage, ForgedRingFilesAreSurvived) {
  const pid_t child = Spawn([] {
    RecorderOptions options = SmallRings();
    options.ring_bytes = 4096;
    options.names_bytes = 4096;
    if (!Begin(options)) return 1;
    InternName("name");
    for (std::uint64_t i = 0; i < 20; ++i) Emit(Numbered(i));
    Flush(10'000);
    Emit(Numbered(20));
    kill(getpid(), SIGKILL);
    return 2;
  });
  ASSERT_EQ(Wait(child), -SIGKILL);
  const std::string ring = FindRingFiles(traces()).at(0).ring_path;
  std::ostringstream original;
  original << std::ifstream(ring, std::ios::binary).rdbuf();
  const std::string trace = OnlyFile();
  const std::string forged_path = shm_ + "/forged";  // hundreds of files: fast
  for (std::size_t at = 0; at < 400; ++at) {
    for (const char value : {'\0', '\x01', '\x7f', '\xff'}) {
      std::string forged = original.str();
      forged[at] = value;
      std::ofstream(forged_path, std::ios::binary | std::ios::trunc) << forged;
      std::unique_ptr<TraceFile> file;
      ASSERT_TRUE(TraceFile::Open(trace, &file).ok());
      if (!file->AttachRing(forged_path).ok()) continue;
      std::uint64_t events = 0;
      file->Read([&](const EventView&) { ++events; });
      ASSERT_LT(events, 100'000u);
    }
  }
  for (std::size_t bytes = 0; bytes < original.str().size(); bytes += 997) {
    std::ofstream(forged_path, std::ios::binary | std::ios::trunc)
        << original.str().substr(0, bytes);
    std::unique_ptr<TraceFile> file;
    ASSERT_TRUE(TraceFile::Open(trace, &file).ok());
    if (!file->AttachRing(forged_path).ok()) continue;
    file->Read([](const EventView&) {});
  }
}

}  // namespace
}  // namespace chokepoint::trace
