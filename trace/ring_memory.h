// The memory that the rings, names and board of this process live in: one file in shared memory,
// else private memory. Must not let a store fault: space is reserved before it is mapped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/format.h"
#include "trace/ring_file.h"

namespace chokepoint::trace {

inline constexpr std::size_t kMaxRingsOfProcess = 1024;
// Rings in private memory have numbers from here: no ring file holds them.
inline constexpr std::uint32_t kFirstPrivateRing = 0x10000;

struct RingMemoryLayout {
  Writer writer = Writer::kNccl;
  std::uint8_t file_id[16] = {};
  std::uint64_t start_realtime_ns = 0;
  std::size_t ring_bytes = 0;
  std::size_t max_rings = 0;
  std::size_t names_bytes = 0;
  std::size_t meta_bytes = 0;
  std::size_t board_slots = 0;
  std::size_t board_slot_bytes = 0;
  std::size_t board_record_offset = 0;
  std::size_t board_record_bytes = 0;
};

class RingMemory {
 public:
  // `directory`: a tmpfs, or "none". False when there is no memory at all.
  bool Create(const RingMemoryLayout& layout, const char* directory) noexcept;
  // One more ring, owned by `thread`; null when there is no memory or there are enough. Any thread,
  // several at once.
  RingHeader* AddRing(std::uint32_t thread) noexcept;
  // Lets a salvager find the trace file.
  void SetTracePath(const char* path) noexcept;
  // Removes the file; the memory stays mapped, as other threads may be writing.
  void RemoveFile() noexcept;
  // In a forked child: the parent's memory is not ours.
  void ForgetInChild() noexcept;

  RingFileHeader* header() const noexcept { return header_; }
  std::byte* At(std::uint64_t offset) const noexcept {
    return reinterpret_cast<std::byte*>(header_) + offset;
  }
  // Rings have indices below this.
  std::uint32_t ring_count() const noexcept {
    const std::uint32_t count = ring_count_.load(std::memory_order_acquire);
    return count < max_rings_ ? count : max_rings_;
  }
  // null while it is being made, and for good when there was no memory for it.
  RingHeader* ring(std::uint32_t index) const noexcept {
    return rings_[index].load(std::memory_order_acquire);
  }
  static std::byte* DataOf(RingHeader* ring) noexcept {
    return reinterpret_cast<std::byte*>(ring) + kRingDataOffset;
  }
  // The descriptor of the file; -1 when there is none, or when its number is the program's by now.
  int descriptor() const noexcept { return StillOurFile() ? fd_ : -1; }
  bool shared() const noexcept { return file_path_[0] != '\0'; }
  const char* file_path() const noexcept { return file_path_; }

 private:
  std::byte* CreateFile(const RingMemoryLayout& layout, const char* directory,
                        std::size_t bytes) noexcept;
  bool Reserve(std::uint64_t offset, std::uint64_t bytes) noexcept;
  bool StillOurFile() const noexcept;
  std::byte* MapRing(std::uint32_t index, bool* in_file) noexcept;

  RingFileHeader* header_ = nullptr;
  int fd_ = -1;
  std::uint64_t device_ = 0, inode_ = 0;
  std::uint32_t max_rings_ = 0;
  std::atomic<std::uint32_t> ring_count_{0};
  std::atomic<RingHeader*> rings_[kMaxRingsOfProcess] = {};
  char file_path_[512] = {};
};

}  // namespace chokepoint::trace
