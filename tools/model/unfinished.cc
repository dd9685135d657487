// Operations that some rank entered and not all left: who is inside, who never came, who left no
// trace. Also what is missing inside the recorded sequence numbers. Must not say why.
#include <algorithm>
#include <map>

#include "tools/model/workspace.h"

namespace chokepoint::tools {
namespace {

constexpr std::size_t kMaxUnfinishedGroups =
    1000;  // the earliest are kept: the later ones follow from them

UnfinishedMember DescribeMember(const Workspace& workspace, const Series& series,
                                std::uint32_t sequence, std::int32_t communicator_rank) {
  UnfinishedMember member;
  const Communicator& communicator = workspace.timeline.communicators[series.key().communicator];
  const auto place = static_cast<std::size_t>(communicator_rank);
  member.communicator_rank = communicator_rank;
  member.rank = place < communicator.members.size() ? communicator.members[place] : kNone;
  if (member.rank == kNone) {
    member.state = MemberState::kNotRecorded;
    return member;
  }
  member.state = MemberState::kMissing;
  for (const Progress& progress : series.progress()) {
    if (progress.rank == member.rank && progress.last_sequence >= sequence)
      member.state = MemberState::kFinished;
  }
  return member;
}

UnfinishedGroup DescribeGroup(const Workspace& workspace,
                              const std::vector<const OpenOperation*>& open) {
  const OpenOperation& first = *open.front();
  const SeriesKey& key = first.series->key();
  UnfinishedGroup group;
  group.communicator = key.communicator;
  group.function = workspace.symbols.Text(key.function);
  group.sequence = first.sequence;
  group.bytes = first.bytes;
  group.first_start_ns = first.start_ns;
  if (key.sender >= 0) {
    for (const std::int32_t rank : {key.sender, key.receiver}) {
      group.members.push_back(DescribeMember(workspace, *first.series, first.sequence, rank));
    }
  } else {
    const auto size = workspace.timeline.communicators[key.communicator].members.size();
    for (std::size_t rank = 0; rank < size; ++rank) {
      group.members.push_back(DescribeMember(workspace, *first.series, first.sequence,
                                             static_cast<std::int32_t>(rank)));
    }
  }
  for (const OpenOperation* operation : open) {
    group.first_start_ns = std::min(group.first_start_ns, operation->start_ns);
    group.aborted |= operation->aborted;
    for (UnfinishedMember& member : group.members) {
      if (member.rank != operation->rank) continue;
      member.state = MemberState::kInside;
      member.since_ns = operation->start_ns;
    }
  }
  return group;
}

}  // namespace

void CollectUnfinished(Workspace* workspace) {
  std::map<std::pair<const Series*, std::uint32_t>, std::vector<const OpenOperation*>> by_group;
  for (const OpenOperation& open : workspace->open)
    by_group[{open.series, open.sequence}].push_back(&open);
  std::vector<UnfinishedGroup>& groups = workspace->timeline.unfinished;
  for (const auto& [key, open] : by_group) groups.push_back(DescribeGroup(*workspace, open));
  std::sort(groups.begin(), groups.end(), [](const UnfinishedGroup& a, const UnfinishedGroup& b) {
    return std::tie(a.first_start_ns, a.communicator, a.function, a.sequence) <
           std::tie(b.first_start_ns, b.communicator, b.function, b.sequence);
  });
  if (groups.size() > kMaxUnfinishedGroups) groups.resize(kMaxUnfinishedGroups);
}

void CountMissing(Workspace* workspace) {
  for (const auto& series : workspace->groups.all()) {
    for (const Progress& progress : series->progress()) {
      const std::uint64_t expected =
          std::uint64_t{progress.last_sequence} - progress.first_sequence + 1;
      if (expected <= progress.entered) continue;
      workspace->timeline.ranks[progress.rank].operations_missing += expected - progress.entered;
    }
  }
}

}  // namespace chokepoint::tools
