// Begins and ends operations; what happens in between is in operations.h.
// Must not emit an operation twice: whoever takes its place on the board emits.
#include "plugin/operations.h"

#include "plugin/groups.h"
#include "trace/recorder.h"

namespace chokepoint::plugin {
namespace {

using trace::Collective;

// Everything of a record that is known when it begins.
struct Start {
  trace::EventKind kind;
  std::uint8_t flags = trace::kOperationOpen;
  std::uint32_t sequence = 0;
  std::uint64_t enqueue_ticks = 0;
  float arrival_before_ticks = 0;
};

// NCCL's number, or our own count where NCCL's repeats: replays of captured graphs.
void NumberCollective(const OperationOrigin& origin, Communicator* communicator,
                      std::uint8_t function, Start* start) noexcept {
  const auto told = static_cast<std::uint32_t>(origin.sequence);
  start->sequence = told;
  if (communicator == nullptr) return;
  bool replay = origin.call.is_call() && origin.call.graph_captured();
  if (!origin.knows_graphs) {
    std::atomic<std::uint32_t>& next = communicator->sequences[0][function];
    replay = told < next.load(std::memory_order_relaxed);
    if (!replay) next.store(told + 1, std::memory_order_relaxed);
  }
  if (!replay) return;
  start->sequence = communicator->sequences[1][function].fetch_add(1, std::memory_order_relaxed);
  start->flags |= trace::kOperationOwnSequence | trace::kOperationReplay;
}

void StampHost(const OperationOrigin& origin, Start* start) noexcept {
  start->enqueue_ticks = trace::NowTicks();
  const std::uint64_t call_ticks = origin.call.call_ticks();
  if (!origin.call.is_call() || origin.call.graph_captured() || call_ticks == 0 ||
      call_ticks > start->enqueue_ticks) {
    return;
  }
  start->arrival_before_ticks = static_cast<float>(start->enqueue_ticks - call_ticks);
  start->flags |= trace::kOperationHasArrival;
}

std::uint32_t MissingChannels(bool expects_kernels, bool exact_channels,
                              std::uint8_t channels) noexcept {
  if (!expects_kernels) return kNoKernels;
  return exact_channels && channels > 0 && channels <= 64 ? channels : kManyMissing;
}

// Field by field, at the width that it is read with later: no wide load waits for narrow stores.
void WriteRecord(const Start& start, const OperationTold& told, std::uint32_t communicator,
                 std::uint64_t id, Collective* record) noexcept {
  Store(record->kind, static_cast<std::uint16_t>(start.kind));
  Store(record->function, told.function);
  Store(record->algorithm, told.algorithm);
  Store(record->protocol, told.protocol);
  Store(record->datatype, told.datatype);
  Store(record->channels, told.channels);
  Store(record->flags, start.flags);
  Store(record->communicator, communicator);
  Store(record->sequence, start.sequence);
  Store(record->count, told.count);
  Store(record->root, told.root_or_peer);
  Store(record->operation, static_cast<std::uint32_t>(id));
  Store(record->enqueue_ticks, start.enqueue_ticks);
  Store(record->arrival_before_ticks, start.arrival_before_ticks);
  Store(record->end_after_ticks, 0);
  Store(record->gpu_start_ns, 0);
  Store(record->gpu_end_ns, 0);
}

void* PutOnBoard(const OperationOrigin& origin, const OperationTold& told,
                 Communicator* communicator, bool local, Start* start) noexcept {
  StampHost(origin, start);
  const bool expects_kernels = communicator != nullptr && communicator->expects_kernels && !local;
  if (expects_kernels) start->flags |= trace::kOperationExpectsKernel;
  const std::uint32_t number = NumberOf(communicator);
  const Place place = Claim();
  if (origin.group.tag() == HandleTag::kGroup)
    NoteInGroup(origin.group, place.id, number, start->enqueue_ticks);
  const Handle handle = Handle::Of(HandleTag::kOperation, 0, place.id);
  if (place.slot == nullptr) {
    Collective record;
    WriteRecord(*start, told, number, place.id, &record);
    trace::Emit(record);  // open for ever: better than a gap in the sequence
    return handle.raw();
  }
  WriteRecord(*start, told, number, place.id, &RecordIn<Collective>(place.slot));
  OperationSide& side = OperationSideOf(place.slot);
  Store(side.started, 0);
  Store(side.stopped, 0);
  Store(side.quiet_ticks, 0);
  Store(side.owner, communicator);
  Store(side.missing, MissingChannels(expects_kernels, origin.exact_channels, told.channels));
  Store(side.enqueued, 0);
  Publish(place, start->enqueue_ticks);
  return handle.raw();
}

}  // namespace

void* BeginCollective(const OperationOrigin& origin, const OperationTold& told) noexcept {
  Communicator* communicator = FindCommunicator(origin.context);
  Start start{.kind = trace::EventKind::kCollective};
  NumberCollective(origin, communicator, told.function, &start);
  return PutOnBoard(origin, told, communicator, false, &start);
}

void* BeginPointToPoint(const OperationOrigin& origin, const OperationTold& told) noexcept {
  Communicator* communicator = FindCommunicator(origin.context);
  Start start{.kind = trace::EventKind::kPointToPoint};
  if (NextPeerSequence(communicator, told.root_or_peer, told.receive, &start.sequence)) {
    start.flags |= trace::kOperationOwnSequence;
  }
  if (origin.call.is_call() && origin.call.graph_captured()) start.flags |= trace::kOperationReplay;
  // What a rank sends to itself is copied; NCCL tells no kernels of it.
  const bool local = communicator != nullptr && told.root_or_peer == communicator->record.rank;
  return PutOnBoard(origin, told, communicator, local, &start);
}

void EndEnqueue(Handle operation) noexcept {
  trace::BoardSlot* slot = Find(operation.id());
  if (slot == nullptr) return;
  OperationSide& side = OperationSideOf(slot);
  // Sequentially consistent with the fence in FinishIfComplete: of "last kernel stopped" and
  // "handed over", the later one sees the earlier.
  if (std::atomic_ref<std::uint32_t>(side.enqueued).exchange(1, std::memory_order_seq_cst) != 0)
    return;
  const std::uint32_t missing = Load(side.missing);
  if (missing == kNoKernels) {
    FinishOperation(slot, operation.id(), Ending::kUnknown, 0);
  } else if (missing == 0) {
    FinishOperation(slot, operation.id(), Ending::kSeen, trace::NowTicks());
  }
}

void FinishIfComplete(trace::BoardSlot* slot, std::uint64_t id) noexcept {
  OperationSide& side = OperationSideOf(slot);
  if (Load(side.missing) != 0) {
    // Perhaps the last: a point-to-point operation may use fewer channels than it announces.
    if (Load(side.started) == Load(side.stopped)) Store(side.quiet_ticks, trace::NowTicks());
    return;
  }
  if (Load(side.enqueued) == 0) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (Load(side.enqueued) == 0) return;  // EndEnqueue will see that nothing is missing
  }
  FinishOperation(slot, id, Ending::kSeen, trace::NowTicks());
}

