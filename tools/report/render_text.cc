// Report -> text for a terminal or a file: the answer first, then the tables.
// Must not compute: every number comes from the Report.
#include "tools/report/render_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "tools/model/quantity.h"
#include "tools/report/escape.h"
#include "tools/report/text_table.h"
#include "tools/report/words.h"

namespace chokepoint::tools {
namespace {

constexpr std::size_t kLabelWidth = 10;
constexpr std::size_t kShownRanks = 16;
constexpr std::size_t kShownClasses = 12;  // per communicator
constexpr std::size_t kShownCommunicators = 8;
constexpr std::size_t kShownNotes = 20;

enum class Style { kHeading, kBad, kGood, kUnsure };

class TextRenderer {
 public:
  TextRenderer(const Report& report, const TextOptions& options)
      : report_(report), options_(options) {}

  std::string Render() {
    Title();
    Headline();
    if (options_.headline_only) return out_;
    Job();
    for (const Finding& finding : report_.findings) FindingDetails(finding);
    Communicators();
    Ranks();
    Notes();
    return out_;
  }

 private:
  std::string Styled(const std::string& text, Style style) const {
    if (!options_.color) return text;
    const char* code = style == Style::kBad      ? "1;31"
                       : style == Style::kGood   ? "1;32"
                       : style == Style::kUnsure ? "1;33"
                                                 : "1";
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
  }
  void Heading(const std::string& text) { out_ += "\n" + Styled(text, Style::kHeading) + "\n"; }

  // "label     text that may take
  //            several lines"
  void Labelled(const std::string& label, const std::string& text, std::size_t indent = 0) {
    const std::size_t margin = indent + kLabelWidth + 1;
    std::string block = Wrap(text, options_.width, margin);
    block.replace(indent, label.size(), label);
    out_ += block;
  }

