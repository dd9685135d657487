// Reads the state and the error counters of the GPUs that nvml.cc has found.
// Must not ask a second time for what a device has refused, nor for a field that takes
// milliseconds.
#include <iterator>

#include "counters/nvml.h"
#include "trace/text.h"

namespace chokepoint::counters {

using trace::GpuField;
using trace::GpuHealthField;

namespace {

// Asked for each second in one call. PCIe counters wrap at 32 bits where the driver gives 32 bits.
constexpr unsigned kSampleFields[] = {nvml::kMemoryTemperature,
                                      nvml::kNvlinkTxKib,
                                      nvml::kNvlinkRxKib,
                                      nvml::kNvlink5TxBytes,
                                      nvml::kNvlink5RxBytes,
                                      nvml::kPcieTxBytes,
                                      nvml::kPcieRxBytes,
                                      nvml::kLimitedPower,
                                      nvml::kLimitedThermal,
                                      nvml::kLimitedSoftwareThermal,
                                      nvml::kLimitedHardwareThermal,
                                      nvml::kLimitedPowerBrake};
static_assert(std::size(kSampleFields) == NvmlReader::kFields);
constexpr std::size_t kBothThermal = 8;
static_assert(kSampleFields[kBothThermal] == nvml::kLimitedThermal);

constexpr unsigned kHealthFields[] = {nvml::kNvlinkReplay,  nvml::kNvlinkRecovery,
                                      nvml::kNvlinkCrcFlit, nvml::kNvlinkCrcData,
                                      nvml::kNvlinkEcc,     nvml::kNvlink5Recoveries};

constexpr bool IsNvlink(unsigned field) noexcept {
  return field == nvml::kNvlinkTxKib || field == nvml::kNvlinkRxKib ||
         field == nvml::kNvlink5TxBytes || field == nvml::kNvlink5RxBytes;
}

std::uint64_t ValueOf(const nvml::FieldValue& field) noexcept {
  switch (field.value_type) {
    case nvml::kDouble:
      return field.value.as_double > 0 ? static_cast<std::uint64_t>(field.value.as_double) : 0;
    case nvml::kU32:
      return field.value.as_u32;
    case nvml::kUlong:
      return field.value.as_ulong;
    case nvml::kU64:
      return field.value.as_u64;
    case nvml::kS64:
      return field.value.as_s64 > 0 ? static_cast<std::uint64_t>(field.value.as_s64) : 0;
    case nvml::kS32:
      return field.value.as_s32 > 0 ? static_cast<std::uint64_t>(field.value.as_s32) : 0;
    case nvml::kU16:
      return field.value.as_u16;
    default:
      return 0;
  }
}

void SetKnown(std::uint32_t* known, GpuField field) noexcept {
  *known |= 1u << static_cast<unsigned>(field);
}
void SetKnown(std::uint32_t* known, GpuHealthField field) noexcept {
  *known |= 1u << static_cast<unsigned>(field);
}

}  // namespace

// Puts one field that was read into the record.
void NvmlReader::SetField(Gpu* gpu, std::size_t index, trace::GpuSample* sample) noexcept {
  const std::uint64_t value = gpu->fields[index].value.total();
  const auto set = [&](GpuField field, std::uint64_t* out, std::uint64_t factor) noexcept {
    *out += value * factor;
    SetKnown(&sample->known, field);
  };
  switch (kSampleFields[index]) {
    case nvml::kMemoryTemperature:
      sample->memory_temperature_c = static_cast<std::uint16_t>(value);
      SetKnown(&sample->known, GpuField::kMemoryTemperature);
      break;
    case nvml::kNvlinkTxKib:
      set(GpuField::kNvlinkTx, &sample->nvlink_tx_bytes, 1024);
      break;
    case nvml::kNvlinkRxKib:
      set(GpuField::kNvlinkRx, &sample->nvlink_rx_bytes, 1024);
      break;
    case nvml::kNvlink5TxBytes:
      set(GpuField::kNvlinkTx, &sample->nvlink_tx_bytes, 1);
      break;
    case nvml::kNvlink5RxBytes:
      set(GpuField::kNvlinkRx, &sample->nvlink_rx_bytes, 1);
      break;
    case nvml::kPcieTxBytes:
      set(GpuField::kPcieTx, &sample->pcie_tx_bytes, 1);
      break;
    case nvml::kPcieRxBytes:
      set(GpuField::kPcieRx, &sample->pcie_rx_bytes, 1);
      break;
    case nvml::kLimitedPower:
      set(GpuField::kLimitedPower, &sample->limited_power_ns, 1);
      break;
    case nvml::kLimitedSoftwareThermal:
    case nvml::kLimitedHardwareThermal:
      set(GpuField::kLimitedThermal, &sample->limited_thermal_ns, 1);
      break;
    case nvml::kLimitedPowerBrake:
      set(GpuField::kLimitedBrake, &sample->limited_brake_ns, 1);
      break;
    default:
      break;
  }
}

// Keeps what one field has counted, or drops the field. True when it gave a value.
bool NvmlReader::KeepField(const Round& round, Gpu* gpu, std::size_t index,
                           const nvml::FieldValue& value) noexcept {
  constexpr long long kTooSlowUs = 2000;
  constexpr int kSlowRounds = 3;
  FieldState& field = gpu->fields[index];
  const bool slow = value.latency_us > kTooSlowUs;
  field.slow = static_cast<std::uint8_t>(slow ? field.slow + 1 : 0);
  if (value.result != nvml::kSuccess || field.slow >= kSlowRounds) {
    field.dropped = true;
    char name[32];
    trace::Text(name, sizeof(name)).Add(slow ? "slow field " : "field ").AddNumber(value.field);
    round.sink->Report(trace::SamplerSource::kGpu, trace::SourceState::kUnsupported, value.result,
                       round.now_ticks, gpu->pci_address, name);
    return false;
  }
  if (value.field == nvml::kMemoryTemperature) field.value = CounterValue{};  // a gauge
  const std::uint8_t bits = value.value_type == nvml::kU32 ? 32 : 64;
  field.value.Add(ValueOf(value), CounterWidth{bits, false});
  return true;
}

void NvmlReader::ReadFields(const Round& round, Gpu* gpu, trace::GpuSample* sample) noexcept {
  if (call_.field_values == nullptr || gpu->lost) return;
  nvml::FieldValue values[kFields] = {};
  std::size_t places[kFields];
  int asked = 0;
  for (std::size_t i = 0; i < kFields; ++i) {
    if (gpu->fields[i].dropped) continue;
    values[asked].field = kSampleFields[i];
    values[asked].scope = IsNvlink(kSampleFields[i]) ? nvml::kAllScopes : 0;
    places[asked++] = i;
  }
  round.tree->CountRead();
  if (asked == 0 || call_.field_values(gpu->device, asked, values) != nvml::kSuccess) return;
  for (int i = 0; i < asked; ++i) {
    if (KeepField(round, gpu, places[i], values[i])) SetField(gpu, places[i], sample);
  }
  // Older drivers have one field for both kinds of thermal limit.
  const auto known = static_cast<unsigned>(GpuField::kLimitedThermal);
  const FieldState& both = gpu->fields[kBothThermal];
  if ((sample->known & 1u << known) == 0 && !both.dropped && both.value.known()) {
    sample->limited_thermal_ns = both.value.total();
    SetKnown(&sample->known, GpuField::kLimitedThermal);
  }
}

void NvmlReader::Sample(const Round& round) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (!gpus_[i].lost) SampleOne(round, &gpus_[i]);
  }
  ReadXids(round);
}

