// Creates and destroys the NCCL communicators that the job works on.
// It must not run operations on them.
#pragma once

#include <vector>

#include "tests/jobs/job_options.h"
#include "tests/jobs/rank_environment.h"
#include "tests/softgpu/nccl_api.h"

namespace chokepoint::jobs {

// options.comms of them, each over all ranks; the first one is always made from a unique id.
std::vector<ncclComm_t> CreateCommunicators(const JobOptions& options,
                                            const RankEnvironment& environment);
void DestroyCommunicators(std::vector<ncclComm_t>* comms);

}  // namespace chokepoint::jobs
