// Finds the repeating unit of a job, one training step, from the order of one rank's operations.
// Must not guess: without a clear rhythm there are no steps.
#include "tools/model/steps.h"

#include <algorithm>
#include <map>

namespace chokepoint::tools {
namespace {

constexpr std::size_t kLookedAt = 20'000;  // operations in which the period is sought
constexpr std::size_t kMaxPeriod = 1'000;
constexpr std::size_t kMinPeriods = 5;
constexpr double kAsGood = 0.08;     // a checkpoint in each 20th step makes 20 steps match best
constexpr double kMinMatches = 0.8;  // checkpoints and evaluations put in operations of their own

// The share of operations that are followed by their like `period` places later.
double Matches(const std::vector<StepMark>& marks, std::size_t count, std::size_t period) {
  std::size_t matches = 0;
  for (std::size_t i = 0; i + period < count; ++i)
    matches += marks[i].kind == marks[i + period].kind;
  return static_cast<double>(matches) / static_cast<double>(count - period);
}

// The smallest period that matches about as well as the best; 0 = none. (Many equal buckets match
// their neighbours, but not best.)
std::size_t FindPeriod(const std::vector<StepMark>& marks) {
  const std::size_t count = std::min(marks.size(), kLookedAt);
  std::vector<double> matches = {0};
  for (std::size_t period = 1; period <= kMaxPeriod && period * kMinPeriods <= count; ++period) {
    matches.push_back(Matches(marks, count, period));
  }
  const double wanted =
      std::max(kMinMatches, *std::max_element(matches.begin(), matches.end()) - kAsGood);
  const auto found =
      std::find_if(matches.begin(), matches.end(), [wanted](double m) { return m >= wanted; });
  return found == matches.end() ? 0 : static_cast<std::size_t>(found - matches.begin());
}

// A typical period, away from the irregular start.
std::map<std::uint64_t, std::size_t> KindsInPeriod(const std::vector<StepMark>& marks,
                                                   std::size_t period) {
  std::map<std::uint64_t, std::size_t> kinds;
  const std::size_t count = std::min(marks.size(), kLookedAt);
  const std::size_t first = count / 2 / period * period;
  for (std::size_t i = first; i < first + period && i < count; ++i) ++kinds[marks[i].kind];
  return kinds;
}

}  // namespace

Steps InferSteps(std::vector<StepMark>* marks) {
  std::stable_sort(marks->begin(), marks->end(),
                   [](const StepMark& a, const StepMark& b) { return a.call_ns < b.call_ns; });
  Steps steps;
  const std::size_t period = FindPeriod(*marks);
  if (period == 0) return steps;
  // The kind that comes least often in a period marks it.
  const std::map<std::uint64_t, std::size_t> kinds = KindsInPeriod(*marks, period);
  const auto anchor = std::min_element(
      kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::size_t seen = 0;
  std::int64_t before_ns = 0;
  for (const StepMark& mark : *marks) {
    if (mark.kind != anchor->first || seen++ % anchor->second != 0) continue;
    if (steps.count++ > 0) steps.duration.Add(mark.call_ns - before_ns);
    before_ns = mark.call_ns;
  }
  steps.operations_per_step = static_cast<std::uint32_t>(period);
  return steps;
}

}  // namespace chokepoint::tools
