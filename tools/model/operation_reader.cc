// Turns the operation records of one file into operations in common time, the same way in every
// pass. Must not look at other ranks.
#include "tools/model/operation_reader.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tools/model/message_size.h"

namespace chokepoint::tools {
namespace {

// Spans come as f32 from a file that may be damaged: negative, infinite and absurd ones count as 0.
double Span(float ticks) { return ticks > 0 && ticks < 1e18f ? static_cast<double>(ticks) : 0; }

}  // namespace

OperationReader::OperationReader(Workspace* workspace, const FileWork& work)
    : workspace_(workspace),
      work_(work),
      symbols_(*work.input->file, &workspace->symbols),
      send_receive_(workspace->symbols.Find("SendRecv")) {
  if (work.facts.has_operations_without_end && work.facts.proxy_operations > 0)
    CollectNetworkEnds();
}

void OperationReader::CollectNetworkEnds() {
  const trace::TraceFile& file = *work_.input->file;
  work_.input->file->Read([&](const trace::EventView& view) {
    trace::ProxyOperation event;
    if (view.snapshot || !file.Decode(view, &event) || event.operation == 0 || event.owner_pid != 0)
      return;
    std::uint64_t& end = network_end_[event.operation];
    end =
        std::max(end, event.start_ticks + static_cast<std::uint64_t>(Span(event.end_after_ticks)));
  });
}

double OperationReader::BytesPerCount(std::uint8_t function, std::uint8_t datatype,
                                      bool point_to_point, std::int32_t ranks) {
  const std::uint64_t key = std::uint64_t{function} << 48 | std::uint64_t{datatype} << 40 |
                            std::uint64_t{point_to_point} << 32 | static_cast<std::uint32_t>(ranks);
  const auto [place, is_new] = bytes_per_count_.try_emplace(key, 0);
  if (is_new) {
    const trace::TraceFile& file = *work_.input->file;
    place->second = MessageBytes(point_to_point ? "SendRecv" : file.name(function), 1,
                                 file.name(datatype), ranks);
  }
  return place->second;
}

bool OperationReader::Read(const trace::EventView& view, Operation* out) {
  if (view.kind == trace::EventKind::kCollective) {
    trace::Collective event;
    if (!work_.input->file->Decode(view, &event)) return false;
    *out = Convert(event);
  } else if (view.kind == trace::EventKind::kPointToPoint) {
    trace::PointToPoint event;
    if (!work_.input->file->Decode(view, &event)) return false;
    *out = Convert(event);
  } else {
    return false;
  }
  out->open = view.snapshot;
  return true;
}

Operation OperationReader::Convert(const trace::Collective& event) {
  Operation operation;
  operation.function = symbols_[event.function];
  operation.algorithm = symbols_[event.algorithm];
  operation.protocol = symbols_[event.protocol];
  ConvertCommon(event, &operation);
  return operation;
}

Operation OperationReader::Convert(const trace::PointToPoint& event) {
  Operation operation;
  operation.function = send_receive_;
  ConvertCommon(event, &operation);
  if (operation.local != nullptr) {
    const bool sends = work_.input->file->name(event.function) == "Send";
    operation.sender = sends ? operation.local->communicator_rank : event.peer;
    operation.receiver = sends ? event.peer : operation.local->communicator_rank;
  }
  return operation;
}

template <class Event>
void OperationReader::ConvertCommon(const Event& event, Operation* out) {
  if (last_local_ == nullptr || event.communicator != last_number_) {
    const auto found = work_.communicators.find(event.communicator);
    last_local_ = found == work_.communicators.end() ? nullptr : &found->second;
    last_number_ = event.communicator;
  }
  out->local = last_local_;
  out->datatype = symbols_[event.datatype];
  out->sequence = event.sequence;
  out->number = event.operation;
  out->aborted = event.flags & trace::kOperationAborted;
  out->own_sequence = event.flags & trace::kOperationOwnSequence;
  const std::int32_t ranks = out->local == nullptr ? 0 : out->local->ranks;
  constexpr bool kPointToPoint = std::is_same_v<Event, trace::PointToPoint>;
  out->bytes = static_cast<double>(event.count) *
               BytesPerCount(event.function, event.datatype, kPointToPoint, ranks);
  Place(event, out);
}

// When it began, ended and how long it took. With GPU time, the GPU's duration is set back from the
// moment at which the host saw the end: a duration of one clock and a moment of the other, never a
// difference of the two.
template <class Event>
void OperationReader::Place(const Event& event, Operation* out) {
  const std::uint64_t call_ticks =
      event.flags & trace::kOperationHasArrival
          ? event.enqueue_ticks -
                std::min(event.enqueue_ticks,
                         static_cast<std::uint64_t>(Span(event.arrival_before_ticks)))
          : event.enqueue_ticks;
  const std::int64_t call_ns = work_.ToNs(call_ticks);
  const auto [place, is_first] = busy_until_ns_.try_emplace(event.communicator, 0);
  std::int64_t& busy_until_ns = place->second;
  out->first = is_first;
  out->call_ns = call_ns;
  out->start_ns = std::max(call_ns, busy_until_ns);
  out->end_ns = out->start_ns;
  if (out->aborted) return;
  const bool has_gpu_time = (event.flags & trace::kOperationHasGpuTime) &&
                            event.gpu_end_ns >= event.gpu_start_ns &&
                            event.gpu_end_ns - event.gpu_start_ns < std::uint64_t{1} << 62;
  const bool has_host_end = event.flags & trace::kOperationHasHostEnd;
  if (has_host_end) {
    out->end_ns =
        work_.ToNs(event.enqueue_ticks + static_cast<std::uint64_t>(Span(event.end_after_ticks)));
    out->end_ns = std::max(out->end_ns, call_ns);
    out->start_ns = std::min(out->start_ns, out->end_ns);
    out->source = TimeSource::kHost;
  } else if (const auto network = network_end_.find(event.operation);
             !has_gpu_time && network != network_end_.end()) {
    out->end_ns = std::max(work_.ToNs(network->second), call_ns);
    out->start_ns = std::min(out->start_ns, out->end_ns);
    out->source = TimeSource::kProxy;
  }
  if (has_gpu_time) {
    const auto gpu_ns = static_cast<std::int64_t>(event.gpu_end_ns - event.gpu_start_ns);
    if (!has_host_end) out->end_ns = out->start_ns + gpu_ns;
    out->start_ns = std::max(call_ns, out->end_ns - gpu_ns);
    out->source = TimeSource::kGpu;
    out->duration_ns = static_cast<double>(gpu_ns);
  } else {
    out->duration_ns = static_cast<double>(out->end_ns - out->start_ns);
  }
  out->seen_ns =
      has_gpu_time && !has_host_end ? out->duration_ns : static_cast<double>(out->end_ns - call_ns);
  busy_until_ns = std::max(busy_until_ns, out->end_ns);
}

Series* OperationReader::FindSeries(const Operation& operation) {
  if (operation.local == nullptr || operation.local->communicator_rank < 0) return nullptr;
  const SeriesKey key{operation.local->communicator, operation.sender, operation.receiver,
                      operation.function, operation.own_sequence};
  Series*& series = series_[key];
  if (series == nullptr) series = workspace_->groups.FindOrCreate(key);
  return series;
}

}  // namespace chokepoint::tools
