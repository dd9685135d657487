// The report as data: what is said, with units in the names, before any renderer chooses words or
// columns. Must not hold anything that a renderer computes differently from another: text and JSON
// print the same numbers.
#pragma once

#include <string>
#include <vector>

#include "tools/detect/detector.h"
#include "tools/model/timeline.h"

namespace chokepoint::tools {

// Grows when a field changes its meaning or goes away; new fields do not count. docs/report.md says
// what was when.
inline constexpr int kReportVersion = 1;

struct JobHeader {
  std::uint64_t ranks_recorded = 0;
  std::int32_t ranks_expected = 0;  // size of the largest communicator; 0 = not told
  std::int32_t nodes = 0;           // as NCCL counts them, in that communicator
  std::vector<std::string> hosts;
  std::vector<std::string> nccl_versions;
  std::vector<std::string> job_ids;
  std::int64_t start_realtime_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint64_t processes = 0;
  std::uint64_t operations = 0;  // of single ranks
  std::uint64_t network_operations = 0;
  std::uint64_t network_sent_bytes = 0;
  std::uint64_t steps = 0;  // 0 = none evident
  double step_p50_ns = 0;
  double step_p99_ns = 0;
  std::uint32_t operations_per_step = 0;
  std::string clock_method;
  double clock_error_ns = 0;
};

struct LossLine {
  std::uint64_t records_dropped = 0;
  std::uint64_t operations_missing = 0;
  std::uint64_t damaged_bytes = 0;
  std::uint64_t files_not_read = 0;
  std::uint64_t processes_killed = 0;  // without END
  std::uint64_t processes_salvaged = 0;
  std::uint64_t processes_running = 0;
  std::int32_t ranks_without_trace = 0;
  bool nothing_lost = false;
};

struct OwnCost {
  bool measured = false;
  std::uint64_t callbacks = 0;
  double callback_ns = 0;  // all ranks together
  double run_share = 0;    // of the ranks' time
  std::uint64_t background_cpu_ns = 0;
  double background_core_share = 0;  // of one core per process
  std::uint64_t written_bytes = 0;
};

struct ClassRow {
  std::string function;
  std::string algorithm;
  std::string protocol;
  std::string datatype;
  TimeSource source = TimeSource::kUnknown;
  double min_bytes = 0;
  double max_bytes = 0;
  double total_bytes = 0;
  std::uint64_t operations = 0;
  std::uint64_t records = 0;
  // Per rank, from the call to its completion, on the host's clock.
  double seen_p50_ns = 0;
  double seen_p99_ns = 0;
  double seen_algbw =
      0;  // bytes per second, from the mean message size and seen_p50_ns; 0 = not known
  double seen_busbw = 0;
  // Per rank, from own start to own end, on the clock of `source`; its waiting part.
  double own_p50_ns = 0;
  double own_p99_ns = 0;
  double waiting_p50_ns = 0;
  double waiting_mean_ns = 0;
  // Per group, from the last start to the end.
  bool has_transfer = false;
  double transfer_p50_ns = 0;
  double transfer_p99_ns = 0;
  double transfer_algbw = 0;
  double transfer_busbw = 0;
  double wall_share = 0;
};

struct CommunicatorTable {
  std::string name;
  std::uint64_t id = 0;
  std::int32_t ranks = 0;
  std::int32_t nodes = 0;
  std::uint64_t ranks_recorded = 0;
  WaitMethod method = WaitMethod::kStarts;
  std::vector<ClassRow> rows;  // by share of wall time
};

struct RankRow {
  std::string name;
  std::int32_t number = -1;
  std::string host;
  std::uint32_t pid = 0;
  std::uint64_t operations = 0;
  std::uint64_t operations_without_end = 0;
  std::int64_t run_ns = 0;
  std::int64_t startup_ns = 0;
  std::int64_t in_nccl_ns = 0;
  std::int64_t waiting_ns = 0;
  std::int64_t transfer_ns = 0;
  std::int64_t outside_ns = 0;
};

// "The slowest rank is ...", or why that cannot be said.
struct Standout {
  Verdict verdict = Verdict::kNoData;  // kProblem: somebody stands out; kOk: nobody does
  std::string rank;
  std::string sentence;
};

struct Report {
  std::vector<std::string> sources;  // as given
  JobHeader job;
  LossLine loss;
  OwnCost cost;
  std::string headline;
  Verdict verdict = Verdict::kNoData;
  std::string principal;  // id of the finding that the headline tells; "" = none
  std::vector<Finding> findings;
  std::vector<CommunicatorTable> communicators;
  std::vector<RankRow> ranks;
  Standout slowest;
  Standout latest;
  std::vector<FileNote> notes;
};

Report BuildReport(const Timeline& timeline, std::vector<Finding> findings,
                   std::vector<std::string> sources);

}  // namespace chokepoint::tools
