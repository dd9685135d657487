// training_job: a training-like NCCL program that knows nothing of chokepoint. See --help.
// It must not do more here than choose between launcher and rank.
#include "tests/jobs/job_options.h"
#include "tests/jobs/launcher.h"
#include "tests/jobs/rank_environment.h"
#include "tests/jobs/rank_main.h"

using chokepoint::jobs::JobOptions;

int main(int argc, char** argv) {
  JobOptions options;
  int status = 0;
  if (!chokepoint::jobs::ParseOptions(argc, argv, &options, &status)) return status;
  if (!chokepoint::jobs::IsRankProcess()) return chokepoint::jobs::Launch(options, argv);
  return chokepoint::jobs::RunRank(options, chokepoint::jobs::ReadRankEnvironment());
}
