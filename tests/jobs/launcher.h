// Starts one process per rank on this machine and waits for them.
// It must not do any of a rank's work.
#pragma once

#include "tests/jobs/job_options.h"

namespace chokepoint::jobs {

constexpr int kExitWell = 0, kExitWrongResults = 1, kExitUsage = 2, kExitRankFailed = 3,
              kExitTimeout = 4;

// Returns the job's exit status.
int Launch(const JobOptions& options, char** argv);

}  // namespace chokepoint::jobs
