// First pass over one trace file: everything that must be known before operations can be placed in
// time and matched over ranks. Must not keep anything in proportion to the number of operations.
#pragma once

#include <map>
#include <vector>

#include "trace/events.h"
#include "trace/reader.h"

namespace chokepoint::tools {

struct FileFacts {
  trace::ReadResult read;
  std::vector<trace::ClockSample> clock_samples;
  std::vector<trace::Communicator> communicators;
  std::map<std::uint16_t, trace::Loss> losses;  // by reason, summed
  trace::Cost cost;                             // the latest
  bool has_cost = false;
  std::uint64_t first_ticks = 0;  // of all records; 0 = none
  std::uint64_t last_ticks = 0;
  std::uint64_t operations = 0;
  std::uint64_t proxy_operations = 0;
  std::uint64_t network_sent_bytes = 0;
  std::uint64_t summarised_operations = 0;  // of OperationSummary records
  bool has_operations_without_end = false;
  bool salvaged = false;
  // Snapshots of operations that were open when written, by number; some of them end elsewhere in
  // the file.
  std::map<std::uint32_t, trace::Collective> open_collectives;
  std::map<std::uint32_t, trace::PointToPoint> open_point_to_points;
  std::map<std::uint32_t, trace::ProxyOperation> open_proxy_operations;
};

FileFacts ScanFile(trace::TraceFile* file);

}  // namespace chokepoint::tools
