// Merging of logs, and quantiles.
// It must not read clocks.
#include "tests/jobs/timings.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::jobs {

void OperationLog::Merge(const OperationLog& other) {
  for (const auto& [key, count] : other.calls_) calls_[key] += count;
  for (const auto& [key, seconds] : other.timings_) {
    std::vector<double>& mine = timings_[key];
    mine.insert(mine.end(), seconds.begin(), seconds.end());
  }
}

double Quantile(std::vector<double> values, double share) {
  const auto count = static_cast<double>(values.size());
  const double nearest = std::max(1.0, std::ceil(share * count));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(nearest) - 1;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace chokepoint::jobs
