// The table from rdma_drivers.def, and the sums.
// Must not contain the name of a counter: they are in the table.
#include "counters/rdma_counters.h"

#include <cstring>
#include <iterator>

namespace chokepoint::counters {

namespace {

using trace::RdmaDriver;
using trace::RdmaMetric;

constexpr std::uint8_t NumberOf(RdmaMetric metric) noexcept {
  return static_cast<std::uint8_t>(metric);
}

// Makes "kNone" a name beside those of RdmaMetric.
namespace metric_names {
constexpr std::uint8_t kNone = kNoMetric;
constexpr std::uint8_t kTxBytes = NumberOf(RdmaMetric::kTxBytes);
constexpr std::uint8_t kRxBytes = NumberOf(RdmaMetric::kRxBytes);
constexpr std::uint8_t kTxPackets = NumberOf(RdmaMetric::kTxPackets);
constexpr std::uint8_t kRxPackets = NumberOf(RdmaMetric::kRxPackets);
constexpr std::uint8_t kRetransmitFast = NumberOf(RdmaMetric::kRetransmitFast);
constexpr std::uint8_t kRetransmitTimeout = NumberOf(RdmaMetric::kRetransmitTimeout);
constexpr std::uint8_t kRetransmitAdaptive = NumberOf(RdmaMetric::kRetransmitAdaptive);
constexpr std::uint8_t kSeenLoss = NumberOf(RdmaMetric::kSeenLoss);
constexpr std::uint8_t kSeenDuplicates = NumberOf(RdmaMetric::kSeenDuplicates);
constexpr std::uint8_t kReceiverNotReady = NumberOf(RdmaMetric::kReceiverNotReady);
constexpr std::uint8_t kNoBuffer = NumberOf(RdmaMetric::kNoBuffer);
constexpr std::uint8_t kEcnMarked = NumberOf(RdmaMetric::kEcnMarked);
constexpr std::uint8_t kCnpSent = NumberOf(RdmaMetric::kCnpSent);
constexpr std::uint8_t kCnpHandled = NumberOf(RdmaMetric::kCnpHandled);
constexpr std::uint8_t kFatal = NumberOf(RdmaMetric::kFatal);
constexpr std::uint8_t kRateLimited = NumberOf(RdmaMetric::kRateLimited);
constexpr std::uint8_t kTransmitWait = NumberOf(RdmaMetric::kTransmitWait);
constexpr std::uint8_t kLinkDowned = NumberOf(RdmaMetric::kLinkDowned);
constexpr std::uint8_t kSymbolErrors = NumberOf(RdmaMetric::kSymbolErrors);
constexpr std::uint8_t kTransmitDiscards = NumberOf(RdmaMetric::kTransmitDiscards);
constexpr std::uint8_t kReceiveErrors = NumberOf(RdmaMetric::kReceiveErrors);
constexpr std::uint8_t kLinkRecoveries = NumberOf(RdmaMetric::kLinkRecoveries);
}  // namespace metric_names

constexpr RdmaCounterSpec kTable[] = {
#define PORT_COUNTER(name, metric, bits, saturates, factor) \
  {#name, RdmaDriver::kOther, true, metric_names::metric, {bits, saturates}, factor},
#define DRIVER_COUNTER(driver, name, metric, bits, factor) \
  {#name, RdmaDriver::driver, false, metric_names::metric, {bits, false}, factor},
#include "counters/rdma_drivers.def"
#undef PORT_COUNTER
#undef DRIVER_COUNTER
};

bool DriverGives(RdmaDriver driver, std::uint8_t metric) noexcept {
  for (const RdmaCounterSpec& spec : kTable) {
    if (!spec.of_port && spec.driver == driver && spec.metric == metric) return true;
  }
  return false;
}

// Moves all the time on a healthy port: not worth a record under its own name.
bool IsTraffic(std::uint8_t metric) noexcept {
  return metric <= NumberOf(RdmaMetric::kRxPackets) || metric == metric_names::kTransmitWait;
}

}  // namespace

std::size_t RdmaCounterCount() noexcept { return std::size(kTable); }
const RdmaCounterSpec& RdmaCounterAt(std::size_t index) noexcept { return kTable[index]; }

void RdmaPortCounters::Choose(RdmaDriver driver) noexcept {
  count_ = 0;
  for (const RdmaCounterSpec& spec : kTable) {
    const bool wanted = spec.of_port ? !DriverGives(driver, spec.metric) : spec.driver == driver;
    if (!wanted || count_ == kMost) continue;
    counters_[count_] = Counter{};
    counters_[count_++].spec = &spec;
  }
}

void RdmaPortCounters::Add(std::size_t index, std::uint64_t reading) noexcept {
  Counter& counter = counters_[index];
  if (counter.value.Add(reading, counter.spec->width) == CounterStep::kReset) ++resets_;
}

bool RdmaPortCounters::AddByName(std::string_view name, bool of_port,
                                 std::uint64_t reading) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (counters_[i].spec->of_port != of_port || name != counters_[i].spec->name) continue;
    Add(i, reading);
    return true;
  }
  return false;
}

trace::RdmaSample RdmaPortCounters::Sum() const noexcept {
  std::uint64_t sums[trace::kRdmaMetrics] = {};
  trace::RdmaSample sample;
  sample.resets = resets_;
  for (std::size_t i = 0; i < count_; ++i) {
    const Counter& counter = counters_[i];
    if (counter.spec->metric == kNoMetric || !counter.value.known()) continue;
    const std::uint64_t bit = std::uint64_t{1} << counter.spec->metric;
    sums[counter.spec->metric] += counter.value.total() * counter.spec->factor;
    sample.known |= bit;
    if (counter.value.at_maximum()) sample.at_least |= bit;
  }
  static_assert(sizeof(sample) == 32 + sizeof(sums));
  std::memcpy(&sample.tx_bytes, sums, sizeof(sums));
  return sample;
}

std::uint64_t RdmaPortCounters::Known() const noexcept { return Sum().known; }

void RdmaPortCounters::RecordMoved(const Round& round, std::uint32_t port_index,
                                   const char* device) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    Counter& counter = counters_[i];
    if (!counter.value.known()) {
      if (!counter.missing_said) {
        round.sink->Report(trace::SamplerSource::kRdma, trace::SourceState::kMissing, 0,
                           round.now_ticks, device, counter.spec->name);
      }
      counter.missing_said = true;
      continue;
    }
    const std::uint64_t total = counter.value.total();
    if (IsTraffic(counter.spec->metric)) continue;
    if (counter.is_written && counter.written == total) continue;
    trace::RdmaCounter record;
    record.index = port_index;
    record.name = round.sink->Name(counter.spec->name);
    record.value = total;
    record.ticks = round.now_ticks;
    round.sink->Emit(record);
    counter.written = total;
    counter.is_written = true;
  }
}

}  // namespace chokepoint::counters
