// The drivers' own counters of network interfaces (ethtool -S): pause frames, discards, line
// errors, provider's limits. Must not ask often: some drivers take milliseconds of firmware time
// for an answer. Must not change a setting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "counters/nic.h"
#include "counters/round.h"

namespace chokepoint::counters {

// SIOCETHTOOL on an interface: the real one, or recorded answers in tests. Returns 0 or -errno.
struct EthtoolChannel {
  long (*call)(const char* interface, void* command, void* argument) noexcept = nullptr;
  void* argument = nullptr;
};

class EthtoolReader {
 public:
  static constexpr std::size_t kMost = 16;  // interfaces
  static constexpr std::size_t kMostCounters =
      64;  // counters that mean something to us, of one interface

  void Init(const EthtoolChannel& channel) noexcept { channel_ = channel; }
  // The kernel's.
  static EthtoolChannel Kernel() noexcept;

  // Reads one interface of those that have a device, each at most once in kEvery calls. Call once a
  // second.
  void Sample(const Round& round, const NicReader& nics) noexcept;

  static constexpr std::uint64_t kEvery = 30;

 private:
  struct Counter {
    std::uint16_t place = 0;   // in the driver's list
    std::uint8_t meaning = 0;  // NicCounterMeaning
    bool written = false;
    std::uint32_t name = 0;
    std::uint64_t value = 0;  // in the latest record
  };
  struct Interface {
    std::uint32_t nic_index = 0;  // 0 = free
    std::uint32_t stats = 0;      // length of the driver's list; another length: learn it again
    std::uint64_t read_at = 0;    // call number
    bool refused = false;
    std::size_t count = 0;
    Counter counters[kMostCounters];
  };

  Interface* FindOrAdd(std::uint32_t nic_index) noexcept;
  void Read(const Round& round, const NicReader::Nic& nic, Interface* interface) noexcept;
  long CountStats(const char* name) noexcept;
  bool Learn(const Round& round, const char* name, std::uint32_t stats,
             Interface* interface) noexcept;

  EthtoolChannel channel_;
  std::uint64_t calls_ = 0;
  Interface interfaces_[kMost];
};

// What a driver's counter means; kOther when it is not worth recording.
trace::NicCounterMeaning MeaningOfEthtool(std::string_view name) noexcept;

}  // namespace chokepoint::counters