  void Title() {
    std::string sources;
    for (const std::string& source : report_.sources)
      sources += (sources.empty() ? "" : " ") + Escape(source);
    const auto seconds = static_cast<std::time_t>(report_.job.start_realtime_ns / 1'000'000'000);
    out_ += Wrap(fmt::format("chokepoint report of {}", sources), options_.width, 0);
    if (report_.job.duration_ns > 0) {
      Labelled("run", fmt::format("{:%Y-%m-%d %H:%M:%S} UTC, {} long", fmt::gmtime(seconds),
                                  FormatNs(static_cast<double>(report_.job.duration_ns))));
    }
    Labelled("recorded", LossText());
    Labelled("own cost", CostText());
  }

  std::string LossText() const {
    const LossLine& loss = report_.loss;
    std::string text =
        fmt::format("{} of {} ranks, {} operations; ", report_.job.ranks_recorded,
                    std::max<std::int64_t>(report_.job.ranks_expected,
                                           static_cast<std::int64_t>(report_.job.ranks_recorded)),
                    FormatCount(report_.job.operations));
    if (loss.nothing_lost) text += "nothing lost";
    std::string parts;
    const auto part = [&parts](bool present, const std::string& what) {
      if (present) parts += (parts.empty() ? "" : ", ") + what;
    };
    part(loss.records_dropped > 0, FormatCount(loss.records_dropped) + " records dropped");
    part(loss.operations_missing > 0, FormatCount(loss.operations_missing) + " operations missing");
    part(loss.damaged_bytes > 0,
         FormatDecimalBytes(static_cast<double>(loss.damaged_bytes)) + " damaged");
    part(loss.ranks_without_trace > 0,
         fmt::format("{} ranks left no trace", loss.ranks_without_trace));
    if (!parts.empty()) text += "lost: " + parts;
    std::string more;
    if (loss.processes_killed > 0) {
      more += fmt::format("; {} processes were killed, the last records of {} of them salvaged",
                          loss.processes_killed, loss.processes_salvaged);
    }
    if (loss.processes_running > 0)
      more += fmt::format("; {} processes still run", loss.processes_running);
    if (loss.files_not_read > 0) more += fmt::format("; {} files not read", loss.files_not_read);
    return text + (parts.empty() && !loss.nothing_lost && !more.empty() ? more.substr(2) : more);
  }

  std::string CostText() const {
    const OwnCost& cost = report_.cost;
    if (!cost.measured) return "not measured: the traces hold no cost records";
    return fmt::format(
        "{} of the ranks' time ({} callbacks), background thread {} of a core, {} written",
        FormatShare(cost.run_share), FormatCount(cost.callbacks),
        FormatShare(cost.background_core_share),
        FormatDecimalBytes(static_cast<double>(cost.written_bytes)));
  }

  void Headline() {
    out_ += "\n";
    const bool bad = report_.verdict == Verdict::kProblem;
    const Style style = bad                               ? Style::kBad
                        : report_.verdict == Verdict::kOk ? Style::kGood
                                                          : Style::kUnsure;
    const std::size_t at = out_.size();
    Labelled("VERDICT", Escape(report_.headline));
    out_.replace(at, 7, Styled("VERDICT", style));
    for (const Finding& finding : report_.findings) {
      if (finding.id == report_.principal && !finding.next_step.empty())
        Labelled("next", Escape(finding.next_step));
    }
    Labelled("latest", Escape(report_.latest.sentence));
    Labelled("slowest", Escape(report_.slowest.sentence));
  }

  static std::string Join(const std::vector<std::string>& texts, std::size_t limit = 4) {
    std::string joined;
    for (std::size_t i = 0; i < texts.size() && i < limit; ++i)
      joined += (i == 0 ? "" : ", ") + Escape(texts[i]);
    if (texts.size() > limit) joined += fmt::format(" and {} more", texts.size() - limit);
    return joined;
  }

  void Job() {
    const JobHeader& job = report_.job;
    Heading("JOB");
    Labelled("ranks",
             fmt::format("{} in {} processes on {} host{}{}: {}", job.ranks_recorded, job.processes,
                         job.hosts.size(), job.hosts.size() == 1 ? "" : "s",
                         job.nodes > 0 ? fmt::format(" ({} node{} to NCCL)", job.nodes,
                                                     job.nodes == 1 ? "" : "s")
                                       : "",
                         Join(job.hosts)),
             2);
    if (!job.job_ids.empty()) Labelled("job", Join(job.job_ids), 2);
    Labelled("NCCL", job.nccl_versions.empty() ? "version not told" : Join(job.nccl_versions), 2);
    Labelled("transport",
             job.network_operations == 0
                 ? "no network traffic of NCCL's proxy was seen; what stays inside a node is not "
                   "visible to it"
                 : fmt::format(
                       "network: {} sent in {} transfers; what stays inside a node is not visible",
                       FormatDecimalBytes(static_cast<double>(job.network_sent_bytes)),
                       FormatCount(job.network_operations)),
             2);
    Labelled("steps",
             job.steps == 0 ? "no repeating step is evident"
                            : fmt::format("{} of {} operations, p50 {}, p99 {}",
                                          FormatCount(job.steps), job.operations_per_step,
                                          FormatNs(job.step_p50_ns), FormatNs(job.step_p99_ns)),
             2);
    Labelled(
        "clock",
        job.clock_error_ns == 0
            ? "all ranks on one host clock"
            : fmt::format(
                  "hosts aligned by {}, within {}; waiting across hosts is told from durations",
                  job.clock_method, FormatNs(job.clock_error_ns)),
        2);
  }

  static std::string Cell(const Value& value, Unit unit) {
    if (const auto* text = std::get_if<std::string>(&value)) return Escape(*text);
    const double number = std::get<double>(value);
    switch (unit) {
      case Unit::kNs:
        return FormatNs(number);
      case Unit::kBytes:
        return FormatBytes(number);
      case Unit::kShare:
        return FormatShare(number);
      default:
        return FormatCount(static_cast<std::uint64_t>(std::llround(number)));
    }
  }

  void FindingDetails(const Finding& finding) {
    if (finding.verdict != Verdict::kProblem) return;
    Heading(fmt::format("FINDING {}: {}", finding.id, finding.title));
    if (finding.id != report_.principal) out_ += Wrap(Escape(finding.sentence), options_.width, 2);
    for (const EvidenceTable& evidence : finding.evidence) {
      out_ += Wrap(Escape(evidence.title), options_.width, 2);
      std::vector<TextColumn> columns;
      for (const Column& column : evidence.columns) {
        columns.push_back(
            {"", column.name, column.unit == Unit::kText, 0, column.unit == Unit::kText ? 6u : 0u});
      }
      TextTable table(columns);
      for (const auto& row : evidence.rows) {
        std::vector<std::string> cells;
        for (std::size_t i = 0; i < row.size(); ++i)
          cells.push_back(Cell(row[i], evidence.columns[i].unit));
        table.AddRow(std::move(cells));
      }
      out_ += table.Print(options_.width, 4);
    }
    Labelled("sure",
             fmt::format("{} confidence, costs {} ({} of the run)", Word(finding.confidence),
                         FormatNs(finding.lost_ns), FormatShare(finding.wall_share)),
             2);
    if (!finding.refuted_by.empty()) Labelled("unless", Escape(finding.refuted_by), 2);
    if (finding.id != report_.principal && !finding.next_step.empty())
      Labelled("next", Escape(finding.next_step), 2);
  }

  static std::string SizeRange(const ClassRow& row) {
    std::string low = FormatBytes(row.min_bytes);
    const std::string high = FormatBytes(row.max_bytes);
    if (low == high) return low;
    const bool same_unit = low.substr(low.find(' ')) == high.substr(high.find(' '));
    return (same_unit ? low.substr(0, low.find(' ')) : low) + "-" + high;
  }

  void Communicators() {
    bool any = false;
    for (std::size_t i = 0; i < report_.communicators.size() && i < kShownCommunicators; ++i) {
      const CommunicatorTable& table = report_.communicators[i];
      if (!any) Heading("OPERATIONS BY COMMUNICATOR");
      any = true;
      out_ += Wrap(CommunicatorTitle(table), options_.width, 2);
      PrintClasses(table);
    }
    if (!any) return;
    if (report_.communicators.size() > kShownCommunicators) {
      out_ += fmt::format("  and {} more communicators (all are in --format json)\n",
                          report_.communicators.size() - kShownCommunicators);
    }
    out_ += Wrap(
        "seen: from the call until the host saw its completion, as the program that waits for it "
        "sees it. transfer: from the last rank's start to the end, without waiting. algbw and "
        "busbw "
        "in GB/s as nccl-tests define them. share: time in it, mean over ranks, of the run. by "
        "(transfer, share): gpu = kernels on the GPU's clock, host = call to completion, proxy = "
        "call to the last network transfer.",
        options_.width, 2);
  }

  static std::string CommunicatorTitle(const CommunicatorTable& table) {
    std::string text = Escape(table.name) + ": ";
    if (table.ranks == 0) return text + "its start was not recorded";
    text += fmt::format("{} ranks", table.ranks);
    if (table.nodes > 0)
      text += fmt::format(" on {} node{}", table.nodes, table.nodes == 1 ? "" : "s");
    if (table.ranks_recorded < static_cast<std::uint64_t>(table.ranks)) {
      text += fmt::format(", {} recorded: waiting cannot be told", table.ranks_recorded);
    }
    return text;
  }

  void PrintClasses(const CommunicatorTable& from) {
    TextTable table({{"", "operation", true, 0, 6},
                     {"", "size", false, 0, 0},
                     {"", "algo/proto", true, 0, 8},
                     {"", "count", false, 0, 0},
                     {"seen", "p50", false, 0, 0},
                     {"seen", "p99", false, 3, 0},
                     {"seen", "algbw", false, 0, 0},
                     {"transfer", "p50", false, 0, 0},
                     {"transfer", "p99", false, 6, 0},
                     {"transfer", "algbw", false, 5, 0},
                     {"transfer", "busbw", false, 0, 0},
                     {"", "share", false, 0, 0},
                     {"", "by", true, 4, 0}});
    std::size_t shown = 0;
    for (const ClassRow& row : from.rows) {
      if (shown++ == kShownClasses) break;
      const bool timed = row.source != TimeSource::kUnknown;
      const auto ns = [](bool known, double value) {
        return known ? FormatNs(value) : std::string("-");
      };
      const auto bandwidth = [](double value) {
        return value > 0 ? FormatGbps(value) : std::string("-");
      };
      std::string how = Escape(row.algorithm);
      if (!row.protocol.empty()) how += "/" + Escape(row.protocol);
      table.AddRow({Escape(row.function), SizeRange(row), how.empty() ? "-" : how,
                    FormatCount(row.operations), ns(timed, row.seen_p50_ns),
                    ns(timed, row.seen_p99_ns), bandwidth(row.seen_algbw),
                    ns(row.has_transfer, row.transfer_p50_ns),
                    ns(row.has_transfer, row.transfer_p99_ns), bandwidth(row.transfer_algbw),
                    bandwidth(row.transfer_busbw), FormatShare(row.wall_share), Word(row.source)});
    }
    out_ += table.Print(options_.width, 4);
    if (from.rows.size() > kShownClasses) {
      out_ += fmt::format("    and {} more kinds of operations (all are in --format json)\n",
                          from.rows.size() - kShownClasses);
    }
  }

  void Ranks() {
    if (report_.ranks.empty()) return;
    Heading("TIME PER RANK");
    std::vector<const RankRow*> rows;
    for (const RankRow& row : report_.ranks) rows.push_back(&row);
    const bool cut = rows.size() > kShownRanks;
    if (cut) {
      std::stable_sort(rows.begin(), rows.end(), [](const RankRow* a, const RankRow* b) {
        return a->outside_ns > b->outside_ns;
      });
      rows.resize(kShownRanks);
      out_ += fmt::format(
          "  the {} ranks of {} with most time outside NCCL (all are in --format json)\n",
          kShownRanks, report_.ranks.size());
    }
    TextTable table({{"", "rank", false, 0, 0},
                     {"", "host", true, 0, 8},
                     {"", "operations", false, 2, 0},
                     {"", "run", false, 0, 0},
                     {"", "start-up", false, 1, 0},
                     {"", "outside NCCL", false, 0, 0},
                     {"in NCCL", "waiting", false, 0, 0},
                     {"in NCCL", "transfer", false, 0, 0}});
    for (const RankRow* row : rows) {
      const auto part = [row](std::int64_t ns) {
        const double share =
            row->run_ns > 0 ? static_cast<double>(ns) / static_cast<double>(row->run_ns) : 0;
        return fmt::format("{} {:3.0f}%", FormatNs(static_cast<double>(ns)), share * 100);
      };
      table.AddRow({row->number < 0 ? "?" : std::to_string(row->number), Escape(row->host),
                    FormatCount(row->operations), FormatNs(static_cast<double>(row->run_ns)),
                    part(row->startup_ns), part(row->outside_ns), part(row->waiting_ns),
                    part(row->transfer_ns)});
    }
    out_ += table.Print(options_.width, 2);
    out_ += Wrap(
        "start-up: until the first operation. waiting: for the last rank to arrive. The four parts "
        "add up to the run.",
        options_.width, 2);
    std::uint64_t without_end = 0;
    for (const RankRow& row : report_.ranks) without_end += row.operations_without_end;
    if (without_end > 0) {
      out_ += Wrap(
          fmt::format(
              "{} operations have no known end (NCCL did not tell): their time counts as outside.",
              FormatCount(without_end)),
          options_.width, 2);
    }
  }

  void Notes() {
    if (report_.notes.empty()) return;
    Heading("FILES NOT READ, OR NOT WHOLLY");
    for (std::size_t i = 0; i < report_.notes.size() && i < kShownNotes; ++i) {
      out_ += "  " + Escape(report_.notes[i].message) + "\n";
    }
    if (report_.notes.size() > kShownNotes) {
      out_ += fmt::format("  and {} more (all are in --format json)\n",
                          report_.notes.size() - kShownNotes);
    }
  }

  const Report& report_;
  const TextOptions& options_;
  std::string out_;
};

}  // namespace

std::string RenderText(const Report& report, const TextOptions& options) {
  return TextRenderer(report, options).Render();
}

}  // namespace chokepoint::tools
