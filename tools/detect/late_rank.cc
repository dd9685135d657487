// Finds a rank that reaches collectives late again and again while the others wait for it.
// Must not rely on a difference below twice the clock error: across hosts the model compares
// durations, which need no common clock.
#include <fmt/format.h>

#include <algorithm>

#include "tools/detect/detectors.h"
#include "tools/model/quantity.h"

namespace chokepoint::tools {
namespace {

struct Suspect {
  const Communicator* communicator = nullptr;
  std::size_t place = 0;
  double dominance = 0;  // share of all lateness in the communicator
  const Lateness& lateness() const { return communicator->lateness[place]; }
  Index rank() const { return communicator->members[place]; }
};

bool LateAsAHabit(const Suspect& suspect, const LateRankLimits& limits) {
  const Lateness& lateness = suspect.lateness();
  return lateness.groups_last >= limits.min_last &&
         lateness.longest_ns <= limits.max_single_share * lateness.cost_ns &&
         suspect.dominance >= LateRankLimits::MinDominance(suspect.communicator->MembersSeen());
}

EvidenceTable PerRank(const Timeline& timeline, const Communicator& communicator) {
  EvidenceTable table;
  table.title =
      fmt::format("Who came last, of {} operations of communicator {}",
                  FormatCount(communicator.judged_groups), CommunicatorName(communicator));
  table.columns = {{"rank", Unit::kText},           {"last in", Unit::kCount},
                   {"also shortest", Unit::kCount}, {"delay caused", Unit::kNs},
                   {"mean delay", Unit::kNs},       {"outside NCCL", Unit::kNs}};
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < communicator.members.size(); ++place) {
    if (communicator.members[place] != kNone) places.push_back(place);
  }
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    return communicator.lateness[a].cost_ns > communicator.lateness[b].cost_ns;
  });
  constexpr std::size_t kShown = 8;
  if (places.size() > kShown) places.resize(kShown);
  for (const std::size_t place : places) {
    const Lateness& lateness = communicator.lateness[place];
    const Index rank = communicator.members[place];
    const auto groups = static_cast<double>(lateness.groups_last);
    table.rows.push_back({RankName(timeline, rank), groups,
                          static_cast<double>(lateness.groups_shortest), lateness.cost_ns,
                          groups > 0 ? lateness.cost_ns / groups : 0.0,
                          static_cast<double>(timeline.ranks[rank].OutsideNs())});
  }
  return table;
}

void Blame(const Timeline& timeline, const Suspect& suspect, Finding* finding) {
  const Lateness& lateness = suspect.lateness();
  finding->verdict = Verdict::kProblem;
  finding->lost_ns = lateness.cost_ns;
  finding->sentence = fmt::format(
      "{} arrives late and the others wait for it: this costs {} of {} ({}). It was the last to "
      "arrive in {} of {} operations, "
      "on average {} after the others.",
      Capital(RankPlace(timeline, suspect.rank())), FormatNs(lateness.cost_ns),
      FormatNs(static_cast<double>(timeline.duration_ns)),
      FormatShare(lateness.cost_ns / static_cast<double>(timeline.duration_ns)),
      FormatCount(lateness.groups_last), FormatCount(suspect.communicator->judged_groups),
      FormatNs(lateness.cost_ns / static_cast<double>(lateness.groups_last)));
  const bool durations_agree = lateness.groups_shortest * 2 >= lateness.groups_last;
  finding->confidence = durations_agree ? Confidence::kHigh : Confidence::kMedium;
  finding->refuted_by =
      "The rank waits itself for another group of ranks just before (a pipeline stage, another "
      "communicator), or its clock is off.";
  finding->next_step = fmt::format(
      "Look at what {} does between operations: data loading, CPU limits, a slow or throttled GPU, "
      "work that only this rank has.",
      RankPlace(timeline, suspect.rank()));
}

}  // namespace

Finding DetectLateRank(const Timeline& timeline) {
  const LateRankLimits limits;
  Finding finding;
  Suspect worst;  // by cost, whoever it is
  std::uint64_t most_groups = 0;
  for (const Communicator& communicator : timeline.communicators) {
    most_groups = std::max(most_groups, communicator.judged_groups);
    if (communicator.judged_groups < limits.min_groups || communicator.MembersSeen() < 2) continue;
    double total = 0;
    for (const Lateness& lateness : communicator.lateness) total += lateness.cost_ns;
    for (std::size_t place = 0; place < communicator.members.size(); ++place) {
      if (communicator.members[place] == kNone) continue;
      const Lateness& lateness = communicator.lateness[place];
      if (worst.communicator != nullptr && lateness.cost_ns <= worst.lateness().cost_ns) continue;
      worst = {&communicator, place, total > 0 ? lateness.cost_ns / total : 0};
    }
  }
  if (worst.communicator == nullptr) {
    finding.sentence = fmt::format(
        "Not enough data to tell whether a rank arrives late: {} operations with all ranks "
        "recorded and timed, {} are needed.",
        FormatCount(most_groups), limits.min_groups);
    finding.next_step = "Record all ranks of the job, for longer.";
    return finding;
  }
  finding.evidence.push_back(PerRank(timeline, *worst.communicator));
  const double share = worst.lateness().cost_ns /
                       static_cast<double>(std::max<std::int64_t>(1, timeline.duration_ns));
  if (share >= limits.min_wall_share && LateAsAHabit(worst, limits)) {
    Blame(timeline, worst, &finding);
    return finding;
  }
  finding.verdict = Verdict::kOk;
  finding.confidence = Confidence::kMedium;
  finding.sentence =
      worst.lateness().groups_last == 0
          ? fmt::format(
                "No late rank: in {} operations nobody was last by more than can be measured.",
                FormatCount(worst.communicator->judged_groups))
          : fmt::format(
                "No late rank: {} was last most, in {} of {} operations, for {} in all ({} of the "
                "run).",
                RankName(timeline, worst.rank()), FormatCount(worst.lateness().groups_last),
                FormatCount(worst.communicator->judged_groups), FormatNs(worst.lateness().cost_ns),
                FormatShare(share));
  return finding;
}

}  // namespace chokepoint::tools
