// The process's own TCP connections: found by a walk over its descriptors, read by TCP_INFO, the
// busiest most often. Must not read a socket more often than every 250 ms unless an operation was
// slow, nor look at other processes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/local_addresses.h"
#include "counters/sink.h"
#include "counters/sysfs.h"
#include "counters/tcp_info.h"
#include "counters/traffic_class.h"

namespace chokepoint::counters {

// Contract: one thread.
class TcpSockets {
 public:
  static constexpr std::size_t kMost = 256;     // connections that are followed at once
  static constexpr std::size_t kMostBusy = 16;  // of those, read four times a second

  void Init(SysTree* tree, const Sink& sink) noexcept;

  // Finds new connections and forgets closed ones. Costs 1 us per descriptor of the process: every
  // 10 s, or after communicators were made.
  void Walk(std::uint64_t now_ticks) noexcept;
  // Reads all connections, records those that have moved, and chooses the busiest. Once a second.
  void SampleAll(std::uint64_t now_ticks, trace::TcpSampleReason reason) noexcept;
  // Reads the busiest; records those whose loss counters have moved. Four times a second.
  void SampleBusiest(std::uint64_t now_ticks) noexcept;
  // An operation was slow: records the last reading before it, and one made now, of each connection
  // that has moved.
  void SampleSlow(std::uint64_t now_ticks) noexcept;

  // Writes the identities again: the trace may have given up the old ones.
  void RepeatIdentities() noexcept;

  TrafficClassifier* classifier() noexcept { return &classifier_; }
  std::size_t count() const noexcept { return count_; }

 private:
  struct Connection {
    std::uint32_t number = 0;
    std::int32_t fd = -1;
    std::uint64_t cookie = 0;
    bool seen = false;  // in the walk that is going on
    bool busy = false;
    bool recorded = false;  // `last` is in the trace
    std::uint64_t last_ticks = 0;
    std::uint64_t round_bytes = 0;  // bytes moved at the previous SampleAll
    std::uint64_t moved_bytes = 0;  // between the last two
    std::uint32_t info_bytes = 0;
    TcpInfo last;     // latest reading
    TcpInfo written;  // latest reading that is in the trace
    trace::TcpConnection identity;
  };

  void Visit(int fd, std::uint64_t now_ticks) noexcept;
  void Add(int fd, std::uint64_t cookie, const TcpInfo& info, std::uint32_t info_bytes,
           std::uint64_t now_ticks) noexcept;
  Connection* Find(int fd, std::uint64_t cookie) noexcept;
  void Remove(std::size_t index, std::uint64_t now_ticks) noexcept;
  bool Read(Connection* connection, std::uint64_t now_ticks) noexcept;
  void Record(Connection* connection, trace::TcpSampleReason reason) noexcept;
  void ChooseBusiest() noexcept;

  SysTree* tree_ = nullptr;
  Sink sink_;
  LocalAddresses addresses_;
  TrafficClassifier classifier_;
  Connection connections_[kMost];
  std::size_t count_ = 0;
  std::uint32_t next_number_ = 1;
  bool said_full_ = false;
};

}  // namespace chokepoint::counters
