// Pairs of lines, names and values, into NetstatSample.
// Must not look names up in each round.
#include "counters/netstat.h"

#include <cstring>
#include <iterator>

#include "counters/text_scan.h"

namespace chokepoint::counters {

namespace {

// In the order of NetstatSample's fields.
constexpr std::string_view kNames[] = {"InSegs",
                                       "OutSegs",
                                       "RetransSegs",
                                       "OutRsts",
                                       "InErrs",
                                       "TCPTimeouts",
                                       "TCPLostRetransmit",
                                       "TCPFastRetrans",
                                       "TCPSlowStartRetrans",
                                       "TCPLossProbes",
                                       "TCPDSACKRecv",
                                       "TCPSACKReorder",
                                       "TCPSpuriousRTOs",
                                       "TCPSynRetrans",
                                       "ListenDrops",
                                       "ListenOverflows",
                                       "TCPBacklogDrop",
                                       "TCPRcvQDrop",
                                       "TCPZeroWindowDrop",
                                       "TCPToZeroWindowAdv",
                                       "TCPRcvCollapsed",
                                       "PruneCalled",
                                       "TCPMemoryPressures",
                                       "TcpTimeoutRehash",
                                       "TCPDelivered",
                                       "TCPDeliveredCE"};
constexpr std::size_t kFields = std::size(kNames);
static_assert(sizeof(trace::NetstatSample) == 16 + kFields * 8);

std::int8_t FieldOf(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kFields; ++i) {
    if (kNames[i] == name) return static_cast<std::int8_t>(i);
  }
  return -1;
}

}  // namespace

void NetstatReader::Init() noexcept {
  snmp_.SetPath("/proc/net/snmp");
  netstat_.SetPath("/proc/net/netstat");
}

void NetstatReader::Close(SysTree* tree) noexcept {
  snmp_.Close(tree);
  netstat_.Close(tree);
}

void NetstatReader::ReadPairs(std::string_view text, std::string_view prefix, Columns* columns,
                              std::uint64_t* values, std::uint32_t* known) noexcept {
  std::string_view names;
  std::string_view numbers;
  while (TakeLine(&text, &names) && TakeLine(&text, &numbers)) {
    if (!StartsWith(names, prefix) || !StartsWith(numbers, prefix)) continue;
    const std::size_t name_bytes = names.size();
    names.remove_prefix(prefix.size());
    numbers.remove_prefix(prefix.size());
    if (columns->name_bytes != name_bytes) {
      std::string_view name;
      std::memset(columns->field, -1, sizeof(columns->field));
      for (std::size_t i = 0; i < Columns::kMost && TakeWord(&names, &name); ++i) {
        columns->field[i] = FieldOf(name);
      }
      columns->name_bytes = name_bytes;
    }
    std::string_view word;
    for (std::size_t i = 0; i < Columns::kMost && TakeWord(&numbers, &word); ++i) {
      const std::int8_t field = columns->field[i];
      if (field < 0 || !ParseUnsigned(word, &values[field])) continue;
      *known |= 1u << field;
    }
    return;
  }
}

void NetstatReader::Sample(const Round& round) noexcept {
  trace::NetstatSample sample;
  sample.ticks = round.now_ticks;
  std::uint64_t values[kFields] = {};
  long result = 0;
  std::string_view text = round.Read(&snmp_, &result);
  if (snmp_presence_.Note(round, trace::SamplerSource::kNetstat, result, nullptr, "snmp")) {
    ReadPairs(text, "Tcp:", &snmp_columns_, values, &sample.known);
  }
  text = round.Read(&netstat_, &result);
  if (netstat_presence_.Note(round, trace::SamplerSource::kNetstat, result, nullptr, "netstat")) {
    ReadPairs(text, "TcpExt:", &netstat_columns_, values, &sample.known);
  }
  if (sample.known == 0) return;
  std::memcpy(&sample.segments_in, values, sizeof(values));
  round.sink->Emit(sample);
}

}  // namespace chokepoint::counters
