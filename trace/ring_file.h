// The layout of a ring file: what a process keeps in shared memory so that its last moments survive
// it. Must not know how it is filled (recorder.cc, ring_memory.cc) or salvaged (ring_image.cc).
//
//   RingFileHeader | schema | meta | names | board | ring 0 | ring 1 | ...
//
// All offsets are bytes from the file's start. A ring is a RingHeader at its start, then
// `ring_bytes` of records kRingDataOffset later. Counters ending in `_used` grow only after the
// bytes below them are complete.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/ring.h"

namespace chokepoint::trace {

inline constexpr std::uint16_t kRingFileVersion = 1;
inline constexpr std::size_t kRingDataOffset = 4096;
inline constexpr std::size_t kRingTracePathBytes = 2048;
inline constexpr std::size_t kRingFileLossReasons = 8;

struct RingFileHeader {
  std::uint64_t magic;  // kRingFileMagic; written last
  std::uint16_t version;
  std::uint16_t writer;  // enum Writer
  std::uint32_t byte_order_mark;
  std::uint8_t file_id[16];
  std::uint32_t pid;
  std::uint32_t uid;
  std::uint64_t process_start;  // field 22 of /proc/<pid>/stat: tells a reused pid
  std::uint64_t
      pid_namespace;  // inode of /proc/self/ns/pid: where `pid` means something; 0 = unknown
  std::uint64_t start_realtime_ns;
  std::uint64_t schema_offset, schema_bytes;
  std::uint64_t meta_offset, meta_bytes;
  std::uint64_t names_offset, names_bytes;
  std::uint64_t board_offset, board_slots, board_slot_bytes, board_record_offset,
      board_record_bytes;
  std::uint64_t rings_offset, ring_stride, ring_bytes;
  std::atomic<std::uint64_t> meta_used;
  std::atomic<std::uint64_t> names_used;
  std::atomic<std::uint32_t> ring_count;
  std::atomic<std::uint32_t> trace_path_set;  // 1 when trace_path is complete
  // By LossReason: what was dropped for reasons of the whole process and the drain has not noted.
  std::atomic<std::uint64_t> lost_events[kRingFileLossReasons];
  std::atomic<std::uint64_t> lost_bytes[kRingFileLossReasons];
  char trace_path[kRingTracePathBytes];  // absolute
};
inline constexpr std::size_t kRingFileHeaderBytes = 4096;
static_assert(sizeof(RingFileHeader) <= kRingFileHeaderBytes);

// An entry of the names arena; `length` bytes of text follow, then zeros to a multiple of 8.
struct NameEntry {
  std::atomic<std::uint32_t> id;  // 0 = not complete yet
  std::atomic<std::uint32_t> length;
};
static_assert(sizeof(NameEntry) == 8);
inline constexpr std::size_t kMaxNameBytes = 1000;
inline constexpr std::uint32_t kFirstNameId = 256;  // below: literals

// Records that exist in rings only; both are 8 bytes and begin with kPadKind.
enum class RingMark : std::uint16_t {
  kPad = 0,    // skip to the ring's end
  kOwner = 1,  // the records that follow are of thread `thread`
};
struct RingMarkRecord {
  std::uint16_t kind = kPadKind;
  std::uint16_t mark = 0;
  std::uint32_t thread = 0;
};
static_assert(sizeof(RingMarkRecord) == 8);

}  // namespace chokepoint::trace