void NvmlReader::SampleOne(const Round& round, Gpu* gpu) noexcept {
  trace::GpuSample sample;
  sample.index = gpu->identity.index;
  sample.ticks = round.now_ticks;
  // A call with one result: asked if the device has not refused it, noted as known when it answers.
  const auto ask = [&](Call call, GpuField field, auto function, auto... arguments) noexcept {
    if (!Usable(*gpu, call, reinterpret_cast<const void*>(function))) return false;
    if (!Note(round, gpu, call, function(gpu->device, arguments...))) return false;
    SetKnown(&sample.known, field);
    return true;
  };
  // For results that are narrower in the record: 0 when there is none.
  const auto number = [&](Call call, GpuField field, auto function, auto... arguments) noexcept {
    unsigned value = 0;
    return ask(call, field, function, arguments..., &value) ? value : 0u;
  };
  nvml::Utilisation utilisation{};
  ask(kUtilisation, GpuField::kUtilisation, call_.utilisation, &utilisation);
  sample.utilisation_percent = static_cast<std::uint8_t>(utilisation.gpu);
  sample.memory_percent = static_cast<std::uint8_t>(utilisation.memory);
  unsigned long long reasons = 0;
  ask(kClockReasons, GpuField::kClockReasons, call_.clock_reasons, &reasons);
  sample.clock_reasons = static_cast<std::uint32_t>(reasons);
  sample.sm_clock_mhz = number(kSmClock, GpuField::kSmClock, call_.clock, nvml::kClockSm);
  sample.memory_clock_mhz =
      number(kMemoryClock, GpuField::kMemoryClock, call_.clock, nvml::kClockMemory);
  sample.power_mw = number(kPower, GpuField::kPower, call_.power);
  sample.temperature_c = static_cast<std::uint16_t>(
      number(kTemperature, GpuField::kTemperature, call_.temperature, nvml::kTemperatureGpu));
  sample.pcie_generation = static_cast<std::uint8_t>(
      number(kPcieGeneration, GpuField::kPcieGeneration, call_.pcie_generation));
  sample.pcie_width =
      static_cast<std::uint8_t>(number(kPcieWidth, GpuField::kPcieWidth, call_.pcie_width));
  unsigned long long energy_mj = 0;
  ask(kEnergy, GpuField::kEnergy, call_.energy, &energy_mj);
  sample.energy_mj = energy_mj;
  nvml::Memory memory{};
  ask(kMemory, GpuField::kMemoryUsed, call_.memory, &memory);
  sample.memory_used_bytes = memory.used;
  if (gpu->identity.nvlinks != 0) {
    sample.nvlinks_active = gpu->nvlinks_active;
    SetKnown(&sample.known, GpuField::kNvlinksActive);
  }
  ReadFields(round, gpu, &sample);
  if (sample.known != 0 && !gpu->lost) round.sink->Emit(sample);
}

