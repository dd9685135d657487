// The truth file: what a rank did, by its own count and clock, for tests to compare a recorder's
// report with. Its fields are described in README.md. It must not contain anything that was not
// measured or counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/jobs/checkpoint.h"
#include "tests/jobs/job_options.h"
#include "tests/jobs/rank_environment.h"
#include "tests/jobs/timings.h"

namespace chokepoint::jobs {

struct StepTimes {
  uint64_t start_realtime_ns = 0;
  double compute_s = 0;
  double communication_s = 0;
  double checkpoint_s = 0;
};

struct Truth {
  uint64_t start_realtime_ns = 0;
  uint64_t loop_start_realtime_ns = 0;  // communicators are there, the first step begins
  uint64_t loop_end_realtime_ns = 0;
  uint64_t end_realtime_ns = 0;
  int nccl_version = 0;
  OperationLog log;
  std::vector<StepTimes> steps;  // of the first thread
  CheckpointTotals checkpoints;
  double fault_seconds = 0;  // injected on this rank
  uint64_t checks = 0;       // results compared
  uint64_t wrong = 0;        // elements that differed
};

// Writes <out>/truth-rank<N>.json; false with a message on stderr if that fails.
bool WriteTruth(const JobOptions& options, const RankEnvironment& environment, const Truth& truth);

// A table for people: the measured algorithm bandwidth per operation and size.
void PrintTruth(const RankEnvironment& environment, const Truth& truth);

}  // namespace chokepoint::jobs
