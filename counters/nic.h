// The network interfaces of this namespace: what they are, and their traffic.
// Must not ask drivers: their own counters are in ethtool.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/counter_value.h"
#include "counters/round.h"

namespace chokepoint::counters {

class NicReader {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kValues = 10;  // u64 counters of NicSample

  struct Nic {
    char name[16] = {};
    std::uint32_t index = 0;  // 0 = free
    bool seen = false;
    bool default_route = false;
    trace::NicInterface identity;  // as last recorded
    CounterValue values[kValues];
    std::uint16_t resets = 0;
    std::uint64_t written = 0;  // packets in the latest record
    bool recorded = false;
  };

  void Init() noexcept { file_.SetPath("/proc/net/dev"); }
  // Traffic: once a second. Interfaces without traffic are recorded once.
  void Sample(const Round& round) noexcept;
  // Identity: every ten seconds, recorded when it has changed.
  void Refresh(const Round& round) noexcept;
  // Writes the identities again: the trace may have given up the old ones.
  void RepeatIdentities(const Sink& sink) const noexcept;
  void Close(SysTree* tree) noexcept { file_.Close(tree); }

  std::size_t count() const noexcept { return count_; }
  const Nic& at(std::size_t i) const noexcept { return nics_[i]; }

 private:
  Nic* FindOrAdd(std::string_view name) noexcept;
  void ReadLine(const Round& round, std::string_view line) noexcept;
  void FindDefaultRoutes(const Round& round) noexcept;
  trace::NicInterface Identify(const Round& round, const Nic& nic) noexcept;
  void RecordGone(const Round& round) noexcept;

  SysFile file_;
  Presence presence_;
  Nic nics_[kMost];
  std::size_t count_ = 0;
  std::uint32_t next_index_ = 1;
};

// What a PCI device's link carries in one direction, in Mb/s, now and at best; from the files
// beside `device_directory`.
struct PcieLink {
  std::uint32_t now_mbps = 0;
  std::uint32_t max_mbps = 0;
};
PcieLink ReadPcieLink(SysTree* tree, const char* device_directory) noexcept;

}  // namespace chokepoint::counters
