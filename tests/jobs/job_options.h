// What the job is asked to do: its command line.
// It must not know how anything is done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace chokepoint::jobs {

enum class FaultKind { kNone, kLateRank, kDie, kHang };
enum class CommSource { kSplit, kUniqueIds };
enum class Barriers { kNone, kPerStep, kPerOperation };

struct Fault {
  FaultKind kind = FaultKind::kNone;
  int rank = -1;
  double extra_ms = 0;  // late-rank: added to this rank's compute in each step
  int step = -1;        // die, hang: when
};

struct JobOptions {
  int ranks = 4;
  int nodes = 2;
  int steps = 60;
  std::string out_dir = "training-job-out";
  uint64_t seed = 1;
  Fault fault;

  double compute_ms = 10;  // 0: none
  bool busy_compute = false;
  double jitter = 0.1;  // the compute time varies by this share
  std::vector<uint64_t> sizes_bytes = {256u << 10, 1u << 20, 4u << 20};
  int iterations = 1;  // rounds of the whole communication part per step
  Barriers barriers = Barriers::kPerOperation;
  bool all_gather = true;
  bool send_recv = false;
  bool all_to_all = false;
  bool group = false;
  int verify_every = 10;  // 0: never

  int comms = 1;
  CommSource comm_source = CommSource::kSplit;
  int threads = 1;

  int checkpoint_every = 20;  // 0: never
  uint64_t checkpoint_bytes = 8u << 20;
  bool checkpoint_all_ranks = true;

  double timeout_s = 120;
  double hang_timeout_s = 10;
  bool keep_going_on_death = false;
};

// Fills `options` from the command line. On an error or a call for help it prints to the right
// stream and returns false with the exit status in *status.
bool ParseOptions(int argc, char** argv, JobOptions* options, int* status);

}  // namespace chokepoint::jobs
