// TCP counters of the network namespace: /proc/net/snmp and /proc/net/netstat.
// Must not depend on the order or the number of names: they differ by kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/round.h"

namespace chokepoint::counters {

class NetstatReader {
 public:
  void Init() noexcept;
  void Sample(const Round& round) noexcept;
  void Close(SysTree* tree) noexcept;

 private:
  // Which field of the record each column of a line of values is: found once, names do not change
  // while a kernel runs.
  struct Columns {
    static constexpr std::size_t kMost = 256;
    std::int8_t field[kMost] = {};
    std::size_t name_bytes = 0;  // of the line of names; another length: learn again
  };
  void ReadPairs(std::string_view text, std::string_view prefix, Columns* columns,
                 std::uint64_t* values, std::uint32_t* known) noexcept;

  SysFile snmp_, netstat_;
  Presence snmp_presence_, netstat_presence_;
  Columns snmp_columns_, netstat_columns_;
};

}  // namespace chokepoint::counters
