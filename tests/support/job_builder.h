// JobBuilder: the traces of a whole job, told in a few lines of when each rank did what.
// Must not know what a report makes of them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "tests/support/trace_builder.h"

namespace chokepoint::tests {

inline constexpr std::int64_t operator""_us(unsigned long long value) {
  return static_cast<std::int64_t>(value) * 1'000;
}
inline constexpr std::int64_t operator""_ms(unsigned long long value) {
  return static_cast<std::int64_t>(value) * 1'000'000;
}
inline constexpr std::int64_t operator""_s(unsigned long long value) {
  return static_cast<std::int64_t>(value) * 1'000'000'000;
}

// One operation of one rank. Times are ns since the job's start.
struct OperationStory {
  std::string_view function = "AllReduce";
  std::int64_t at_ns = 0;
  std::int64_t took_ns = -1;  // < 0: its end is not known
  std::int64_t gpu_ns = -1;   // >= 0: also timed on the GPU
  std::uint64_t count = 1 << 20;
  std::string_view datatype = "ncclFloat32";
  std::string_view algorithm = "RING";
  std::string_view protocol = "SIMPLE";
  std::int32_t peer = 0;  // Send and Recv; root of others
  std::uint32_t communicator = 1;
  std::int64_t sequence = -1;  // < 0: the next one
};

// One process with one rank; communicator 1 holds all ranks of the job.
class RankBuilder {
 public:
  struct Place {
    int rank = 0;
    int ranks = 1;
    int nodes = 1;
    std::string host = "node0";
    std::string boot_id = "boot0";
    std::int64_t clock_offset_ns = 0;  // of the host's steady clock
    std::string communicator_name = {};
  };

  RankBuilder(const std::string& directory, const Place& place)
      : place_(place), file_(Path(directory, place), Options(place)) {
    file_.Meta({{"host", place.host},
                {"boot_id", place.boot_id},
                {"nccl_version", "2.28.9"},
                {"exe", "/usr/bin/train"}});
    file_.Meta("rank", std::to_string(place.rank));
    Communicator(1, 0xc0ffee, place.rank, place.ranks);
  }

  static std::string Path(const std::string& directory, const Place& place) {
    return directory + "/" + place.host + "-rank" + std::to_string(place.rank) + "-" +
           std::to_string(1000 + place.rank) + "-1.nccl.cpt";
  }

  RankBuilder& Communicator(std::uint32_t number, std::uint64_t id, int rank, int ranks) {
    trace::Communicator event;
    event.api_version = 5;
    event.communicator = number;
    event.communicator_id = id;
    event.rank = rank;
    event.ranks = ranks;
    event.nodes = place_.nodes;
    event.name = place_.communicator_name.empty() ? 0 : file_.Intern(place_.communicator_name);
    event.ticks = Ticks(0);
    file_.Emit(event);
    return *this;
  }

  RankBuilder& Do(const OperationStory& story) {
    if (story.function == "Send" || story.function == "Recv") {
      file_.Emit(Fill<trace::PointToPoint>(story));
    } else {
      file_.Emit(Fill<trace::Collective>(story));
    }
    return *this;
  }
  RankBuilder& AllReduce(std::int64_t at_ns, std::int64_t took_ns) {
    return Do({.at_ns = at_ns, .took_ns = took_ns});
  }

  // Began and was still open when the process was last heard of.
  RankBuilder& Open(const OperationStory& story) {
    auto event = Fill<trace::Collective>(story);
    event.flags |= trace::kOperationOpen;
    file_.Snapshot(event);
    return *this;
  }

  // Network work of the last operation.
  RankBuilder& Network(std::int32_t peer, std::int64_t at_ns, std::int64_t took_ns,
                       std::uint64_t bytes, bool send = true) {
    trace::ProxyOperation event;
    if (send) event.flags = trace::kProxySend;
    event.communicator = 1;
    event.operation = operations_;
    event.peer = peer;
    event.steps = event.planned_steps = 1;
    event.bytes = bytes;
    event.start_ticks = Ticks(at_ns);
    event.end_after_ticks = static_cast<float>(took_ns);
    event.rank = place_.rank;
    file_.Emit(event);
    return *this;
  }

  RankBuilder& Cost(std::int64_t at_ns, std::uint64_t calls, std::uint64_t ns_per_call) {
    trace::Cost cost;
    cost.ticks = Ticks(at_ns);
    cost.calls = calls;
    cost.sampled_calls = calls / 1024 + 1;
    cost.sampled_ticks = cost.sampled_calls * ns_per_call;
    cost.drain_cpu_ns = calls * 50;
    cost.written_bytes = calls * 8;
    file_.Cost(cost);
    return *this;
  }