bool FinishOperation(trace::BoardSlot* slot, std::uint64_t id, Ending ending,
                     std::uint64_t ticks) noexcept {
  if (!Take(slot, id)) return false;
  Collective& record = RecordIn<Collective>(slot);  // nobody else's, until Release
  const OperationSide& side = OperationSideOf(slot);
  const std::uint64_t enqueue_ticks = Load(record.enqueue_ticks);
  const std::uint64_t gpu_start_ns = Load(record.gpu_start_ns);
  const std::uint64_t started = Load(side.started);
  const bool quiet = started != 0 && started == Load(side.stopped);
  if (ending == Ending::kAborted && quiet && Load(side.enqueued) != 0) {
    ending = Ending::kSeen;
    ticks = Load(side.quiet_ticks);
  }
  unsigned flags = Load(record.flags);
  flags = ending == Ending::kAborted ? flags | trace::kOperationAborted
                                     : flags & ~unsigned{trace::kOperationOpen};
  if (ending == Ending::kSeen && ticks > enqueue_ticks) {
    Store(record.end_after_ticks, static_cast<float>(ticks - enqueue_ticks));
    flags |= trace::kOperationHasHostEnd;
  }
  if (quiet && gpu_start_ns != 0 && Load(record.gpu_end_ns) >= gpu_start_ns) {
    flags |= trace::kOperationHasGpuTime;
  } else {
    Store(record.gpu_end_ns, 0);
    if (ending != Ending::kAborted) Store(record.gpu_start_ns, 0);
  }
  Store(record.flags, static_cast<std::uint8_t>(flags));
  Communicator* owner = Load(side.owner);
  if (ending == Ending::kSeen && owner != nullptr &&
      enqueue_ticks > owner->last_over_ticks.load(std::memory_order_relaxed)) {
    owner->last_over_ticks.store(enqueue_ticks, std::memory_order_relaxed);
  }
  trace::Emit(LoadWords<Collective>(slot->record));
  Release(slot);
  return true;
}

}  // namespace chokepoint::plugin
