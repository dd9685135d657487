// Files of every released framing are read for ever, and damage to them is survived and accounted
// for. Must not write to tests/golden.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/damage.h"
#include "trace/reader.h"

namespace chokepoint::trace {
namespace {

using tests::BlockPlace;
using tests::Damaged;

const std::string kGolden = std::string(CHOKEPOINT_SOURCE_DIR) + "/tests/golden/format/v1/";

struct Seen {
  Status status;
  ReadResult result;
  std::vector<std::uint32_t> communicators;
};

Seen ReadFile(const std::string& path) {
  Seen seen;
  std::unique_ptr<TraceFile> file;
  seen.status = TraceFile::Open(path, &file);
  if (!seen.status.ok()) return seen;
  seen.result = file->Read([&](const EventView& view) {
    CommunicatorEnd event;
    if (file->Decode(view, &event)) seen.communicators.push_back(event.communicator);
  });
  EXPECT_EQ(seen.result.file_bytes, seen.result.read_bytes + seen.result.lost_bytes);
  std::uint64_t sum = 0;
  for (const Damage& damage : seen.result.damage) sum += damage.bytes;
  EXPECT_EQ(sum, seen.result.lost_bytes);
  return seen;
}

class Golden : public testing::Test {
 protected:
  void SetUp() override {
    path_ =
        "/dev/shm/chokepoint-test-damaged-" + std::to_string(getpid());  // thousands of files: fast
  }
  void TearDown() override { std::filesystem::remove(path_); }
  Seen ReadDamaged(const Damaged& damaged) const {
    damaged.Save(path_);
    return ReadFile(path_);
  }
  std::string path_;
};

using Numbers = std::vector<std::uint32_t>;

TEST_F(Golden, Complete) {
  std::unique_ptr<TraceFile> file;
  ASSERT_TRUE(TraceFile::Open(kGolden + "complete.cpt", &file).ok());
  EXPECT_EQ(file->meta("host"), "node1");
  EXPECT_EQ(file->meta("job_id"), "4711");
  EXPECT_EQ(file->name(1), "AllReduce");
  EXPECT_EQ(file->name(256), "/data/train/shard-0001");
  EXPECT_EQ(file->header().pid, 1000u);
  EXPECT_EQ(file->schema().FindByName("Retired")->fields.at(0).name, "value");
  const Seen seen = ReadFile(kGolden + "complete.cpt");
  EXPECT_EQ(seen.communicators, (Numbers{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(seen.result.ended);
  EXPECT_EQ(seen.result.lost_bytes, 0u);
  EXPECT_EQ(seen.result.unknown_events, 1u);
  EXPECT_EQ(seen.result.missing_blocks, 0u);
}

TEST_F(Golden, Killed) {
  const Seen seen = ReadFile(kGolden + "killed.cpt");
  EXPECT_FALSE(seen.result.ended);
  EXPECT_EQ(seen.communicators, (Numbers{0, 1, 2, 3, 4, 5, 6}))
      << "one record per block: the last block is torn";
  ASSERT_EQ(seen.result.damage.size(), 1u);
  EXPECT_TRUE(seen.result.damage[0].expected);
}

TEST_F(Golden, Wrapped) {
  const Seen seen = ReadFile(kGolden + "wrapped.cpt");
  EXPECT_EQ(seen.communicators, (Numbers{0, 1, 8, 9, 12, 13})) << "by sequence, not by place";
  EXPECT_EQ(seen.result.lost_bytes, 0u);
  EXPECT_GT(seen.result.missing_blocks, 0u);
}

TEST_F(Golden, TruncatedAnywhere) {
  for (const char* leaf : {"complete.cpt", "killed.cpt", "wrapped.cpt"}) {
    const Damaged whole = Damaged::Load(kGolden + leaf);
    const std::size_t events = ReadFile(kGolden + leaf).communicators.size();
    ASSERT_GT(whole.bytes().size(), 1000u);
    for (std::size_t bytes = 0; bytes < whole.bytes().size(); ++bytes) {
      const Seen seen = ReadDamaged(whole.Truncate(bytes));
      if (bytes < sizeof(FileHeader)) {
        EXPECT_FALSE(seen.status.ok());
        continue;
      }
      ASSERT_TRUE(seen.status.ok()) << seen.status.message();
      ASSERT_LE(seen.communicators.size(), events);
      ASSERT_FALSE(seen.result.ended) << bytes;
      for (const Damage& damage : seen.result.damage)
        ASSERT_TRUE(damage.expected || damage.bytes == 0) << bytes;
    }
  }
}

// A changed byte loses its block, nothing else, and the loss is told to the byte.
TEST_F(Golden, OneByteChangedAnywhere) {
  for (const char* leaf : {"complete.cpt", "wrapped.cpt"}) {
    const Damaged whole = Damaged::Load(kGolden + leaf);
    for (const BlockPlace& block : whole.Blocks()) {
      const bool pad = block.kind == BlockKind::kPad;
      const std::uint64_t checked = pad ? sizeof(BlockHeader) : block.used_bytes;
      for (std::uint64_t at = 0; at < block.bytes; ++at) {
        for (const unsigned char mask : {std::uint8_t{0xff}, std::uint8_t{1}}) {
          const Seen seen = ReadDamaged(whole.FlipByte(block.offset + at, mask));
          ASSERT_TRUE(seen.status.ok()) << seen.status.message();
          const std::uint64_t expected = at < checked ? block.bytes : 0;
          // Without its SCHEMA a file is read with today's catalogue, which may not know all of its
          // records.
          if (block.kind == BlockKind::kSchema) {
            ASSERT_GE(seen.result.lost_bytes, expected);
          } else {
            ASSERT_EQ(seen.result.lost_bytes, expected)
                << leaf << " block at " << block.offset << " byte " << at;
          }
        }
      }
    }
    for (std::size_t at = 0; at < sizeof(FileHeader); ++at) {
      const Seen seen = ReadDamaged(whole.FlipByte(at));
      ASSERT_TRUE(seen.status.ok()) << seen.status.message();
      ASSERT_EQ(seen.result.lost_bytes, sizeof(FileHeader)) << at;
    }
  }
}

TEST_F(Golden, ADroppedBlockIsMissed) {
  const Damaged whole = Damaged::Load(kGolden + "complete.cpt");
  const std::size_t blocks = whole.Blocks().size();
  for (std::size_t number = 0; number + 1 < blocks; ++number) {
    const Seen seen = ReadDamaged(whole.DropBlock(number));
    ASSERT_TRUE(seen.status.ok());
    EXPECT_EQ(seen.result.missing_blocks, 1u) << number;
    EXPECT_TRUE(seen.result.ended);
  }
}

TEST_F(Golden, ZerosAreNormal) {
  const Damaged whole = Damaged::Load(kGolden + "killed.cpt");
  const Seen appended = ReadDamaged(Damaged::Load(kGolden + "complete.cpt").AppendZeros(5000));
  ASSERT_EQ(appended.result.damage.size(), 1u);
  EXPECT_EQ(appended.result.damage[0].bytes, 5000u);
  EXPECT_TRUE(appended.result.damage[0].expected);
  EXPECT_EQ(appended.communicators.size(), 6u);
  const BlockPlace third = whole.Blocks().at(3);
  const Seen hole = ReadDamaged(whole.ZeroOut(third.offset, third.bytes));
  EXPECT_EQ(hole.result.damage.at(0).bytes, third.bytes);
  EXPECT_TRUE(hole.result.damage.at(0).expected);
}

// Forged headers with huge lengths and right checksums everywhere: time stays bounded, and nothing
// is allocated for them.
TEST_F(Golden, ForgedHeadersCostLittle) {
  std::string bytes = Damaged::Load(kGolden + "complete.cpt").bytes().substr(0, sizeof(FileHeader));
  BlockHeader forged{};
  forged.magic = kBlockMagic;
  forged.kind = static_cast<std::uint16_t>(BlockKind::kEvents);
  forged.payload_bytes = kMaxBlockPayloadBytes;
  for (int i = 0; i < 100'000; ++i) {
    forged.sequence = static_cast<std::uint32_t>(i);
    bytes.append(reinterpret_cast<const char*>(&forged), sizeof(forged));
  }
  const Seen seen = ReadDamaged(Damaged(bytes));
  EXPECT_EQ(seen.result.lost_bytes, bytes.size() - sizeof(FileHeader));
  EXPECT_TRUE(seen.communicators.empty());
}

}  // namespace
}  // namespace chokepoint::trace