void NvmlReader::ReadNvlinkErrors(Gpu* gpu, trace::GpuHealth* health) noexcept {
  if (call_.field_values == nullptr || gpu->identity.nvlinks == 0) return;
  nvml::FieldValue values[std::size(kHealthFields)] = {};
  for (std::size_t i = 0; i < std::size(values); ++i) {
    values[i].field = kHealthFields[i];
    values[i].scope = kHealthFields[i] == nvml::kNvlink5Recoveries ? nvml::kAllScopes : 0;
  }
  if (call_.field_values(gpu->device, static_cast<int>(std::size(values)), values) !=
      nvml::kSuccess) {
    return;
  }
  for (const nvml::FieldValue& value : values) {
    if (value.result != nvml::kSuccess) continue;
    const auto add = [&](GpuHealthField field, std::uint64_t* out) noexcept {
      *out += ValueOf(value);
      SetKnown(&health->known, field);
    };
    switch (value.field) {
      case nvml::kNvlinkReplay:
        add(GpuHealthField::kNvlinkReplays, &health->nvlink_replays);
        break;
      case nvml::kNvlinkRecovery:
      case nvml::kNvlink5Recoveries:
        add(GpuHealthField::kNvlinkRecoveries, &health->nvlink_recoveries);
        break;
      case nvml::kNvlinkCrcFlit:
      case nvml::kNvlinkCrcData:
        add(GpuHealthField::kNvlinkCrcErrors, &health->nvlink_crc_errors);
        break;
      default:
        add(GpuHealthField::kNvlinkEccErrors, &health->nvlink_ecc_errors);
        break;
    }
  }
}

void NvmlReader::ReadHealth(const Round& round, Gpu* gpu) noexcept {
  trace::GpuHealth health;
  health.index = gpu->identity.index;
  health.ticks = round.now_ticks;
  const auto ask = [&](Call call, GpuHealthField field, auto function, auto... arguments) noexcept {
    if (!Usable(*gpu, call, reinterpret_cast<const void*>(function))) return false;
    if (!Note(round, gpu, call, function(gpu->device, arguments...))) return false;
    SetKnown(&health.known, field);
    return true;
  };
  unsigned pending = 0, failed = 0, replays = 0;
  if (ask(kRows, GpuHealthField::kRemappedRows, call_.remapped_rows, &health.remapped_corrected,
          &health.remapped_uncorrected, &pending, &failed)) {
    health.remap_pending = pending != 0 ? 1 : 0;
    health.remap_failed = failed != 0 ? 1 : 0;
  }
  unsigned long long errors = 0;
  if (ask(kEccCorrected, GpuHealthField::kEccCorrected, call_.ecc, nvml::kEccCorrected,
          nvml::kEccVolatile, &errors)) {
    health.ecc_corrected = errors;
  }
  if (ask(kEccUncorrected, GpuHealthField::kEccUncorrected, call_.ecc, nvml::kEccUncorrected,
          nvml::kEccVolatile, &errors)) {
    health.ecc_uncorrected = errors;
  }
  if (ask(kReplays, GpuHealthField::kPcieReplays, call_.pcie_replays, &replays)) {
    health.pcie_replays = replays;
  }
  ReadNvlinkErrors(gpu, &health);
  if (health.known != 0 && !gpu->lost) round.sink->Emit(health);
}

// Takes what is there and does not wait.
void NvmlReader::ReadXids(const Round& round) noexcept {
  constexpr int kMostInARound = 8;
  constexpr unsigned kNoWaiting = 0;
  if (events_ == nullptr) return;
  for (int i = 0; i < kMostInARound; ++i) {
    nvml::EventData event{};
    round.tree->CountRead();
    if (call_.event_wait(events_, &event, kNoWaiting) != nvml::kSuccess) return;
    if (event.type != nvml::kEventXid) continue;
    trace::GpuXid record;
    for (std::size_t j = 0; j < count_; ++j) {
      if (gpus_[j].device == event.device) record.index = gpus_[j].identity.index;
    }
    record.xid = event.data;
    record.ticks = round.now_ticks;
    round.sink->Emit(record);
  }
}

}  // namespace chokepoint::counters
