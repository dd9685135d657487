// Where the trace file of this process lies, and how it is created.
// Must not follow symbolic links, overwrite a file, or leave the descriptor among the program's low
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/format.h"
#include "trace/job_identity.h"

namespace chokepoint::trace {

inline constexpr std::size_t kPathBytes = 2048;

// What the path is made of, copied when recording starts: the environment may change later.
struct PathParts {
  char directory[kPathBytes / 2];  // absolute, the %-letters of CHOKEPOINT_DIR replaced
  char host[65];
  long rank;  // -1 = unknown
  std::uint32_t pid;
  Writer writer;
};

void FillPathParts(Writer writer, const JobIdentity& job, PathParts* out) noexcept;

struct CreatedFile {
  int fd = -1;     // opened for reading and writing, above the low numbers
  long error = 0;  // -errno of the place that was asked for; 0 = it lies there
  char path[kPathBytes] = {};
};
// Creates <directory>/<host>-rank<N>-<pid>-<start>.{nccl,io}.cpt, else the same leaf below
// /tmp/chokepoint-<uid>.
bool CreateTraceFile(const PathParts& parts, std::uint64_t start_realtime_ns, bool fallback_only,
                     CreatedFile* out) noexcept;

}  // namespace chokepoint::trace
