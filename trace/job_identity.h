// Who this process is in its job, as far as the launcher's environment variables tell.
// Must not touch anything but the environment.
#pragma once

#include <cstddef>

namespace chokepoint::trace {

struct JobIdentity {
  long rank = -1;  // -1 = not told
  long local_rank = -1;
  long world_size = -1;
  const char* rank_source = "";    // the variable that told
  const char* job_id_source = "";  // "" when job_id is the process group
  char job_id[128] = {};
};

// `rank`, `ranks`: what the caller knows better than the environment, else -1.
void ReadJobIdentity(long rank, long ranks, JobIdentity* out) noexcept;

// True for the variables whose values may be written into the trace: never secrets.
bool MayRecordVariable(const char* assignment, std::size_t name_bytes) noexcept;

}  // namespace chokepoint::trace
