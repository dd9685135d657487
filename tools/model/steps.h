// Finds the repeating unit of a job, one training step, from the order of one rank's operations.
// Must not guess: without a clear rhythm there are no steps.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/model/timeline.h"

namespace chokepoint::tools {

// One operation: what it is (equal kinds have equal numbers) and when the program called for it.
struct StepMark {
  std::uint64_t kind = 0;
  std::int64_t call_ns = 0;
};

// Sorts `marks` by time.
Steps InferSteps(std::vector<StepMark>* marks);

}  // namespace chokepoint::tools
