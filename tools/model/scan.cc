// First pass over one trace file: everything that must be known before operations can be placed in
// time and matched over ranks. Must not keep anything in proportion to the number of operations.
#include "tools/model/scan.h"

#include <algorithm>
#include <charconv>

namespace chokepoint::tools {
namespace {

// A file can claim any number of these; a healthy one has a sample each ten seconds and a few
// hundred communicators.
constexpr std::size_t kMaxClockSamples = 1'000'000;
constexpr std::size_t kMaxCommunicators = 100'000;
constexpr std::size_t kMaxOpen = 1'000'000;

class Scanner {
 public:
  Scanner(const trace::TraceFile& file, FileFacts* facts) : file_(file), facts_(facts) {}

  void Take(const trace::EventView& view) {
    facts_->salvaged |= view.salvaged;
    switch (view.kind) {
      case trace::EventKind::kCollective:
        return TakeOperation<trace::Collective>(view, &facts_->open_collectives);
      case trace::EventKind::kPointToPoint:
        return TakeOperation<trace::PointToPoint>(view, &facts_->open_point_to_points);
      case trace::EventKind::kProxyOperation:
        return TakeProxyOperation(view);
      case trace::EventKind::kClockSample:
        return TakeClockSample(view);
      case trace::EventKind::kCommunicator:
        return TakeCommunicator(view);
      case trace::EventKind::kLoss:
        return TakeLoss(view);
      case trace::EventKind::kCost:
        return TakeCost(view);
      case trace::EventKind::kOperationSummary:
        return TakeSummary(view);
      default:
        return;
    }
  }

  // A process that hangs records nothing but snapshots: an operation gets its first when it has
  // been open for a second, and another every five seconds. (A recorder that stops in order also
  // writes those of young operations.)
  void Finish() {
    std::uint64_t second = 0;
    const std::string_view told = file_.meta("ticks_per_second");
    std::from_chars(told.data(), told.data() + told.size(), second);
    if (facts_->read.ended || second == 0 || second > 1'000'000'000'000) return;
    for (const auto& [operation, seen] : snapshots_) {
      Seen(seen.enqueue_ticks + second + 5 * second * (seen.count - 1));
    }
  }

 private:
  void Seen(std::uint64_t ticks) {
    if (ticks == 0) return;
    if (facts_->first_ticks == 0 || ticks < facts_->first_ticks) facts_->first_ticks = ticks;
    facts_->last_ticks = std::max(facts_->last_ticks, ticks);
  }

  // Snapshots of one operation in the file.
  struct Snapshots {
    std::uint64_t enqueue_ticks = 0;
    std::uint64_t count = 0;
    void Again(std::uint64_t ticks) {
      enqueue_ticks = ticks;
      ++count;
    }
  };

  static std::uint64_t After(std::uint64_t ticks, float span) {
    return span > 0 && span < 1e18f ? ticks + static_cast<std::uint64_t>(span) : ticks;
  }

  template <class Event>
  void TakeOperation(const trace::EventView& view, std::map<std::uint32_t, Event>* open) {
    Event event;
    if (!file_.Decode(view, &event)) return;
    Seen(event.enqueue_ticks);
    if (event.flags & trace::kOperationHasHostEnd)
      Seen(After(event.enqueue_ticks, event.end_after_ticks));
    if (!view.snapshot) {
      ++facts_->operations;
      constexpr auto kKnowsEnd = trace::kOperationHasHostEnd | trace::kOperationHasGpuTime;
      if (!(event.flags & kKnowsEnd)) facts_->has_operations_without_end = true;
    } else if (open->size() < kMaxOpen) {
      (*open)[event.operation] = event;
      if (!view.salvaged) snapshots_[event.operation].Again(event.enqueue_ticks);
    }
  }

  void TakeProxyOperation(const trace::EventView& view) {
    trace::ProxyOperation event;
    if (!file_.Decode(view, &event)) return;
    Seen(After(event.start_ticks, event.end_after_ticks));
    if (view.snapshot) {
      if (facts_->open_proxy_operations.size() < kMaxOpen)
        facts_->open_proxy_operations[event.operation] = event;
      return;
    }
    ++facts_->proxy_operations;
    if (event.flags & trace::kProxySend) facts_->network_sent_bytes += event.bytes;
  }

  void TakeClockSample(const trace::EventView& view) {
    trace::ClockSample event;
    if (!file_.Decode(view, &event) || facts_->clock_samples.size() >= kMaxClockSamples) return;
    facts_->clock_samples.push_back(event);
    Seen(event.ticks);
  }

  void TakeCommunicator(const trace::EventView& view) {
    trace::Communicator event;
    if (!file_.Decode(view, &event)) return;
    Seen(event.ticks);
    for (trace::Communicator& known : facts_->communicators) {
      if (known.communicator == event.communicator) {  // a snapshot comes again
        known = event;
        return;
      }
    }
    if (facts_->communicators.size() < kMaxCommunicators) facts_->communicators.push_back(event);
  }

  void TakeLoss(const trace::EventView& view) {
    trace::Loss event;
    if (!file_.Decode(view, &event)) return;
    trace::Loss& sum = facts_->losses[event.reason];
    sum.reason = event.reason;
    sum.events += event.events;
    sum.bytes += event.bytes;
  }

  void TakeCost(const trace::EventView& view) {
    trace::Cost event;
    if (!file_.Decode(view, &event)) return;
    if (!facts_->has_cost || event.ticks >= facts_->cost.ticks) facts_->cost = event;
    facts_->has_cost = true;
  }

  void TakeSummary(const trace::EventView& view) {
    trace::OperationSummary event;
    if (file_.Decode(view, &event)) facts_->summarised_operations += event.operations;
  }

  const trace::TraceFile& file_;
  FileFacts* facts_;
  std::map<std::uint32_t, Snapshots> snapshots_;  // by operation
};

}  // namespace

FileFacts ScanFile(trace::TraceFile* file) {
  FileFacts facts;
  Scanner scanner(*file, &facts);
  facts.read = file->Read([&scanner](const trace::EventView& view) { scanner.Take(view); });
  scanner.Finish();
  return facts;
}

}  // namespace chokepoint::tools
