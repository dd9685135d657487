// Adds up possibly overlapping stretches of one rank's time into waiting and transfer without
// counting a moment twice. Must not know where the stretches come from.
#include "tools/model/intervals.h"

#include <algorithm>

namespace chokepoint::tools {
namespace {

// Length of the union; the stretches are sorted by start.
template <class Range, class Start, class End>
std::int64_t UnionOf(const Range& range, Start start_of, End end_of) {
  std::int64_t total = 0;
  std::int64_t covered_to = INT64_MIN;
  for (const auto& item : range) {
    const std::int64_t start = std::max<std::int64_t>(start_of(item), covered_to);
    if (end_of(item) > start) {
      total += end_of(item) - start;
      covered_to = end_of(item);
    }
  }
  return total;
}

}  // namespace

TimeInNccl SumIntervals(std::vector<OpenInterval>* intervals) {
  std::sort(intervals->begin(), intervals->end(),
            [](const OpenInterval& a, const OpenInterval& b) { return a.start_ns < b.start_ns; });
  const std::int64_t open = UnionOf(
      *intervals, [](const OpenInterval& i) { return i.start_ns; },
      [](const OpenInterval& i) { return i.end_ns; });
  const std::int64_t first_start_ns = intervals->empty() ? 0 : intervals->front().start_ns;
  std::sort(intervals->begin(), intervals->end(), [](const OpenInterval& a, const OpenInterval& b) {
    return a.last_start_ns < b.last_start_ns;
  });
  TimeInNccl sums;
  sums.first_start_ns = first_start_ns;
  sums.transfer_ns = UnionOf(
      *intervals, [](const OpenInterval& i) { return i.last_start_ns; },
      [](const OpenInterval& i) { return i.end_ns; });
  sums.waiting_ns = open - sums.transfer_ns;
  return sums;
}

}  // namespace chokepoint::tools
