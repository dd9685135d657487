// Third pass over one file: durations, waiting and transfer, now that the last start of each group
// is known. Must not subtract times of different clocks: across hosts it compares durations.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "tools/model/intervals.h"
#include "tools/model/message_size.h"
#include "tools/model/operation_reader.h"
#include "tools/model/workspace.h"

namespace chokepoint::tools {
namespace {

// Stamps of one clock taken by threads that poll: differences below this say nothing about who came
// last.
constexpr double kStampNoiseNs = 10e3;

constexpr std::size_t kMaxStepMarks = 2'000'000;

// One operation's share of waiting, and its group's transfer; negative transfer = cannot be split.
struct Split {
  double waiting_ns = 0;
  double transfer_ns = -1;
  Index last_rank = kNone;
  bool last_is_shortest = false;
  double lateness_ns = 0;  // of last_rank, against the mean of the others
};

// Who waited, from the starts on one clock, or from the durations alone.
Split SplitGroup(const Operation& operation, const OperationGroup& group, WaitMethod method,
                 bool synchronising) {
  Split split;
  const bool all_ended = group.ended == group.entered;
  const bool by_durations = all_ended && synchronising &&
                            (method == WaitMethod::kDurations || group.gpu_timed == group.entered);
  const double others = group.entered - 1;
  if (by_durations) {
    split.waiting_ns =
        std::max(0.0, operation.duration_ns - static_cast<double>(group.shortest_ns));
    split.transfer_ns = static_cast<double>(group.shortest_ns);
    split.last_rank = group.shortest_rank;
    split.last_is_shortest = true;
    if (others > 0) {
      split.lateness_ns =
          (group.duration_sum_ns - static_cast<double>(group.shortest_ns)) / others -
          static_cast<double>(group.shortest_ns);
    }
  } else if (method == WaitMethod::kStarts) {
    const std::int64_t last = std::clamp(group.last_start_ns, operation.start_ns, operation.end_ns);
    split.waiting_ns = static_cast<double>(last - operation.start_ns);
    if (all_ended)
      split.transfer_ns =
          static_cast<double>(std::max<std::int64_t>(0, group.last_end_ns - group.last_start_ns));
    split.last_rank = group.last_rank;
    split.last_is_shortest = group.last_rank == group.shortest_rank;
    if (others > 0) {
      const auto last_start = static_cast<double>(group.last_start_ns);
      split.lateness_ns = last_start - (group.start_sum_ns - last_start) / others;
    }
  }
  return split;
}

class Measurer {
 public:
  Measurer(Workspace* workspace, const FileWork& work, Measured* measured)
      : workspace_(workspace),
        reader_(workspace, work),
        measured_(measured),
        shows_steps_(workspace->step_file == &work) {}

  void Take(const trace::EventView& view) {
    Operation operation;
    if (!reader_.Read(view, &operation) || operation.open) return;
    if (shows_steps_) MarkStep(operation);
    ClassSums& sums = FindClass(operation);
    const OperationGroup* group = nullptr;
    if (Series* series = reader_.FindSeries(operation)) group = series->Find(operation.sequence);
    Split split;
    if (group != nullptr && IsComplete(operation, *group)) {
      const Communicator& communicator =
          workspace_->timeline.communicators[operation.local->communicator];
      const bool synchronising = Synchronising(operation.function);
      split = SplitGroup(operation, *group, communicator.method, synchronising);
      if (group->last_rank == operation.local->rank)
        AddGroup(operation, split, synchronising, &sums);
    } else if (group == nullptr || group->last_rank == operation.local->rank) {
      AddGroup(operation, split, false, &sums);
    }
    AddOne(operation, split, &sums);
  }

  // What is still open counts as waiting until the last sign of life.
  void AddUnended(const Operation& operation) {
    if (operation.local == nullptr) return;
    const std::int64_t end_ns = workspace_->timeline.ranks[operation.local->rank].end_ns;
    if (end_ns > operation.start_ns)
      intervals_[operation.local->rank].push_back({operation.start_ns, end_ns, end_ns});
  }

  void Finish(const FileFacts& facts) {
    for (const auto& [number, event] : facts.open_collectives) AddUnended(reader_.FromOpen(event));
    for (const auto& [number, event] : facts.open_point_to_points)
      AddUnended(reader_.FromOpen(event));
    for (auto& [rank_number, intervals] : intervals_) {
      Rank& rank =
          workspace_->timeline.ranks[rank_number];  // of this file only: no other thread writes it
      const TimeInNccl time = SumIntervals(&intervals);
      rank.startup_ns = std::max<std::int64_t>(0, time.first_start_ns - rank.start_ns);
      rank.waiting_ns = time.waiting_ns;
      rank.transfer_ns = time.transfer_ns;
    }
  }

