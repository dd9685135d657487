// Groups of operations: one entry per collective over all its ranks, found by (communicator,
// function, sequence). Must not hold anything per rank and group: memory is 56 bytes per group,
// whatever the number of ranks.
#include "tools/model/group_table.h"

#include <algorithm>

namespace chokepoint::tools {
namespace {

void AddTo(OperationGroup* group, const Contribution& contribution) {
  ++group->entered;
  group->start_sum_ns += static_cast<double>(contribution.start_ns);
  // The lower rank wins a tie, so that the result does not depend on the order of files.
  if (contribution.start_ns > group->last_start_ns ||
      (contribution.start_ns == group->last_start_ns && contribution.rank < group->last_rank)) {
    group->last_start_ns = contribution.start_ns;
    group->last_rank = contribution.rank;
  }
  if (contribution.source == TimeSource::kUnknown) return;
  ++group->ended;
  group->gpu_timed += contribution.source == TimeSource::kGpu;
  group->duration_sum_ns += contribution.duration_ns;
  group->last_end_ns = std::max(group->last_end_ns, contribution.end_ns);
  if (contribution.duration_ns < group->shortest_ns ||
      (contribution.duration_ns == group->shortest_ns &&
       contribution.rank < group->shortest_rank)) {
    group->shortest_ns = contribution.duration_ns;
    group->shortest_rank = contribution.rank;
  }
}

}  // namespace

std::size_t Series::Add(const std::vector<Contribution>& contributions,
                        std::atomic<std::int64_t>* budget) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::size_t refused = 0;
  Chunk* chunk = nullptr;
  std::uint32_t chunk_number = 0;
  for (const Contribution& contribution : contributions) {
    const std::uint32_t number = contribution.sequence / kChunkGroups;
    if (chunk == nullptr || number != chunk_number) {
      std::unique_ptr<Chunk>& place = chunks_[number];
      if (place == nullptr && budget->fetch_sub(kChunkGroups, std::memory_order_relaxed) >= 0) {
        place = std::make_unique<Chunk>();
      }
      chunk = place.get();
      chunk_number = number;
    }
    if (chunk == nullptr) {
      ++refused;
    } else {
      AddTo(&(*chunk)[contribution.sequence % kChunkGroups], contribution);
    }
  }
  return refused;
}

void Series::AddProgress(const Progress& progress) {
  std::lock_guard<std::mutex> lock(mutex_);
  progress_.push_back(progress);
}

const OperationGroup* Series::Find(std::uint32_t sequence) const {
  const auto chunk = chunks_.find(sequence / kChunkGroups);
  if (chunk == chunks_.end() || chunk->second == nullptr) return nullptr;
  const OperationGroup& group = (*chunk->second)[sequence % kChunkGroups];
  return group.entered == 0 ? nullptr : &group;
}

Series* GroupTable::FindOrCreate(const SeriesKey& key) {
  std::lock_guard<std::mutex> lock(mutex_);
  Series*& place = by_key_[key];
  if (place == nullptr) {
    series_.push_back(std::make_unique<Series>(key));
    place = series_.back().get();
  }
  return place;
}

std::size_t SeriesKeyHash::operator()(const SeriesKey& key) const {
  std::uint64_t hash = key.communicator;
  for (const std::uint64_t part : {std::uint64_t{static_cast<std::uint32_t>(key.sender)},
                                   std::uint64_t{static_cast<std::uint32_t>(key.receiver)},
                                   std::uint64_t{key.function} * 2 + key.own_sequence}) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace chokepoint::tools
