// The trace file stays within its limit, keeps its beginning and its newest window, and counts what
// it gives up. Must not look into the writer: only the file speaks.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/trace/scenario.h"

namespace chokepoint::trace {
namespace {

using tests::Numbered;
namespace fs = std::filesystem;

std::uint64_t g_drained = 0;

RecorderOptions Options() {
  RecorderOptions options;
  options.ring_bytes = 256 * 1024;
  options.max_rings = 4;
  options.names_bytes = 32 * 1024;
  options.on_drained = [](const void*) noexcept { ++g_drained; };
  options.write_summary = [](void (*write)(const void*, std::size_t, void*),
                             void* argument) noexcept {
    OperationSummary summary;
    summary.operations = g_drained;
    write(&summary, sizeof(summary), argument);
  };
  return options;
}

class SizeLimit : public tests::Scenario {};

TEST_F(SizeLimit, CountsExactlyWhatItGivesUp) {
  constexpr std::uint64_t kRecords = 400'000;  // 6.4 MB in a file of 0.5 MB
  Set("CHOKEPOINT_MAX_MB", "0.5");
  ASSERT_EQ(Run([] {
              if (!Begin(Options())) return 1;
              std::mt19937 random(3);
              std::uint64_t next_flush = 10;
              for (std::uint64_t i = 0; i < kRecords; ++i) {
                if (!Emit(Numbered(i))) return 2;
                if (i % 40'000 == 0) InternName(("name " + std::to_string(i)).c_str());
                if (i < next_flush) continue;
                if (!Flush(10'000)) return 3;
                next_flush = i + 1 + random() % (i % 3 == 0 ? 20 : 5000);
              }
              Stop(10'000);
              return g_drained == kRecords ? 0 : 4;
            }),
            0);
  EXPECT_LE(fs::file_size(OnlyFile()), 500'000u);
  Contents contents = Read(OnlyFile());
  const auto& numbers = contents.numbers.at(0);
  EXPECT_EQ(contents.lost.size(), 1u);
  EXPECT_EQ(numbers.size() + contents.lost[LossReason::kSizeLimit], kRecords);
  EXPECT_EQ(contents.lost_bytes_of_records,
            contents.lost[LossReason::kSizeLimit] * sizeof(CommunicatorEnd));
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  EXPECT_EQ(numbers.front(), 0u) << "the beginning stays";
  EXPECT_EQ(numbers.back(), kRecords - 1) << "the newest is there";
  EXPECT_GT(contents.result.missing_blocks, 0u);
  EXPECT_EQ(contents.result.lost_bytes, 0u) << "what is given up leaves no damage";
  EXPECT_TRUE(contents.result.ended);
  EXPECT_GE(contents.clocks.size(), 3u);
  std::set<std::string> names;
  for (std::uint32_t id = 256; id < 256 + 4096; ++id)
    names.insert(std::string(contents.file->name(id)));
  for (std::uint64_t i = 0; i < kRecords; i += 40'000)
    EXPECT_TRUE(names.contains("name " + std::to_string(i)));
  std::uint64_t total = 0;
  contents.file->Read([&](const EventView& view) {
    OperationSummary summary;
    if (contents.file->Decode(view, &summary)) total = summary.operations;
  });
  EXPECT_EQ(total, kRecords);
}

TEST_F(SizeLimit, AKilledProcessHasANewestWindowToo) {
  Set("CHOKEPOINT_MAX_MB", "0.5");
  constexpr std::uint64_t kRecords = 200'000;
  const pid_t child = Spawn([] {
    if (!Begin(Options())) return 1;
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      if (!Emit(Numbered(i))) return 2;
      if (i % 4000 == 3999 && !Flush(10'000)) return 3;
    }
    kill(getpid(), SIGKILL);
    return 4;
  });
  ASSERT_EQ(Wait(child), -SIGKILL);
  Contents contents = Read(OnlyFile(), true);
  EXPECT_EQ(contents.numbers.at(0).back(), kRecords - 1);
  EXPECT_EQ(contents.numbers.at(0).size() + contents.lost[LossReason::kSizeLimit], kRecords);
}

}  // namespace
}  // namespace chokepoint::trace
