// Which rank stands out: the one with the most work of its own, and the one that comes last.
// Must not name anybody by a difference that could be chance: then it says so.
#include "tools/report/standouts.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/model/quantity.h"

namespace chokepoint::tools {
namespace {

constexpr double kMinExcess = 0.05;           // of the run: smaller differences come and go
constexpr std::uint64_t kMinOperations = 20;  // timed, per rank
constexpr std::uint64_t kMinGroups = 20;

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

// In a job that runs in step, the rank that spends least time in NCCL is the one that the others
// wait for.
Standout SlowestRank(const Timeline& timeline) {
  Standout standout;
  Index slowest = kNone;
  std::vector<double> outside;
  for (Index i = 0; i < timeline.ranks.size(); ++i) {
    const Rank& rank = timeline.ranks[i];
    if (rank.operations - rank.operations_without_end < kMinOperations) continue;
    outside.push_back(static_cast<double>(rank.OutsideNs()));
    if (slowest == kNone || rank.OutsideNs() > timeline.ranks[slowest].OutsideNs()) slowest = i;
  }
  if (outside.size() < 2) {
    standout.sentence = fmt::format("not enough data: {} of {} ranks have {} timed operations",
                                    outside.size(), timeline.ranks.size(), kMinOperations);
    return standout;
  }
  const auto own = static_cast<double>(timeline.ranks[slowest].OutsideNs());
  std::vector<double> others = outside;
  others.erase(std::find(others.begin(), others.end(), own));
  const double median = Median(others);
  const double run = static_cast<double>(std::max<std::int64_t>(1, timeline.duration_ns));
  const std::string numbers =
      fmt::format("{} outside NCCL, the others {} (median)", FormatNs(own), FormatNs(median));
  if ((own - median) / run < kMinExcess) {
    standout.verdict = Verdict::kOk;
    standout.sentence =
        fmt::format("none stands out; most has {}: {}", RankName(timeline, slowest), numbers);
  } else {
    standout.verdict = Verdict::kProblem;
    standout.rank = RankName(timeline, slowest);
    standout.sentence = fmt::format("{}: {}", RankPlace(timeline, slowest), numbers);
  }
  return standout;
}

Standout LatestRank(const Timeline& timeline, const Finding& late_rank) {
  Standout standout;
  const Communicator* where = nullptr;
  std::size_t latest = 0;
  for (const Communicator& communicator : timeline.communicators) {
    if (communicator.judged_groups < kMinGroups || communicator.MembersSeen() < 2) continue;
    for (std::size_t place = 0; place < communicator.members.size(); ++place) {
      if (where == nullptr ||
          communicator.lateness[place].cost_ns > where->lateness[latest].cost_ns) {
        where = &communicator;
        latest = place;
      }
    }
  }
  if (where == nullptr) {
    standout.sentence = fmt::format(
        "not enough data: no communicator has {} operations with all ranks recorded and timed",
        kMinGroups);
    return standout;
  }
  const Lateness& lateness = where->lateness[latest];
  const std::string numbers =
      fmt::format("last in {} of {} operations, by {} in all", FormatCount(lateness.groups_last),
                  FormatCount(where->judged_groups), FormatNs(lateness.cost_ns));
  if (late_rank.verdict == Verdict::kProblem) {
    standout.verdict = Verdict::kProblem;
    standout.rank = RankName(timeline, where->members[latest]);
    standout.sentence = fmt::format("{}: {}", RankPlace(timeline, where->members[latest]), numbers);
  } else {
    standout.verdict = Verdict::kOk;
    standout.sentence = lateness.groups_last == 0
                            ? "nobody: all arrive together, as far as can be measured"
                            : fmt::format("none stands out; most: {}, {}",
                                          RankName(timeline, where->members[latest]), numbers);
  }
  return standout;
}

}  // namespace chokepoint::tools
