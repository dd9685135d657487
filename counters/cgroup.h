// Where the CPU and memory limits of this process are: cgroup v2, v1, and the mixture of both.
// Must not watch them: it finds paths, once.
#pragma once

#include <cstddef>

#include "counters/sysfs.h"

namespace chokepoint::counters {

struct CgroupPaths {
  bool cpu_v2 = false;
  bool memory_v2 = false;
  bool has_quota = false;  // a CPU quota is in force at `cpu`
  char cpu[112] = {};      // directory that holds cpu.stat; "" = none
  char memory[112] = {};  // directory that holds memory.current or memory.usage_in_bytes; "" = none
  char pressure[112] = {};  // directory that holds cpu.pressure; "" = none
  char quota[48] = {};      // the quota as the kernel says it: "200000 100000"
};

// The cgroup nearest to the process that limits it, else its own one. Inside a container its path
// may not exist: then the root of what is mounted is the container's own.
void FindCgroup(SysTree* tree, CgroupPaths* out) noexcept;

}  // namespace chokepoint::counters
