// Groups of operations: one entry per collective over all its ranks, found by (communicator,
// function, sequence). Must not hold anything per rank and group: memory is 56 bytes per group,
// whatever the number of ranks.
#pragma once

#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tools/model/symbols.h"
#include "tools/model/timeline.h"

namespace chokepoint::tools {

struct OperationGroup {
  std::int64_t last_start_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t last_end_ns = std::numeric_limits<std::int64_t>::min();
  double start_sum_ns = 0;     // over `entered`
  double duration_sum_ns = 0;  // over `ended`
  float shortest_ns = std::numeric_limits<float>::max();
  Index last_rank = kNone;
  Index shortest_rank = kNone;
  std::uint32_t entered = 0;
  std::uint32_t ended = 0;      // with a known duration
  std::uint32_t gpu_timed = 0;  // of these, on GPU clocks
};

// What one rank contributes to a group.
struct Contribution {
  std::uint32_t sequence;
  Index rank;
  std::int64_t start_ns;
  std::int64_t end_ns;
  float duration_ns;
  TimeSource source;  // kUnknown: start_ns only
};

struct SeriesKey {
  Index communicator = kNone;
  std::int32_t sender = -1;  // point-to-point only
  std::int32_t receiver = -1;
  Symbol function = 0;
  bool own_sequence = false;
  bool operator==(const SeriesKey&) const = default;
};

struct SeriesKeyHash {
  std::size_t operator()(const SeriesKey& key) const;
};

// Up to where one rank came in one series.
struct Progress {
  Index rank = kNone;
  std::uint32_t first_sequence = 0;
  std::uint32_t last_sequence = 0;
  std::uint64_t entered = 0;
};

// All groups of one key, in chunks of consecutive sequence numbers.
class Series {
 public:
  explicit Series(const SeriesKey& key) : key_(key) {}
  const SeriesKey& key() const { return key_; }

  // Threads: safe. Returns how many were refused because `budget` is used up.
  std::size_t Add(const std::vector<Contribution>& contributions,
                  std::atomic<std::int64_t>* budget);
  void AddProgress(const Progress& progress);

  // After all Add calls. Null when there is no such group.
  const OperationGroup* Find(std::uint32_t sequence) const;
  const std::vector<Progress>& progress() const { return progress_; }

  static constexpr std::uint32_t kChunkGroups = 64;

 private:
  using Chunk = std::array<OperationGroup, kChunkGroups>;
  SeriesKey key_;
  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::unique_ptr<Chunk>> chunks_;  // by sequence / kChunkGroups
  std::vector<Progress> progress_;
};

class GroupTable {
 public:
  // At most this many groups are kept (1.7 GiB); later ones are counted, not matched.
  static constexpr std::int64_t kMaxGroups = 32'000'000;

  // Threads: safe. The series lives as long as the table.
  Series* FindOrCreate(const SeriesKey& key);
  // After all FindOrCreate calls.
  const std::vector<std::unique_ptr<Series>>& all() const { return series_; }
  std::atomic<std::int64_t>* budget() { return &budget_; }

 private:
  std::mutex mutex_;
  std::unordered_map<SeriesKey, Series*, SeriesKeyHash> by_key_;
  std::vector<std::unique_ptr<Series>> series_;
  std::atomic<std::int64_t> budget_{kMaxGroups};
};

}  // namespace chokepoint::tools
