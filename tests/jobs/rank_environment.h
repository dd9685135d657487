// Which rank a process is: the environment variables that torchrun and its like set.
// It must not start processes.
#pragma once

#include <string>

#include "tests/jobs/job_options.h"

namespace chokepoint::jobs {

struct RankEnvironment {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  int local_ranks = 1;
  int node = 0;
  std::string run_id;  // tells this run's files from those of an earlier one in the same folder
};

// Whether somebody has already decided which rank this process is.
bool IsRankProcess();
RankEnvironment ReadRankEnvironment();

// The launcher's side: what rank `rank` of the job is, and putting that into this process's
// environment.
RankEnvironment RankOf(const JobOptions& options, int rank, const std::string& run_id);
void ExportRankEnvironment(const RankEnvironment& environment);

}  // namespace chokepoint::jobs
