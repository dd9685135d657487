// Timeline and findings -> Report: sums, bandwidths and the order in which things are said.
// Must not format numbers for a particular renderer.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tools/model/message_size.h"
#include "tools/model/quantity.h"
#include "tools/report/report.h"
#include "tools/report/standouts.h"

namespace chokepoint::tools {
namespace {

const Communicator* Largest(const Timeline& timeline) {
  const Communicator* largest = nullptr;
  for (const Communicator& communicator : timeline.communicators) {
    if (largest == nullptr || communicator.members.size() > largest->members.size())
      largest = &communicator;
  }
  return largest;
}

template <class Range>
std::vector<std::string> NotEmpty(const Range& range) {
  std::set<std::string> texts(range.begin(), range.end());
  texts.erase("");
  return {texts.begin(), texts.end()};
}

// A process can have two traces, one of NCCL and one of file I/O.
template <class Predicate>
std::uint64_t CountProcesses(const Timeline& timeline, Predicate predicate) {
  std::set<std::pair<Index, std::uint32_t>> found;
  for (const Process& process : timeline.processes) {
    if (predicate(process)) found.emplace(process.host, process.pid);
  }
  return found.size();
}

JobHeader DescribeJob(const Timeline& timeline) {
  JobHeader job;
  job.ranks_recorded = timeline.ranks.size();
  if (const Communicator* world = Largest(timeline)) {
    job.ranks_expected = static_cast<std::int32_t>(world->members.size());
    job.nodes = world->nodes;
  }
  for (const Host& host : timeline.hosts) job.hosts.push_back(host.name);
  std::vector<std::string> versions;
  std::vector<std::string> ids;
  for (const Process& process : timeline.processes) {
    versions.push_back(process.nccl_version);
    ids.push_back(process.job_id);
    job.operations += process.operations;
    job.network_operations += process.proxy_operations;
    job.network_sent_bytes += process.network_sent_bytes;
  }
  job.nccl_versions = NotEmpty(versions);
  job.job_ids = NotEmpty(ids);
  job.start_realtime_ns = timeline.start_realtime_ns;
  job.duration_ns = timeline.duration_ns;
  job.processes = CountProcesses(timeline, [](const Process&) { return true; });
  job.steps = timeline.steps.count;
  job.step_p50_ns = timeline.steps.duration.Quantile(0.5);
  job.step_p99_ns = timeline.steps.duration.Quantile(0.99);
  job.operations_per_step = timeline.steps.operations_per_step;
  if (!timeline.hosts.empty()) job.clock_method = timeline.hosts[0].clock.method;
  job.clock_error_ns = timeline.clock_error_ns;
  return job;
}

LossLine DescribeLoss(const Timeline& timeline) {
  LossLine loss;
  for (const Process& process : timeline.processes) {
    loss.damaged_bytes += process.damaged_bytes;
    for (const LossCount& count : process.losses) loss.records_dropped += count.events;
  }
  const auto killed = [](const Process& process) {
    return !process.closed_in_order && !process.running;
  };
  loss.processes_running =
      CountProcesses(timeline, [](const Process& process) { return process.running; });
  loss.processes_killed = CountProcesses(timeline, killed);
  loss.processes_salvaged = CountProcesses(
      timeline, [&](const Process& process) { return killed(process) && process.salvaged; });
  for (const Rank& rank : timeline.ranks) loss.operations_missing += rank.operations_missing;
  for (const FileNote& note : timeline.notes) loss.files_not_read += !note.read;
  if (const Communicator* world = Largest(timeline)) {
    loss.ranks_without_trace =
        static_cast<std::int32_t>(world->members.size() - world->MembersSeen());
  }
  loss.nothing_lost = loss.records_dropped + loss.operations_missing + loss.damaged_bytes == 0 &&
                      loss.ranks_without_trace == 0 &&
                      loss.processes_killed == loss.processes_salvaged;
  return loss;
}

OwnCost DescribeCost(const Timeline& timeline) {
  OwnCost cost;
  double process_time_ns = 0;
  for (const Process& process : timeline.processes) {
    cost.callbacks += process.calls;
    cost.callback_ns += process.callback_cost_ns;
    cost.background_cpu_ns += process.drain_cpu_ns;
    cost.written_bytes += process.written_bytes;
    process_time_ns += static_cast<double>(process.end_ns - process.start_ns);
  }
  cost.measured = cost.callbacks > 0 && process_time_ns > 0;
  if (cost.measured) {
    cost.run_share = cost.callback_ns / process_time_ns;
    cost.background_core_share = static_cast<double>(cost.background_cpu_ns) / process_time_ns;
  }
  return cost;
}

ClassRow DescribeClass(const OperationClass& from, std::int32_t ranks) {
  ClassRow row;
  row.function = from.function;
  row.algorithm = from.algorithm;
  row.protocol = from.protocol;
  row.datatype = from.datatype;
  row.source = from.source;
  row.min_bytes = from.min_bytes;
  row.max_bytes = from.max_bytes;
  row.total_bytes = from.total_bytes;
  row.operations = from.groups;
  row.records = from.records;
  row.seen_p50_ns = from.seen.Quantile(0.5);
  row.seen_p99_ns = from.seen.Quantile(0.99);
  row.own_p50_ns = from.own.Quantile(0.5);
  row.own_p99_ns = from.own.Quantile(0.99);
  row.waiting_p50_ns = from.waiting.Quantile(0.5);
  row.waiting_mean_ns = from.waiting.mean_ns();
  row.has_transfer = from.transfer.count() > 0;
  row.transfer_p50_ns = from.transfer.Quantile(0.5);
  row.transfer_p99_ns = from.transfer.Quantile(0.99);
  const double mean_bytes =
      from.groups == 0 ? from.max_bytes : from.total_bytes / static_cast<double>(from.groups);
  const double factor = BusFactor(from.function, ranks);
  if (row.seen_p50_ns > 0) row.seen_algbw = mean_bytes / row.seen_p50_ns * 1e9;
  if (row.transfer_p50_ns > 0) row.transfer_algbw = mean_bytes / row.transfer_p50_ns * 1e9;
  row.seen_busbw = row.seen_algbw * factor;
  row.transfer_busbw = row.transfer_algbw * factor;
  row.wall_share = from.wall_share;
  return row;
}

std::vector<CommunicatorTable> DescribeCommunicators(const Timeline& timeline) {
  std::vector<CommunicatorTable> tables(timeline.communicators.size() + 1);
  for (std::size_t i = 0; i < timeline.communicators.size(); ++i) {
    const Communicator& communicator = timeline.communicators[i];
    CommunicatorTable& table = tables[i];
    table.name = CommunicatorName(communicator);
    table.id = communicator.id;
    table.ranks = static_cast<std::int32_t>(communicator.members.size());
    table.nodes = communicator.nodes;
    table.ranks_recorded = communicator.MembersSeen();
    table.method = communicator.method;
  }
  tables.back().name = "unknown communicator";
  for (const OperationClass& row : timeline.classes) {
    CommunicatorTable& table = row.communicator == kNone ? tables.back() : tables[row.communicator];
    table.rows.push_back(DescribeClass(row, table.ranks));
  }
  std::erase_if(tables, [](const CommunicatorTable& table) { return table.rows.empty(); });
  const auto share = [](const CommunicatorTable& table) {
    double sum = 0;
    for (const ClassRow& row : table.rows)
      sum += row.wall_share * static_cast<double>(table.ranks_recorded);
    return sum;
  };
  for (CommunicatorTable& table : tables) {
    std::stable_sort(
        table.rows.begin(), table.rows.end(),
        [](const ClassRow& a, const ClassRow& b) { return a.wall_share > b.wall_share; });
  }
  std::stable_sort(tables.begin(), tables.end(),
                   [&share](const CommunicatorTable& a, const CommunicatorTable& b) {
                     return share(a) > share(b);
                   });
  return tables;
}

std::vector<RankRow> DescribeRanks(const Timeline& timeline) {
  std::vector<RankRow> rows;
  for (Index i = 0; i < timeline.ranks.size(); ++i) {
    const Rank& rank = timeline.ranks[i];
    const Process& process = timeline.processes[rank.process];
    RankRow row;
    row.name = RankName(timeline, i);
    row.number = rank.number;
    row.host = timeline.hosts[process.host].name;
    row.pid = process.pid;
    row.operations = rank.operations;
    row.operations_without_end = rank.operations_without_end;
    row.run_ns = rank.end_ns - rank.start_ns;
    row.startup_ns = rank.startup_ns;
    row.in_nccl_ns = rank.InNcclNs();
    row.waiting_ns = rank.waiting_ns;
    row.transfer_ns = rank.transfer_ns;
    row.outside_ns = rank.OutsideNs();
    rows.push_back(std::move(row));
  }
  return rows;
}

// Causes before symptoms: the costliest problem that is not about the trace itself. Without one,
// what was looked for in vain.
void ChooseHeadline(Report* report) {
  std::string unknown;
  std::string fine;
  for (const Finding& finding : report->findings) {
    const bool about_trace = finding.id == "trace-loss";
    if (finding.verdict == Verdict::kProblem && !about_trace && report->principal.empty()) {
      report->principal = finding.id;
      report->headline = finding.sentence;
      report->verdict = Verdict::kProblem;
    }
    if (finding.verdict == Verdict::kNoData && !about_trace && unknown.empty())
      unknown = finding.sentence;
    if (finding.verdict == Verdict::kOk && finding.id == "late-rank") fine = finding.sentence;
  }
  if (!report->principal.empty()) return;
  report->verdict = unknown.empty() ? Verdict::kOk : Verdict::kNoData;
  report->headline = unknown.empty() ? "No bottleneck found. " + fine : unknown;
}

}  // namespace

Report BuildReport(const Timeline& timeline, std::vector<Finding> findings,
                   std::vector<std::string> sources) {
  Report report;
  report.sources = std::move(sources);
  report.job = DescribeJob(timeline);
  report.loss = DescribeLoss(timeline);
  report.cost = DescribeCost(timeline);
  report.findings = std::move(findings);
  report.communicators = DescribeCommunicators(timeline);
  report.ranks = DescribeRanks(timeline);
  report.slowest = SlowestRank(timeline);
  for (const Finding& finding : report.findings) {
    if (finding.id == "late-rank") report.latest = LatestRank(timeline, finding);
  }
  report.notes = timeline.notes;
  ChooseHeadline(&report);
  return report;
}

}  // namespace chokepoint::tools
