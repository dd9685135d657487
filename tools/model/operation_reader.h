// Turns the operation records of one file into operations in common time, the same way in every
// pass. Must not look at other ranks.
#pragma once

#include <unordered_map>

#include "tools/model/workspace.h"

namespace chokepoint::tools {

struct Operation {
  Symbol function = 0;
  Symbol algorithm = 0;
  Symbol protocol = 0;
  Symbol datatype = 0;
  TimeSource source = TimeSource::kUnknown;
  bool open = false;
  bool aborted = false;
  bool own_sequence = false;
  bool first = false;                        // of this rank on its communicator
  const LocalCommunicator* local = nullptr;  // null: its communicator is not known
  std::int32_t sender = -1;                  // point-to-point only: ranks in the communicator
  std::int32_t receiver = -1;
  std::uint32_t sequence = 0;
  std::uint32_t number = 0;  // in its process
  double bytes = 0;
  std::int64_t call_ns = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;  // start_ns when the source is unknown
  double duration_ns = 0;   // of the kernels, or start to end
  double seen_ns =
      0;  // call to completion on the host's clock: what the program that waits for it sees
};

class OperationReader {
 public:
  OperationReader(Workspace* workspace, const FileWork& work);

  // False when the record is not an operation. Snapshots are `open`.
  bool Read(const trace::EventView& view, Operation* out);
  Operation FromOpen(const trace::Collective& event) { return Convert(event); }
  Operation FromOpen(const trace::PointToPoint& event) { return Convert(event); }

  // The series of an operation; null when it cannot be matched over ranks.
  Series* FindSeries(const Operation& operation);

 private:
  Operation Convert(const trace::Collective& event);
  Operation Convert(const trace::PointToPoint& event);
  void CollectNetworkEnds();
  double BytesPerCount(std::uint8_t function, std::uint8_t datatype, bool point_to_point,
                       std::int32_t ranks);
  template <class Event>
  void ConvertCommon(const Event& event, Operation* out);
  template <class Event>
  void Place(const Event& event, Operation* out);

  Workspace* workspace_;
  const FileWork& work_;
  FileSymbols symbols_;
  Symbol send_receive_;
  // End of the operation before, by communicator number: the GPU runs a communicator's operations
  // one after the other.
  std::unordered_map<std::uint32_t, std::int64_t> busy_until_ns_;
  std::uint32_t last_number_ = 0;
  const LocalCommunicator* last_local_ = nullptr;
  std::unordered_map<SeriesKey, Series*, SeriesKeyHash> series_;  // spares the shared table's lock
  std::unordered_map<std::uint64_t, double> bytes_per_count_;     // by function, datatype and ranks
  std::unordered_map<std::uint32_t, std::uint64_t>
      network_end_;  // ticks, by operation; only if it is needed
};

}  // namespace chokepoint::tools
