// The detectors' entry points and their thresholds, each with its reason in docs/detectors/<id>.md.
// Must not hold anything else.
#pragma once

#include "tools/detect/detector.h"

namespace chokepoint::tools {

struct LateRankLimits {
  std::uint64_t min_groups = 20;  // judged groups of the communicator: fewer show no habit
  std::uint64_t min_last = 10;    // groups in which the rank was last
  double min_wall_share = 0.05;   // below, nobody would notice
  double max_single_share = 0.5;  // one long absence is not lateness as a habit
  // Of all lateness in the communicator. With n ranks chance gives each 1/n.
  static double MinDominance(double ranks) { return 0.5 + 0.5 / ranks; }
};
Finding DetectLateRank(const Timeline& timeline);

struct UnfinishedLimits {
  double min_outlived_ns = 0.5e9;  // twice the longest time between two writes of a recorder
  double min_wait_ns =
      10e9;  // all are inside and nobody is missing: shorter is an ordinary operation in flight
};
Finding DetectUnfinishedOperations(const Timeline& timeline);

struct TraceLossLimits {
  double min_share = 0.01;  // of operations or records: below, medians and sums move by less than
                            // they are measured to
};
Finding DetectTraceLoss(const Timeline& timeline);

}  // namespace chokepoint::tools
