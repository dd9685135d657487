// The host as a whole: CPU time, network receive work, memory, pressure. Read by the host's leader.
// Must not look at single processes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/cgroup.h"
#include "counters/round.h"

namespace chokepoint::counters {

// /proc/stat: every ten seconds, its cost grows with the machine.
class CpuReader {
 public:
  static constexpr std::size_t kMost = 1024;  // CPUs that are told apart

  void Init() noexcept { file_.SetPath("/proc/stat"); }
  void Sample(const Round& round) noexcept;
  void Close(SysTree* tree) noexcept { file_.Close(tree); }

 private:
  struct Cpu {
    std::uint32_t softirq = 0;
    std::uint32_t idle = 0;
    std::uint32_t total = 0;
  };
  void ReadCpuLine(std::string_view name, std::string_view numbers,
                   trace::CpuSample* sample) noexcept;

  SysFile file_;
  Presence presence_;
  std::uint64_t previous_ns_ = 0;
  Cpu cpus_[kMost];
};

// /proc/net/softnet_stat.
class SoftnetReader {
 public:
  void Init() noexcept { file_.SetPath("/proc/net/softnet_stat"); }
  void Sample(const Round& round) noexcept;
  void Close(SysTree* tree) noexcept { file_.Close(tree); }

 private:
  SysFile file_;
  Presence presence_;
  std::uint32_t trouble_[CpuReader::kMost] = {};  // drops and squeezes of each CPU
};

// /proc/meminfo, /proc/vmstat, and the cgroup's memory.
class MemoryReader {
 public:
  void Init(const CgroupPaths& cgroup) noexcept;
  void Sample(const Round& round) noexcept;
  void Close(SysTree* tree) noexcept;

 private:
  void ReadCgroup(const Round& round, trace::MemorySample* sample) noexcept;
  std::uint64_t ReadLimit(const Round& round) noexcept;

  SysFile meminfo_, vmstat_, used_, failures_;
  char limit_path_[128] = {};
  bool v2_ = false;
  Presence meminfo_presence_, vmstat_presence_, cgroup_presence_;
};

// /proc/pressure/*, and the same files of the cgroup.
class PressureReader {
 public:
  void Init(const CgroupPaths& cgroup) noexcept;
  void Sample(const Round& round) noexcept;
  void Close(SysTree* tree) noexcept;

 private:
  struct Scope {
    SysFile cpu, io, memory;
    Presence presence;
  };
  void SampleScope(const Round& round, Scope* scope, trace::PressureScope name) noexcept;

  Scope host_, cgroup_;
};

}  // namespace chokepoint::counters
