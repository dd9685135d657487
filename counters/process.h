// What this process uses: CPU, faults, I/O, and the throttling of its cgroup.
// Must not look at other processes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/cgroup.h"
#include "counters/round.h"

namespace chokepoint::counters {

// /proc/self/stat, /proc/self/io, cpu.stat: one ProcessSample a round.
class ProcessReader {
 public:
  void Init(const CgroupPaths& cgroup) noexcept;
  void Sample(const Round& round) noexcept;
  void Close(SysTree* tree) noexcept;

 private:
  void ReadStat(const Round& round, trace::ProcessSample* sample) noexcept;
  void ReadIo(const Round& round, trace::ProcessSample* sample) noexcept;
  void ReadCgroup(const Round& round, trace::ProcessSample* sample) noexcept;

  SysFile stat_, io_, cgroup_;
  Presence stat_presence_, io_presence_, cgroup_presence_;
  bool has_quota_ = false;
};

}  // namespace chokepoint::counters
