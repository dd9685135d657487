// The counters of one RDMA port: which there are, what each has counted, and the canonical metrics
// that they add up to. Must not know how they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "counters/counter_value.h"
#include "counters/round.h"

namespace chokepoint::counters {

struct RdmaCounterSpec {
  const char* name;
  trace::RdmaDriver driver;  // of driver counters
  bool of_port;              // in ports/<n>/counters: of all drivers
  std::uint8_t metric;       // RdmaMetric, or kNoMetric
  CounterWidth width;
  std::uint8_t factor;
};
inline constexpr std::uint8_t kNoMetric = 255;

// The table of rdma_drivers.def.
std::size_t RdmaCounterCount() noexcept;
const RdmaCounterSpec& RdmaCounterAt(std::size_t index) noexcept;

class RdmaPortCounters {
 public:
  static constexpr std::size_t kMost = 48;

  struct Counter {
    const RdmaCounterSpec* spec = nullptr;
    CounterValue value;
    std::uint64_t written = 0;  // total in the latest RdmaCounter
    bool is_written = false;
    bool missing_said = false;
  };

  // Chooses the driver's counters, and those of the port whose metric the driver does not give.
  void Choose(trace::RdmaDriver driver) noexcept;
  std::size_t count() const noexcept { return count_; }
  const RdmaCounterSpec& spec(std::size_t index) const noexcept { return *counters_[index].spec; }

  // A reading. Unknown names are ignored.
  void Add(std::size_t index, std::uint64_t reading) noexcept;
  bool AddByName(std::string_view name, bool of_port, std::uint64_t reading) noexcept;

  // The record, complete but for index and ticks.
  trace::RdmaSample Sum() const noexcept;
  // Bit n: metric n has a counter that was readable.
  std::uint64_t Known() const noexcept;

  // Emits RdmaCounter for error counters that have moved, and says once which are missing.
  void RecordMoved(const Round& round, std::uint32_t port_index, const char* device) noexcept;

 private:
  Counter counters_[kMost];
  std::size_t count_ = 0;
  std::uint16_t resets_ = 0;
};

}  // namespace chokepoint::counters
