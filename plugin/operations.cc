// Begins and ends operations; what happens in between is in operations.h.
// Must not emit an operation twice: whoever takes its place on the board emits.
#include "plugin/operations.h"

#include "plugin/groups.h"
#include "trace/recorder.h"

namespace chokepoint::plugin {
namespace {

using trace::Collective;
using trace::PointToPoint;

// NCCL's number, or our own count where NCCL's repeats: replays of captured graphs.
template <class Event>
void NumberCollective(const OperationOrigin& origin, Communicator* communicator,
                      Event* record) noexcept {
  const auto told = static_cast<std::uint32_t>(origin.sequence);
  record->sequence = told;
  if (communicator == nullptr) return;
  bool replay = origin.call.is_call() && origin.call.graph_captured();
  if (!origin.knows_graphs) {
    std::atomic<std::uint32_t>& next = communicator->sequences[0][record->function];
    replay = told < next.load(std::memory_order_relaxed);
    if (!replay) next.store(told + 1, std::memory_order_relaxed);
  }
  if (!replay) return;
  record->sequence =
      communicator->sequences[1][record->function].fetch_add(1, std::memory_order_relaxed);
  record->flags |= trace::kOperationOwnSequence | trace::kOperationReplay;
}

void NumberPointToPoint(const OperationOrigin& origin, Communicator* communicator, bool receive,
                        PointToPoint* record) noexcept {
  if (NextPeerSequence(communicator, record->peer, receive, &record->sequence))
    record->flags |= trace::kOperationOwnSequence;
  if (origin.call.is_call() && origin.call.graph_captured())
    record->flags |= trace::kOperationReplay;
}

template <class Event>
void StampHost(const OperationOrigin& origin, Event* record) noexcept {
  record->enqueue_ticks = trace::NowTicks();
  const std::uint64_t call_ticks = origin.call.call_ticks();
  if (!origin.call.is_call() || origin.call.graph_captured() || call_ticks == 0 ||
      call_ticks > record->enqueue_ticks) {
    return;
  }
  record->arrival_before_ticks = static_cast<float>(record->enqueue_ticks - call_ticks);
  record->flags |= trace::kOperationHasArrival;
}

std::uint32_t MissingChannels(bool expects_kernels, bool exact_channels,
                              std::uint8_t channels) noexcept {
  if (!expects_kernels) return kNoKernels;
  return exact_channels && channels > 0 && channels <= 64 ? channels : kManyMissing;
}

template <class Event>
void* PutOnBoard(const OperationOrigin& origin, Communicator* communicator,
                 Event* record) noexcept {
  const bool expects_kernels = communicator != nullptr && communicator->expects_kernels;
  record->flags |= trace::kOperationOpen;
  if (expects_kernels) record->flags |= trace::kOperationExpectsKernel;
  const Place place = Claim();
  record->operation = static_cast<std::uint32_t>(place.id);
  if (origin.group.tag() == HandleTag::kGroup)
    NoteInGroup(origin.group, place.id, record->communicator, record->enqueue_ticks);
  if (place.slot == nullptr) {
    trace::Emit(*record);  // open for ever: better than a gap in the sequence
    return Handle::Of(HandleTag::kOperation, 0, place.id).raw();
  }
  OperationSide side;
  side.owner = communicator;
  side.missing = MissingChannels(expects_kernels, origin.exact_channels, record->channels);
  StoreWords(place.slot->record, *record);
  StoreWords(place.slot->side, side);
  Publish(place, record->enqueue_ticks);
  return Handle::Of(HandleTag::kOperation, 0, place.id).raw();
}

}  // namespace

void* BeginCollective(const OperationOrigin& origin, Collective* record) noexcept {
  Communicator* communicator = FindCommunicator(origin.context);
  record->communicator = NumberOf(communicator);
  NumberCollective(origin, communicator, record);
  StampHost(origin, record);
  return PutOnBoard(origin, communicator, record);
}

void* BeginPointToPoint(const OperationOrigin& origin, bool receive,
                        PointToPoint* record) noexcept {
  Communicator* communicator = FindCommunicator(origin.context);
  record->communicator = NumberOf(communicator);
  NumberPointToPoint(origin, communicator, receive, record);
  StampHost(origin, record);
  return PutOnBoard(origin, communicator, record);
}

void EndEnqueue(Handle operation) noexcept {
  trace::BoardSlot* slot = Find(operation.id());
  if (slot == nullptr) return;
  OperationSide& side = SideOf<OperationSide>(slot);
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
  OperationSide& side = SideOf<OperationSide>(slot);
  if (Load(side.missing) != 0) {
    // Perhaps the last: a point-to-point operation may use fewer channels than it announces.
    if (Load(side.started) == Load(side.stopped)) Store(side.quiet_ticks, trace::NowTicks());
    return;
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (Load(side.enqueued) != 0) FinishOperation(slot, id, Ending::kSeen, trace::NowTicks());
}

bool FinishOperation(trace::BoardSlot* slot, std::uint64_t id, Ending ending,
                     std::uint64_t ticks) noexcept {
  if (!Take(slot, id)) return false;
  // Collective stands for both kinds: the fields that are touched lie at the same place.
  auto record = LoadWords<Collective>(slot->record);
  const auto side = LoadWords<OperationSide>(slot->side);
  Release(slot);
  const bool quiet = side.started != 0 && side.started == side.stopped;
  if (ending == Ending::kAborted && quiet && side.enqueued != 0) {
    ending = Ending::kSeen;
    ticks = side.quiet_ticks;
  }
  if (ending == Ending::kAborted) {
    record.flags |= trace::kOperationAborted;
  } else {
    record.flags = static_cast<std::uint8_t>(record.flags & ~trace::kOperationOpen);
  }
  if (ending == Ending::kSeen && ticks > record.enqueue_ticks) {
    record.end_after_ticks = static_cast<float>(ticks - record.enqueue_ticks);
    record.flags |= trace::kOperationHasHostEnd;
  }
  const bool gpu_time =
      quiet && record.gpu_start_ns != 0 && record.gpu_end_ns >= record.gpu_start_ns;
  if (gpu_time) record.flags |= trace::kOperationHasGpuTime;
  if (!gpu_time) record.gpu_end_ns = 0;
  if (!gpu_time && ending != Ending::kAborted) record.gpu_start_ns = 0;
  if (ending == Ending::kSeen && side.owner != nullptr &&
      id > side.owner->last_over.load(std::memory_order_relaxed)) {
    side.owner->last_over.store(id, std::memory_order_relaxed);
  }
  trace::Emit(record);
  return true;
}

}  // namespace chokepoint::plugin
