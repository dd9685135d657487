// Block devices and NFS mounts, as the kernel counts them.
// Must not touch a file on any of them: a hung server must not hang us.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/round.h"

namespace chokepoint::counters {

// /proc/diskstats: whole disks only, and only when they have moved.
class DiskReader {
 public:
  static constexpr std::size_t kMost = 64;

  void Init() noexcept { file_.SetPath("/proc/diskstats"); }
  void Sample(const Round& round) noexcept;
  void Close(SysTree* tree) noexcept { file_.Close(tree); }

 private:
  struct Disk {
    char name[32] = {};
    bool whole = false;
    std::uint64_t written_operations = 0;  // reads + writes + flushes in the latest record
    bool recorded = false;
  };
  Disk* FindOrAdd(const Round& round, std::string_view name) noexcept;
  void ReadLine(const Round& round, std::string_view line) noexcept;

  SysFile file_;
  Presence presence_;
  Disk disks_[kMost];
  std::size_t count_ = 0;
};

// /proc/self/mountstats, NFS mounts: every ten seconds, when they have moved.
class MountReader {
 public:
  static constexpr std::size_t kMost = 32;

  void Init() noexcept { file_.SetPath("/proc/self/mountstats"); }
  void Sample(const Round& round) noexcept;
  void Close(SysTree* tree) noexcept { file_.Close(tree); }

 private:
  void Finish(const Round& round, trace::MountSample* sample) noexcept;

  SysFile file_;
  Presence presence_;
  struct Mount {
    std::uint32_t name = 0;
    std::uint64_t written_operations = 0;
  };
  Mount mounts_[kMost];
  std::size_t count_ = 0;
};

}  // namespace chokepoint::counters
