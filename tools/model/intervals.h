// Adds up possibly overlapping stretches of one rank's time into waiting and transfer without
// counting a moment twice. Must not know where the stretches come from.
#pragma once

#include <cstdint>
#include <vector>

namespace chokepoint::tools {

// One operation: waiting from start to last_start, then transfer until end. start <= last_start <=
// end.
struct OpenInterval {
  std::int64_t start_ns;
  std::int64_t last_start_ns;
  std::int64_t end_ns;
};

struct TimeInNccl {
  std::int64_t waiting_ns = 0;  // some operation is open and all open ones wait for somebody
  std::int64_t first_start_ns = 0;
  std::int64_t transfer_ns = 0;  // some open operation is being transferred
};

// Sorts `intervals` in place.
TimeInNccl SumIntervals(std::vector<OpenInterval>* intervals);

}  // namespace chokepoint::tools
