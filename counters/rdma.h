// The RDMA ports of this host: identity from sysfs, counters by netlink or from sysfs, and which of
// them this process uses. Must not open a device: verbs contexts cost memory, descriptors and
// firmware, and belong to the program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/rdma_counters.h"
#include "counters/rdma_netlink.h"
#include "counters/round.h"

namespace chokepoint::counters {

class RdmaReader {
 public:
  static constexpr std::size_t kMost = 32;  // ports

  // `by_netlink`: false with a recorded tree of files.
  void Init(bool by_netlink) noexcept;
  RdmaNetlink* netlink() noexcept { return &netlink_; }

  // Devices, ports, states, rates; recorded when they have changed. Every ten seconds.
  void Refresh(const Round& round) noexcept;
  // Counters of all ports: once a second.
  void Sample(const Round& round) noexcept;
  // Finds the ports that this process's queue pairs use. Once after communicators were made.
  void FindUsed(const Round& round) noexcept;
  void RepeatIdentities(const Sink& sink) const noexcept;
  void Close(SysTree* tree) noexcept;

  std::size_t count() const noexcept { return count_; }

 private:
  // Read each second; the other port counters are a firmware command each, and are read every ten.
  static constexpr std::size_t kFrequent = 3;
  struct Port {
    char device[40] = {};
    std::uint32_t number = 0;
    std::uint32_t netlink_index = ~0u;
    bool seen = false;
    bool gone = false;
    std::uint8_t used = 0;  // 0 unknown, 1 no, 2 yes
    bool netlink_failed = false;
    trace::RdmaPort identity;
    RdmaPortCounters counters;
    SysFile frequent[kFrequent];
    std::uint64_t rounds = 0;
  };

  static void VisitDevice(const char* name, void* argument) noexcept;
  void AddPort(const Round& round, const char* device, std::uint32_t number) noexcept;
  Port* Find(const char* device, std::uint32_t number) noexcept;
  void StartPort(const Round& round, Port* port) noexcept;
  trace::RdmaPort Identify(const Round& round, const Port& port) noexcept;
  void IdentifyDevice(const Round& round, const Port& port, trace::RdmaPort* identity) noexcept;
  void MarkGone(const Round& round, Port* port) noexcept;
  void MatchNetlinkDevices() noexcept;
  bool ReadHardware(const Round& round, Port* port) noexcept;
  void ReadPortFiles(const Round& round, Port* port, bool all) noexcept;
  void ReadHardwareFiles(const Round& round, Port* port) noexcept;

  bool by_netlink_ = true;
  bool refreshed_ = false;
  RdmaNetlink netlink_;
  Presence presence_;
  Port ports_[kMost];
  std::size_t count_ = 0;
};

// "400 Gb/sec (4X NDR)" in Mb/s; 0 when it is not understood.
std::uint32_t ParseRdmaRate(std::string_view text) noexcept;
// The driver behind a device: by the name of its PCI driver, else by its own name.
trace::RdmaDriver RdmaDriverOf(std::string_view pci_driver, std::string_view device) noexcept;

}  // namespace chokepoint::counters
