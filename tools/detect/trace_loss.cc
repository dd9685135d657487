// Says how much of what happened is not in the traces, and therefore how far the other answers can
// be trusted. Must not guess what the missing part would have shown.
#include <fmt/format.h>

#include <map>

#include "tools/detect/detectors.h"
#include "tools/model/quantity.h"
#include "trace/events.h"

namespace chokepoint::tools {
namespace {

std::string ReasonTitle(std::uint16_t reason) {
  switch (static_cast<trace::LossReason>(reason)) {
#define X(number, name, title, doc) \
  case trace::LossReason::name:     \
    return std::string(title) + ": " + doc;
    CHOKEPOINT_LOSS_REASONS(X)
#undef X
  }
  return fmt::format("reason {}", reason);
}

}  // namespace

Finding DetectTraceLoss(const Timeline& timeline) {
  const TraceLossLimits limits;
  Finding finding;
  finding.confidence = Confidence::kHigh;
  std::map<std::uint16_t, LossCount> by_reason;
  std::uint64_t recorded = 0;
  std::uint64_t lost = 0;
  std::uint64_t damaged_bytes = 0;
  std::uint64_t missing = 0;
  for (const Process& process : timeline.processes) {
    recorded += process.operations + process.proxy_operations;
    damaged_bytes += process.damaged_bytes;
    for (const LossCount& loss : process.losses) {
      lost += loss.events;
      by_reason[loss.reason].events += loss.events;
      by_reason[loss.reason].bytes += loss.bytes;
    }
  }
  for (const Rank& rank : timeline.ranks) missing += rank.operations_missing;
  if (recorded + lost == 0) {
    finding.sentence = "Not enough data: the traces hold no operations at all.";
    finding.next_step =
        "Check that NCCL loaded the plugin: run with NCCL_DEBUG=INFO and look for chokepoint's "
        "line.";
    return finding;
  }
  EvidenceTable table{"What was dropped",
                      {{"reason", Unit::kText}, {"records", Unit::kCount}, {"size", Unit::kBytes}},
                      {}};
  for (const auto& [reason, loss] : by_reason) {
    table.rows.push_back(
        {ReasonTitle(reason), static_cast<double>(loss.events), static_cast<double>(loss.bytes)});
  }
  if (!table.rows.empty()) finding.evidence.push_back(std::move(table));
  const double share = static_cast<double>(lost) / static_cast<double>(recorded + lost);
  const double missing_share =
      static_cast<double>(missing) / static_cast<double>(recorded + missing);
  finding.verdict = share >= limits.min_share || missing_share >= limits.min_share
                        ? Verdict::kProblem
                        : Verdict::kOk;
  finding.sentence =
      lost == 0 && missing == 0 && damaged_bytes == 0
          ? fmt::format("Nothing is known to be lost of {} records.", FormatCount(recorded))
          : fmt::format(
                "{} of {} records were dropped ({}), {} operations are missing in the sequence, {} "
                "of the "
                "files are damaged.",
                FormatCount(lost), FormatCount(recorded + lost), FormatShare(share),
                FormatCount(missing), FormatDecimalBytes(static_cast<double>(damaged_bytes)));
  if (finding.verdict == Verdict::kProblem) {
    finding.refuted_by = "Counts and sums are too small by the share above; medians need not be.";
    finding.next_step =
        "See the reasons above: a larger CHOKEPOINT_MAX_MB, more room in /dev/shm or in the trace "
        "directory.";
  }
  return finding;
}

}  // namespace chokepoint::tools
