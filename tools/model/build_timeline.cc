// Traces -> Timeline, in three passes over each file, several files at a time.
// Must not keep events: memory grows with groups of operations and distinct objects only.
#include "tools/model/build_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "tools/model/parallel.h"
#include "tools/model/quantity.h"
#include "tools/model/workspace.h"

namespace chokepoint::tools {

namespace {

void MergeClass(const ClassSums& from, ClassSums* to) {
  OperationClass& row = to->sums;
  const OperationClass& other = from.sums;
  if (row.records == 0) {
    row.min_bytes = other.min_bytes;
    row.max_bytes = other.max_bytes;
    to->datatype = from.datatype;
  }
  to->mixed_datatypes |= from.mixed_datatypes || to->datatype != from.datatype;
  row.min_bytes = std::min(row.min_bytes, other.min_bytes);
  row.max_bytes = std::max(row.max_bytes, other.max_bytes);
  row.total_bytes += other.total_bytes;
  row.groups += other.groups;
  row.records += other.records;
  row.seen.Merge(other.seen);
  row.own.Merge(other.own);
  row.waiting.Merge(other.waiting);
  row.transfer.Merge(other.transfer);
  to->duration_ns += from.duration_ns;
}

void MergeMeasured(Workspace* workspace, std::vector<Measured>* parts) {
  Timeline& timeline = workspace->timeline;
  std::map<ClassKey, ClassSums> classes;
  for (Measured& part : *parts) {
    for (const auto& [key, sums] : part.classes) MergeClass(sums, &classes[key]);
    for (const auto& [communicator, groups] : part.judged_groups) {
      timeline.communicators[communicator].judged_groups += groups;
    }
    for (const auto& [key, lateness] : part.lateness) {
      Communicator& communicator = timeline.communicators[key.first];
      for (std::size_t place = 0; place < communicator.members.size(); ++place) {
        if (communicator.members[place] != key.second) continue;
        Lateness& sum = communicator.lateness[place];
        sum.groups_last += lateness.groups_last;
        sum.groups_shortest += lateness.groups_shortest;
        sum.cost_ns += lateness.cost_ns;
        sum.longest_ns = std::max(sum.longest_ns, lateness.longest_ns);
      }
    }
  }
  for (auto& [key, sums] : classes) {
    OperationClass row = std::move(sums.sums);
    row.communicator = key.communicator;
    row.function = workspace->symbols.Text(key.function);
    row.algorithm = workspace->symbols.Text(key.algorithm);
    row.protocol = workspace->symbols.Text(key.protocol);
    row.datatype = sums.mixed_datatypes ? "" : workspace->symbols.Text(sums.datatype);
    row.source = key.source;
    const double members =
        key.communicator == kNone
            ? static_cast<double>(std::max<std::size_t>(1, timeline.ranks.size()))
            : std::max(1u, timeline.communicators[key.communicator].MembersSeen());
    if (timeline.duration_ns > 0)
      row.wall_share = sums.duration_ns / members / static_cast<double>(timeline.duration_ns);
    timeline.classes.push_back(std::move(row));
  }
}

// One line for each file that is not whole, and why.
void NoteIncompleteFiles(Workspace* workspace) {
  for (const FileWork& work : workspace->files) {
    const Process& process = workspace->timeline.processes[work.process];
    const trace::ReadResult& read = work.facts.read;
    const auto note = [&](const std::string& text) {
      workspace->timeline.notes.push_back({process.path, process.path + ": " + text, true});
    };
    if (work.facts.first_ticks == 0) {
      note("holds no records; its process was stopped before it recorded anything");
    } else if (process.running) {
      note("still being written; read up to now, run the report again when the job has ended");
    } else if (!process.closed_in_order) {
      note(process.salvaged
               ? "its process was killed; its last records were salvaged"
               : "its process was killed; up to 0.25 s of its last records are missing");
    }
    if (process.damaged_bytes > 0) {
      const auto first = std::find_if(read.damage.begin(), read.damage.end(),
                                      [](const trace::Damage& d) { return !d.expected; });
      note(fmt::format("{} of {} damaged and not read, first at offset {} ({})",
                       FormatDecimalBytes(static_cast<double>(process.damaged_bytes)),
                       FormatDecimalBytes(static_cast<double>(read.file_bytes)), first->offset,
                       first->reason));
    }
    if (read.unknown_events > 0) {
      note(
          fmt::format("{} records of kinds that this version does not know were skipped; a newer "
                      "chokepoint reads them",
                      read.unknown_events));
    }
  }
}

void SortRanks(Timeline* timeline) {
  std::vector<Index> order(timeline->ranks.size());
  for (Index i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return timeline->ranks[a].number < timeline->ranks[b].number;
  });
  std::vector<Index> place(order.size());
  std::vector<Rank> sorted;
  for (Index i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted.push_back(timeline->ranks[order[i]]);
  }
  timeline->ranks = std::move(sorted);
  const auto move = [&](Index* rank) {
    if (*rank != kNone) *rank = place[*rank];
  };
  for (Communicator& communicator : timeline->communicators) {
    for (Index& member : communicator.members) move(&member);
  }
  for (UnfinishedGroup& group : timeline->unfinished) {
    for (UnfinishedMember& member : group.members) move(&member.rank);
  }
}

}  // namespace

Timeline BuildTimeline(TraceSet set, unsigned threads) {
  Workspace workspace;
  workspace.timeline.notes = std::move(set.notes);
  workspace.timeline.files_read = set.inputs.size();
  workspace.files.resize(set.inputs.size());
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t count = workspace.files.size();
  ForEachInParallel(count, threads, [&](std::size_t i) {
    workspace.files[i].input = &set.inputs[i];
    workspace.files[i].facts = ScanFile(set.inputs[i].file.get());
  });
  Identify(&workspace);
  NoteIncompleteFiles(&workspace);
  ForEachInParallel(count, threads,
                    [&](std::size_t i) { MatchFile(&workspace, &workspace.files[i]); });
  std::vector<Measured> measured(threads);
  std::atomic<std::size_t> next{0};
  ForEachInParallel(threads, threads, [&](std::size_t thread) {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      MeasureFile(&workspace, &workspace.files[i], &measured[thread]);
    }
  });
  MergeMeasured(&workspace, &measured);
  workspace.timeline.steps = InferSteps(&workspace.step_marks);
  CollectUnfinished(&workspace);
  CountMissing(&workspace);
  SortRanks(&workspace.timeline);
  workspace.timeline.groups_not_kept = workspace.groups_not_kept;
  return std::move(workspace.timeline);
}

}  // namespace chokepoint::tools