 private:
  void MarkStep(const Operation& operation) {
    if (workspace_->step_marks.size() >= kMaxStepMarks) return;
    const std::uint64_t communicator =
        operation.local == nullptr ? 0 : operation.local->communicator + 1;
    std::uint64_t kind = communicator << 8 | operation.function;
    kind = kind * 0x9e3779b97f4a7c15u ^ static_cast<std::uint64_t>(operation.bytes);
    workspace_->step_marks.push_back({kind, operation.call_ns});
  }

  bool Synchronising(Symbol function) {
    if (!synchronising_known_[function]) {
      synchronising_[function] = IsSynchronising(workspace_->symbols.Text(function));
      synchronising_known_[function] = true;
    }
    return synchronising_[function];
  }

  bool IsComplete(const Operation& operation, const OperationGroup& group) const {
    if (operation.sender >= 0) return group.entered == 2;
    const Communicator& communicator =
        workspace_->timeline.communicators[operation.local->communicator];
    return group.entered > 0 && group.entered == communicator.members.size();
  }

  ClassSums& FindClass(const Operation& operation) {
    ClassKey key;
    key.communicator = operation.local == nullptr ? kNone : operation.local->communicator;
    key.function = operation.function;
    key.algorithm = operation.algorithm;
    key.protocol = operation.protocol;
    key.source = operation.source;
    key.size_log2 =
        static_cast<std::int8_t>(operation.bytes < 1 ? -1 : std::ilogb(operation.bytes));
    if (last_class_ != nullptr && !(key < last_key_) && !(last_key_ < key)) return *last_class_;
    last_class_ = &measured_->classes[key];
    last_key_ = key;
    return *last_class_;
  }

  void AddOne(const Operation& operation, const Split& split, ClassSums* sums) {
    OperationClass& row = sums->sums;
    if (row.records == 0) {
      row.min_bytes = row.max_bytes = operation.bytes;
      sums->datatype = operation.datatype;
    }
    sums->mixed_datatypes |= sums->datatype != operation.datatype;
    row.min_bytes = std::min(row.min_bytes, operation.bytes);
    row.max_bytes = std::max(row.max_bytes, operation.bytes);
    ++row.records;
    Rank* rank =
        operation.local == nullptr ? nullptr : &workspace_->timeline.ranks[operation.local->rank];
    if (rank != nullptr) ++rank->operations;
    if (operation.source == TimeSource::kUnknown) {
      if (rank != nullptr) ++rank->operations_without_end;
      return;
    }
    row.seen.Add(static_cast<std::int64_t>(operation.seen_ns));
    row.own.Add(static_cast<std::int64_t>(operation.duration_ns));
    row.waiting.Add(static_cast<std::int64_t>(split.waiting_ns));
    sums->duration_ns += operation.duration_ns;
    if (rank == nullptr) return;
    const std::int64_t last_start =
        operation.start_ns + static_cast<std::int64_t>(split.waiting_ns);
    intervals_[operation.local->rank].push_back(
        {operation.start_ns, std::clamp(last_start, operation.start_ns, operation.end_ns),
         operation.end_ns});
  }

  // Once per group.
  void AddGroup(const Operation& operation, const Split& split, bool judge, ClassSums* sums) {
    ++sums->sums.groups;
    sums->sums.total_bytes += operation.bytes;
    if (split.transfer_ns >= 0)
      sums->sums.transfer.Add(static_cast<std::int64_t>(split.transfer_ns));
    // The first operation of a communicator shows start-up, not a habit.
    if (!judge || operation.first || split.last_rank == kNone) return;
    const Index communicator = operation.local->communicator;
    ++measured_->judged_groups[communicator];
    if (split.lateness_ns < kStampNoiseNs) return;
    Lateness& lateness = measured_->lateness[{communicator, split.last_rank}];
    ++lateness.groups_last;
    lateness.groups_shortest += split.last_is_shortest;
    lateness.cost_ns += split.lateness_ns;
    lateness.longest_ns = std::max(lateness.longest_ns, split.lateness_ns);
  }

  Workspace* workspace_;
  OperationReader reader_;
  Measured* measured_;
  bool shows_steps_;
  ClassKey last_key_;
  ClassSums* last_class_ = nullptr;
  bool synchronising_[256] = {};
  bool synchronising_known_[256] = {};
  std::unordered_map<Index, std::vector<OpenInterval>> intervals_;
};

}  // namespace

void MeasureFile(Workspace* workspace, FileWork* work, Measured* measured) {
  Measurer measurer(workspace, *work, measured);
  work->input->file->Read([&measurer](const trace::EventView& view) { measurer.Take(view); });
  measurer.Finish(work->facts);
}

}  // namespace chokepoint::tools
