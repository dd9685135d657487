// The framing of a trace file and of a ring file, as constants and plain structs:
// docs/trace-format.md in code. Must not know what the records mean (events.def) or how they are
// written (writer.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace chokepoint::trace {

inline constexpr std::uint64_t kFileMagic =
    0x31455452'54504b43;                                  // "CKPTRTE1" in the file's byte order
inline constexpr std::uint32_t kBlockMagic = 0x4b4c4243;  // "CBLK"
inline constexpr std::uint64_t kRingFileMagic = 0x31474e52'54504b43;  // "CKPTRNG1"
inline constexpr std::uint32_t kByteOrderMark = 0x01020304;
inline constexpr std::uint16_t kFramingVersion = 1;
inline constexpr std::uint32_t kMaxBlockPayloadBytes = 64 * 1024;
inline constexpr std::uint32_t kMaxPadBytes = 1024 * 1024;
inline constexpr std::size_t kBlockAlignment = 8;

// Which library wrote the file: also the middle of the file's name,
// <host>-rank<N>-<pid>-<start>.{nccl,io}.cpt.
enum class Writer : std::uint16_t { kNccl = 1, kIo = 2 };

// All integers little-endian. At offset 0.
struct FileHeader {
  std::uint64_t magic;
  std::uint16_t framing_version;
  std::uint16_t header_bytes;  // blocks begin here
  std::uint32_t byte_order_mark;
  std::uint8_t file_id[16];  // random: ties a ring file to its trace file
  std::uint16_t writer;      // enum Writer
  std::uint16_t reserved0;
  std::uint32_t pid;
  std::uint64_t start_realtime_ns;
  std::uint64_t reserved1;
  std::uint64_t checksum;  // XXH64, seed 0, of the 56 bytes before it
};
static_assert(sizeof(FileHeader) == 64);

enum class BlockKind : std::uint16_t {
  kMeta = 1,    // text pairs: key NUL value NUL ...
  kSchema = 2,  // what records look like in this file (schema.h)
  kNames = 3,   // u32 id, u16 length, bytes; packed
  kClock = 4,   // records, as in kEvents
  kEvents = 5,  // RecordsHeader, then records
  kLoss = 6,    // records
  kCost = 7,    // records
  kEnd = 8,     // empty: the file was closed in order
  kPad = 9,  // space between blocks after old ones were overwritten; its checksum covers the header
             // only
};

enum BlockFlag : std::uint16_t {
  kBlockSnapshot = 1,  // records of operations still open; they may come again, ended
};

// Before each payload; blocks are 8-byte aligned, the payload is padded with zeros to a multiple
// of 8.
struct BlockHeader {
  std::uint32_t magic;
  std::uint16_t kind;   // enum BlockKind; unknown ones are skipped
  std::uint16_t flags;  // enum BlockFlag
  std::uint32_t
      payload_bytes;  // without padding, at most kMaxBlockPayloadBytes (kPad: kMaxPadBytes)
  std::uint32_t
      sequence;  // 0, 1, 2, ... in order of writing: the order to read in, and a gap is a loss
  std::uint64_t first_ticks;  // no record in it was emitted before; 0 = unknown
  std::uint64_t checksum;     // XXH64, seed 0, of the header with checksum 0, then the payload
};
static_assert(sizeof(BlockHeader) == 32);

// The payload of kEvents, kClock, kLoss and kCost begins so. Records follow, each `u16 kind` first,
// sized by SCHEMA.
struct RecordsHeader {
  std::uint32_t thread;         // Linux thread id; 0 = the recorder itself
  std::uint32_t ring;           // ring number in the ring file; ~0 = not from a ring
  std::uint64_t ring_position;  // of the first record's byte, counted from the ring's creation
  std::uint32_t records;        // how many follow: what is lost when this block is given up
  std::uint32_t reserved0;
};
static_assert(sizeof(RecordsHeader) == 24);
inline constexpr std::uint32_t kNotFromRing = ~std::uint32_t{0};

}  // namespace chokepoint::trace
