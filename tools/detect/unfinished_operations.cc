// Finds operations that began and never ended: who waits in which, who never came, whose process is
// gone. Must not call the waiting ranks guilty.
#include <fmt/format.h>

#include <algorithm>

#include "tools/detect/detectors.h"
#include "tools/model/quantity.h"

namespace chokepoint::tools {
namespace {

constexpr std::size_t kShownGroups = 8;

const Process& ProcessOf(const Timeline& timeline, Index rank) {
  return timeline.processes[timeline.ranks[rank].process];
}

// "0-3, 7": the numbers of the members in a state.
std::string Numbers(const Timeline& timeline, const UnfinishedGroup& group, MemberState state) {
  std::vector<std::int32_t> numbers;
  for (const UnfinishedMember& member : group.members) {
    if (member.state != state) continue;
    numbers.push_back(member.rank == kNone ? member.communicator_rank
                                           : timeline.ranks[member.rank].number);
  }
  std::sort(numbers.begin(), numbers.end());
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[i]);
    if (last > i) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

std::size_t CountIn(const UnfinishedGroup& group, MemberState state) {
  return static_cast<std::size_t>(
      std::count_if(group.members.begin(), group.members.end(),
                    [state](const UnfinishedMember& m) { return m.state == state; }));
}

// How long the longest waiting member has waited, until the last sign of life of any member.
double WaitNs(const Timeline& timeline, const UnfinishedGroup& group) {
  std::int64_t end = group.first_start_ns;
  for (const UnfinishedMember& member : group.members) {
    if (member.rank != kNone) end = std::max(end, timeline.ranks[member.rank].end_ns);
  }
  return static_cast<double>(end - group.first_start_ns);
}

// The member whose process was killed first, if others lived on; kNone when nobody stands out: a
// whole job that is killed at once leaves last signs of life that differ by the recorder's rhythm.
Index GoneMember(const Timeline& timeline, const UnfinishedGroup& group) {
  const UnfinishedLimits limits;
  Index gone = kNone;
  bool others_lived_on = false;
  std::int64_t latest_ns = 0;
  for (const UnfinishedMember& member : group.members) {
    if (member.rank == kNone) continue;
    const Process& process = ProcessOf(timeline, member.rank);
    const std::int64_t end_ns = timeline.ranks[member.rank].end_ns;
    latest_ns = std::max(latest_ns, end_ns);
    if (process.closed_in_order || process.running) {
      others_lived_on = true;
    } else if (gone == kNone || end_ns < timeline.ranks[gone].end_ns) {
      gone = member.rank;
    }
  }
  if (gone == kNone) return kNone;
  const auto outlived_ns = static_cast<double>(latest_ns - timeline.ranks[gone].end_ns);
  return others_lived_on || outlived_ns >= limits.min_outlived_ns ? gone : kNone;
}

// A member that is gone, or never came although others lived on after its end. In a job that is
// killed at once somebody is always on the way to the next operation: that accuses nobody.
bool SomebodyMissing(const Timeline& timeline, const UnfinishedGroup& group) {
  if (GoneMember(timeline, group) != kNone) return true;
  const UnfinishedLimits limits;
  std::int64_t latest_ns = 0;
  for (const UnfinishedMember& member : group.members) {
    if (member.rank != kNone) latest_ns = std::max(latest_ns, timeline.ranks[member.rank].end_ns);
  }
  return std::any_of(group.members.begin(), group.members.end(), [&](const UnfinishedMember& m) {
    return m.state == MemberState::kMissing && !ProcessOf(timeline, m.rank).running &&
           static_cast<double>(latest_ns - timeline.ranks[m.rank].end_ns) >= limits.min_outlived_ns;
  });
}

std::string Operation(const Timeline& timeline, const UnfinishedGroup& group) {
  const Communicator& communicator = timeline.communicators[group.communicator];
  return fmt::format("{} number {} ({}) of communicator {}", group.function, group.sequence,
                     FormatBytes(group.bytes), CommunicatorName(communicator));
}

std::string Plural(const std::string& numbers) {
  return numbers.find_first_of(",-") == std::string::npos ? "Rank " + numbers : "Ranks " + numbers;
}

// Names who is missing, or whose process died, or that all are inside.
std::string Explain(const Timeline& timeline, const UnfinishedGroup& group) {
  const std::string inside = Numbers(timeline, group, MemberState::kInside);
  std::string text =
      fmt::format("{} {} in {} since {}.", Plural(inside),
                  inside.find_first_of(",-") == std::string::npos ? "waits" : "wait",
                  Operation(timeline, group), FormatNs(static_cast<double>(group.first_start_ns)));
  const Index gone = GoneMember(timeline, group);
  const auto end_of = [&](Index rank) {
    return FormatNs(static_cast<double>(timeline.ranks[rank].end_ns));
  };
  for (const UnfinishedMember& member : group.members) {
    if (member.state != MemberState::kMissing) continue;
    const Process& process = ProcessOf(timeline, member.rank);
    text +=
        fmt::format(" {} never entered it; {} at {}.", Capital(RankPlace(timeline, member.rank)),
                    process.closed_in_order ? "its process ended in order"
                    : process.running       ? "its process is alive, last seen"
                                            : "its process was killed, last sign of life",
                    end_of(member.rank));
    if (CountIn(group, MemberState::kMissing) > 4) {
      text +=
          fmt::format(" In all {} ranks are missing: {}.", CountIn(group, MemberState::kMissing),
                      Numbers(timeline, group, MemberState::kMissing));
      break;
    }
  }
  if (CountIn(group, MemberState::kMissing) == 0 && gone != kNone) {
    text += fmt::format(" {} was killed inside it, last sign of life at {}.",
                        Capital(RankPlace(timeline, gone)), end_of(gone));
  }
  if (const std::size_t unknown = CountIn(group, MemberState::kNotRecorded); unknown > 0) {
    text += fmt::format(" {} left no trace: whether they entered is not known.",
                        Plural(Numbers(timeline, group, MemberState::kNotRecorded)));
  }
  return text;
}

EvidenceTable Groups(const Timeline& timeline) {
  EvidenceTable table;
  table.title = "Operations that began and never ended, the earliest first";
  table.columns = {{"operation", Unit::kText},    {"number", Unit::kCount},
                   {"communicator", Unit::kText}, {"size", Unit::kBytes},
                   {"since", Unit::kNs},          {"inside", Unit::kText},
                   {"never came", Unit::kText},   {"no trace", Unit::kText}};
  for (const UnfinishedGroup& group : timeline.unfinished) {
    if (table.rows.size() == kShownGroups) break;
    table.rows.push_back({group.function, static_cast<double>(group.sequence),
                          CommunicatorName(timeline.communicators[group.communicator]), group.bytes,
                          static_cast<double>(group.first_start_ns),
                          Numbers(timeline, group, MemberState::kInside),
                          Numbers(timeline, group, MemberState::kMissing),
                          Numbers(timeline, group, MemberState::kNotRecorded)});
  }
  return table;
}

// A hang is told by its first operation: the others wait behind it. One with a missing member tells
// most.
const UnfinishedGroup* Principal(const Timeline& timeline) {
  for (const UnfinishedGroup& group : timeline.unfinished) {
    if (SomebodyMissing(timeline, group)) return &group;
  }
  return timeline.unfinished.empty() ? nullptr : &timeline.unfinished.front();
}

}  // namespace

Finding DetectUnfinishedOperations(const Timeline& timeline) {
  const UnfinishedLimits limits;
  Finding finding;
  std::uint64_t operations = 0;
  bool running = false;
  for (const Rank& rank : timeline.ranks) operations += rank.operations;
  for (const Process& process : timeline.processes) running |= process.running;
  const UnfinishedGroup* principal = Principal(timeline);
  if (principal == nullptr) {
    const bool any = operations > 0;
    finding.verdict = any ? Verdict::kOk : Verdict::kNoData;
    finding.confidence = Confidence::kHigh;
    finding.sentence =
        any ? fmt::format("All {} operations that began also ended.", FormatCount(operations))
            : "Not enough data: no operation was recorded.";
    return finding;
  }
  finding.evidence.push_back(Groups(timeline));
  const double wait_ns = WaitNs(timeline, *principal);
  const bool somebody_missing = SomebodyMissing(timeline, *principal);
  finding.sentence = Explain(timeline, *principal);
  if (wait_ns < limits.min_wait_ns && (!somebody_missing || running)) {
    finding.verdict = Verdict::kOk;
    finding.confidence = Confidence::kMedium;
    finding.sentence = fmt::format(
        "{} operations were in flight {}, the longest for {}; nothing says that they hung.",
        timeline.unfinished.size(), running ? "when the traces were read" : "when the job ended",
        FormatNs(wait_ns));
    return finding;
  }
  finding.verdict = Verdict::kProblem;
  finding.lost_ns = wait_ns;
  finding.confidence = somebody_missing ? Confidence::kHigh : Confidence::kMedium;
  finding.refuted_by = "The missing rank's trace lacks its last records (see what was lost).";
  finding.next_step =
      somebody_missing
          ? "Look for the first failure on the missing rank's host: its own log, the kernel's (out "
            "of memory, GPU errors); "
            "errors on the waiting ranks are consequences."
          : "All ranks entered and none left: look at the network and the GPUs of these ranks.";
  return finding;
}

}  // namespace chokepoint::tools
