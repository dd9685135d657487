// One rank of the job, from its first communicator to its truth file.
// It must not know how ranks are started.
#pragma once

#include "tests/jobs/job_options.h"
#include "tests/jobs/rank_environment.h"

namespace chokepoint::jobs {

// Returns the process's exit status.
int RunRank(const JobOptions& options, const RankEnvironment& environment);

}  // namespace chokepoint::jobs
