// Second pass over one file: its operations go into the groups; what began and never ended is set
// aside. Must not compute durations over ranks: the groups are not complete yet.
#include <unordered_map>

#include "tools/model/operation_reader.h"
#include "tools/model/workspace.h"

namespace chokepoint::tools {
namespace {

constexpr std::size_t kBatch = 1024;  // contributions per lock of a series

class Matcher {
 public:
  Matcher(Workspace* workspace, FileWork* work)
      : workspace_(workspace), work_(work), reader_(workspace, *work) {}

  void Take(const trace::EventView& view) {
    Operation operation;
    if (!reader_.Read(view, &operation)) return;
    if (operation.open)
      return;  // a snapshot: taken from the facts after the pass, unless the operation ended
    if (!open_numbers_empty_) Close(operation.number);
    Add(operation);
    if (operation.aborted) AddOpen(operation);
  }

  void Finish() {
    for (const auto& [number, event] : work_->facts.open_collectives)
      AddUnended(reader_.FromOpen(event));
    for (const auto& [number, event] : work_->facts.open_point_to_points)
      AddUnended(reader_.FromOpen(event));
    for (auto& [series, state] : states_) {
      Flush(series, &state);
      for (const Progress& progress : state.progress) series->AddProgress(progress);
    }
  }

 private:
  struct SeriesState {
    std::vector<Contribution> batch;
    std::vector<Progress> progress;  // one per rank of this process in the series
  };
  static Progress& FindProgress(SeriesState* state, const Operation& operation) {
    for (Progress& progress : state->progress) {
      if (progress.rank == operation.local->rank) return progress;
    }
    return state->progress.emplace_back(
        Progress{operation.local->rank, operation.sequence, operation.sequence, 0});
  }

  void Close(std::uint32_t number) {
    work_->facts.open_collectives.erase(number);
    work_->facts.open_point_to_points.erase(number);
    open_numbers_empty_ =
        work_->facts.open_collectives.empty() && work_->facts.open_point_to_points.empty();
  }

  void Add(const Operation& operation) {
    Series* series = reader_.FindSeries(operation);
    if (series == nullptr) return;
    SeriesState& state = states_[series];
    Progress& progress = FindProgress(&state, operation);
    progress.first_sequence = std::min(progress.first_sequence, operation.sequence);
    progress.last_sequence = std::max(progress.last_sequence, operation.sequence);
    ++progress.entered;
    state.batch.push_back({operation.sequence, operation.local->rank, operation.start_ns,
                           operation.end_ns, static_cast<float>(operation.duration_ns),
                           operation.source});
    if (state.batch.size() >= kBatch) Flush(series, &state);
  }

  void AddUnended(const Operation& operation) {
    Add(operation);
    AddOpen(operation);
  }

  void AddOpen(const Operation& operation) {
    Series* series = reader_.FindSeries(operation);
    if (series == nullptr) return;
    std::lock_guard<std::mutex> lock(workspace_->mutex);
    workspace_->open.push_back({series, operation.sequence, operation.local->rank,
                                operation.start_ns, operation.bytes, operation.aborted});
  }

  void Flush(Series* series, SeriesState* state) {
    const std::size_t refused = series->Add(state->batch, workspace_->groups.budget());
    state->batch.clear();
    if (refused == 0) return;
    std::lock_guard<std::mutex> lock(workspace_->mutex);
    workspace_->groups_not_kept += refused;
  }

  Workspace* workspace_;
  FileWork* work_;
  OperationReader reader_;
  bool open_numbers_empty_ = false;
  std::unordered_map<Series*, SeriesState> states_;
};

}  // namespace

void MatchFile(Workspace* workspace, FileWork* work) {
  Matcher matcher(workspace, work);
  work->input->file->Read([&matcher](const trace::EventView& view) { matcher.Take(view); });
  matcher.Finish();
}

}  // namespace chokepoint::tools
