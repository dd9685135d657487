// What META says about this process: who, where, when, started by whom.
// Must not record environment values outside the list of job_identity.h.
#pragma once

#include <cstdint>

#include "trace/job_identity.h"

namespace chokepoint::trace {

// Field 22 of /proc/<pid>/stat, 0 when there is no such process. `pid` 0 = this one.
std::uint64_t ProcessStart(std::uint32_t pid) noexcept;
// Inode of this process's pid namespace; 0 = unknown.
std::uint64_t PidNamespace() noexcept;

using MetaSink = void (*)(const char* key, const char* value) noexcept;
// Reads /proc, uname and the environment. Takes some tenths of a millisecond.
void DescribeProcess(const JobIdentity& job, bool redact, MetaSink add) noexcept;

}  // namespace chokepoint::trace