  // The last sign of life; every story ends with one of these.
  void Ends(std::int64_t at_ns) {
    file_.Clock(Ticks(at_ns));
    file_.Finish();
  }
  void Killed(std::int64_t at_ns, std::size_t cut_bytes = 0) {
    file_.Clock(Ticks(at_ns));
    file_.FinishTorn(cut_bytes);
  }

  TraceFileWriter& file() { return file_; }
  std::uint64_t Ticks(std::int64_t ns) const {
    return Options(place_).start_ticks + static_cast<std::uint64_t>(ns);
  }

 private:
  static TraceFileWriter::Options Options(const Place& place) {
    TraceFileWriter::Options options;
    options.pid = 1000 + static_cast<std::uint32_t>(place.rank);
    options.file_id = static_cast<std::uint8_t>(place.rank + 1);
    options.start_ticks += static_cast<std::uint64_t>(place.clock_offset_ns);
    options.start_monotonic_raw_ns += static_cast<std::uint64_t>(place.clock_offset_ns);
    return options;
  }

  template <class Event>
  Event Fill(const OperationStory& story) {
    Event event;
    event.function = file_.Literal(story.function);
    event.datatype = file_.Literal(story.datatype);
    event.channels = 2;
    event.flags = trace::kOperationHasArrival;
    event.communicator = story.communicator;
    event.count = story.count;
    event.operation = ++operations_;
    constexpr std::int64_t kCallNs = 2000;  // from the API call to the stream
    event.enqueue_ticks = Ticks(story.at_ns + kCallNs);
    event.arrival_before_ticks = kCallNs;
    if (story.took_ns >= 0) {
      event.flags |= trace::kOperationHasHostEnd;
      event.end_after_ticks = static_cast<float>(story.took_ns - kCallNs);
    }
    if (story.gpu_ns >= 0) {
      event.flags |= trace::kOperationHasGpuTime;
      event.gpu_start_ns = 77'000'000'000 + static_cast<std::uint64_t>(story.at_ns);
      event.gpu_end_ns = event.gpu_start_ns + static_cast<std::uint64_t>(story.gpu_ns);
    }
    std::string key = std::string(story.function) + "/" + std::to_string(story.communicator);
    if constexpr (std::is_same_v<Event, trace::Collective>) {
      event.algorithm = file_.Literal(story.algorithm);
      event.protocol = file_.Literal(story.protocol);
      event.root = story.peer;
    } else {
      event.flags |= trace::kOperationOwnSequence;
      event.peer = story.peer;
      key += "/" + std::to_string(story.peer);
    }
    event.sequence =
        story.sequence < 0 ? next_sequence_[key]++ : static_cast<std::uint32_t>(story.sequence);
    return event;
  }

  Place place_;
  TraceFileWriter file_;
  std::uint32_t operations_ = 0;
  std::map<std::string, std::uint32_t> next_sequence_;
};

class JobBuilder {
 public:
  struct Options {
    int ranks = 4;
    int ranks_per_host = 8;
    std::string communicator_name = {};
    // Each further host's steady clock is ahead by this much: only the wall clock is common.
    std::int64_t clock_offset_ns = 0;
  };
  JobBuilder(std::string directory, const Options& options)
      : directory_(std::move(directory)), options_(options) {}

  RankBuilder& Rank(int rank) {
    std::unique_ptr<RankBuilder>& builder = ranks_[rank];
    if (builder == nullptr) {
      RankBuilder::Place place;
      const int host = rank / options_.ranks_per_host;
      place.rank = rank;
      place.ranks = options_.ranks;
      place.nodes = (options_.ranks + options_.ranks_per_host - 1) / options_.ranks_per_host;
      place.host = "node" + std::to_string(host);
      place.boot_id = "boot" + std::to_string(host);
      place.clock_offset_ns = host * options_.clock_offset_ns;
      place.communicator_name = options_.communicator_name;
      builder = std::make_unique<RankBuilder>(directory_, place);
    }
    return *builder;
  }

  // A step of all ranks: each computes from `at_ns` on, the late one longer by `late_ns`; one
  // all-reduce ends for all together.
  void Step(std::int64_t at_ns, std::int64_t compute_ns, std::int64_t transfer_ns,
            int late_rank = -1, std::int64_t late_ns = 0) {
    const std::int64_t end_ns = at_ns + compute_ns + (late_rank < 0 ? 0 : late_ns) + transfer_ns;
    for (int rank = 0; rank < options_.ranks; ++rank) {
      const std::int64_t start_ns = at_ns + compute_ns + (rank == late_rank ? late_ns : 0);
      Rank(rank).AllReduce(start_ns, end_ns - start_ns);
    }
  }
  void End(std::int64_t at_ns) {
    for (auto& [number, rank] : ranks_) rank->Ends(at_ns);
  }

 private:
  std::string directory_;
  Options options_;
  std::map<int, std::unique_ptr<RankBuilder>> ranks_;
};

}  // namespace chokepoint::tests
