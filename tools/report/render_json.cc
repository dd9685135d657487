// Report -> JSON for programs: stable, versioned, units in the names. docs/report.md describes
// every field. Must not compute: every number comes from the Report.
#include "tools/report/render_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/report/escape.h"
#include "tools/report/words.h"

namespace chokepoint::tools {
namespace {

using Json = nlohmann::ordered_json;

// Names and paths are bytes: what is not plain text is escaped as in the text report, so that the
// document is always valid.
Json Text(const std::string& text) { return Escape(text); }

Json Texts(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(Text(text));
  return list;
}

// Whole nanoseconds and bytes: fractions of them are noise.
Json Whole(double value) { return static_cast<std::int64_t>(std::llround(value)); }
// Six significant digits.
Json Ratio(double value) {
  return value == 0 ? Json(0.0) : Json(std::stod(fmt::format("{:.6g}", value)));
}
Json Gbps(double bytes_per_second) { return Ratio(bytes_per_second / 1e9); }
Json Hex(std::uint64_t id) { return fmt::format("{:#x}", id); }

Json JobJson(const JobHeader& job) {
  return {{"ranks_recorded", job.ranks_recorded},
          {"ranks_expected", job.ranks_expected},
          {"nodes", job.nodes},
          {"hosts", Texts(job.hosts)},
          {"nccl_versions", Texts(job.nccl_versions)},
          {"job_ids", Texts(job.job_ids)},
          {"start_realtime_ns", job.start_realtime_ns},
          {"duration_ns", job.duration_ns},
          {"processes", job.processes},
          {"operations", job.operations},
          {"network_operations", job.network_operations},
          {"network_sent_bytes", job.network_sent_bytes},
          {"steps", job.steps},
          {"step_p50_ns", Whole(job.step_p50_ns)},
          {"step_p99_ns", Whole(job.step_p99_ns)},
          {"operations_per_step", job.operations_per_step},
          {"clock_method", job.clock_method},
          {"clock_error_ns", Whole(job.clock_error_ns)}};
}

Json LossJson(const LossLine& loss) {
  return {{"nothing_lost", loss.nothing_lost},
          {"records_dropped", loss.records_dropped},
          {"operations_missing", loss.operations_missing},
          {"damaged_bytes", loss.damaged_bytes},
          {"files_not_read", loss.files_not_read},
          {"processes_killed", loss.processes_killed},
          {"processes_salvaged", loss.processes_salvaged},
          {"processes_running", loss.processes_running},
          {"ranks_without_trace", loss.ranks_without_trace}};
}

Json CostJson(const OwnCost& cost) {
  return {{"measured", cost.measured},
          {"callbacks", cost.callbacks},
          {"callback_ns", Whole(cost.callback_ns)},
          {"run_share", Ratio(cost.run_share)},
          {"background_cpu_ns", cost.background_cpu_ns},
          {"background_core_share", Ratio(cost.background_core_share)},
          {"written_bytes", cost.written_bytes}};
}

Json ValueJson(const Value& value, Unit unit) {
  if (const auto* text = std::get_if<std::string>(&value)) return Text(*text);
  const double number = std::get<double>(value);
  return unit == Unit::kShare ? Ratio(number) : Whole(number);
}

Json FindingJson(const Finding& finding) {
  Json evidence = Json::array();
  for (const EvidenceTable& table : finding.evidence) {
    Json columns = Json::array();
    for (const Column& column : table.columns)
      columns.push_back({{"name", column.name}, {"unit", Word(column.unit)}});
    Json rows = Json::array();
    for (const auto& row : table.rows) {
      Json cells = Json::array();
      for (std::size_t i = 0; i < row.size(); ++i)
        cells.push_back(ValueJson(row[i], table.columns[i].unit));
      rows.push_back(std::move(cells));
    }
    evidence.push_back(
        {{"title", Text(table.title)}, {"columns", std::move(columns)}, {"rows", std::move(rows)}});
  }
  return {{"id", finding.id},
          {"title", finding.title},
          {"verdict", Word(finding.verdict)},
          {"sentence", Text(finding.sentence)},
          {"lost_ns", Whole(finding.lost_ns)},
          {"wall_share", Ratio(finding.wall_share)},
          {"confidence", Word(finding.confidence)},
          {"refuted_by", Text(finding.refuted_by)},
          {"next_step", Text(finding.next_step)},
          {"evidence", std::move(evidence)}};
}

Json ClassJson(const ClassRow& row) {
  Json transfer;  // null when it is not known
  if (row.has_transfer) {
    transfer = {{"p50_ns", Whole(row.transfer_p50_ns)},
                {"p99_ns", Whole(row.transfer_p99_ns)},
                {"algbw_gb_per_s", Gbps(row.transfer_algbw)},
                {"busbw_gb_per_s", Gbps(row.transfer_busbw)}};
  }
  return {
      {"function", Text(row.function)},
      {"algorithm", Text(row.algorithm)},
      {"protocol", Text(row.protocol)},
      {"datatype", Text(row.datatype)},
      {"time_source", Word(row.source)},
      {"min_bytes", Whole(row.min_bytes)},
      {"max_bytes", Whole(row.max_bytes)},
      {"total_bytes", Whole(row.total_bytes)},
      {"operations", row.operations},
      {"records", row.records},
      {"seen",
       {{"p50_ns", Whole(row.seen_p50_ns)},
        {"p99_ns", Whole(row.seen_p99_ns)},
        {"algbw_gb_per_s", Gbps(row.seen_algbw)},
        {"busbw_gb_per_s", Gbps(row.seen_busbw)}}},
      {"own", {{"p50_ns", Whole(row.own_p50_ns)}, {"p99_ns", Whole(row.own_p99_ns)}}},
      {"waiting", {{"p50_ns", Whole(row.waiting_p50_ns)}, {"mean_ns", Whole(row.waiting_mean_ns)}}},
      {"transfer", std::move(transfer)},
      {"wall_share", Ratio(row.wall_share)}};
}

Json CommunicatorJson(const CommunicatorTable& table) {
  Json rows = Json::array();
  for (const ClassRow& row : table.rows) rows.push_back(ClassJson(row));
  return {{"name", Text(table.name)},
          {"id", Hex(table.id)},
          {"ranks", table.ranks},
          {"nodes", table.nodes},
          {"ranks_recorded", table.ranks_recorded},
          {"waiting_measured_by", Word(table.method)},
          {"operations", std::move(rows)}};
}

Json RankJson(const RankRow& row) {
  return {{"rank", row.number},
          {"name", Text(row.name)},
          {"host", Text(row.host)},
          {"pid", row.pid},
          {"operations", row.operations},
          {"operations_without_end", row.operations_without_end},
          {"run_ns", row.run_ns},
          {"startup_ns", row.startup_ns},
          {"in_nccl_ns", row.in_nccl_ns},
          {"waiting_ns", row.waiting_ns},
          {"transfer_ns", row.transfer_ns},
          {"outside_ns", row.outside_ns}};
}

Json StandoutJson(const Standout& standout) {
  return {{"verdict", Word(standout.verdict)},
          {"rank", Text(standout.rank)},
          {"sentence", Text(standout.sentence)}};
}

template <class Range, class Convert>
Json List(const Range& range, Convert convert) {
  Json list = Json::array();
  for (const auto& item : range) list.push_back(convert(item));
  return list;
}

}  // namespace

std::string RenderJson(const Report& report) {
  const Json notes = List(report.notes, [](const FileNote& note) {
    return Json{{"path", Text(note.path)}, {"message", Text(note.message)}, {"read", note.read}};
  });
  const Json document = {
      {"report_version", kReportVersion},
      {"sources", Texts(report.sources)},
      {"verdict", Word(report.verdict)},
      {"principal", report.principal},
      {"headline", Text(report.headline)},
      {"loss", LossJson(report.loss)},
      {"own_cost", CostJson(report.cost)},
      {"job", JobJson(report.job)},
      {"findings", List(report.findings, FindingJson)},
      {"communicators", List(report.communicators, CommunicatorJson)},
      {"ranks", List(report.ranks, RankJson)},
      {"slowest_rank", StandoutJson(report.slowest)},
      {"latest_rank", StandoutJson(report.latest)},
      {"files", notes},
  };
  return document.dump(2) + "\n";
}

}  // namespace chokepoint::tools
