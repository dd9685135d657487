// Run time and run-queue wait of the threads of this process.
// Must not look at other processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "counters/round.h"

namespace chokepoint::counters {

// schedstat of threads: the critical and the busiest each second, all every ten.
class ThreadReader {
 public:
  static constexpr std::size_t kMost = 512;         // threads that are known
  static constexpr std::size_t kMostFollowed = 24;  // of those, read once a second

  // A thread that matters (NCCL's proxy, the launching thread). From the sampling thread only.
  void Pin(std::uint32_t tid) noexcept;
  // Lists the threads, reads each, chooses those to follow. Every ten seconds.
  void Scan(const Round& round) noexcept;
  // Reads those that are followed.
  void Sample(const Round& round) noexcept;
  void Close(SysTree* tree) noexcept;

 private:
  struct Thread {
    std::uint32_t tid = 0;
    std::uint16_t flags = 0;
    bool seen = false;
    bool followed = false;
    std::uint32_t name = 0;
    std::uint64_t run_ns = 0, wait_ns = 0, slices = 0;
    std::uint64_t written_ns = 0;  // run + wait in the latest record
    std::uint64_t scanned_ns = 0;  // run + wait at the previous scan
    std::uint64_t moved_ns = 0;    // between the last two scans
  };

  Thread* FindOrAdd(std::uint32_t tid) noexcept;
  void ScanOne(const Round& round, std::uint32_t tid) noexcept;
  bool ParseInto(std::string_view text, Thread* thread) noexcept;
  void Record(const Round& round, Thread* thread) noexcept;
  void Follow(const Round& round) noexcept;
  bool IsPinned(std::uint32_t tid) const noexcept;

  static constexpr std::size_t kMostPinned = 64;
  Thread threads_[kMost];
  std::size_t count_ = 0;
  std::uint32_t pinned_[kMostPinned] = {};
  std::size_t pinned_count_ = 0;
  struct Followed {
    std::uint32_t tid = 0;
    SysFile file;
  };
  Followed followed_[kMostFollowed];
  Presence presence_;
};

}  // namespace chokepoint::counters
