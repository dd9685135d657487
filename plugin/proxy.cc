// Proxy operations on the board, and the way from NCCL's states to the fold's.
// Must not trust that a parent or context belongs to this process: another's operations may be
// progressed here (PXN).
#include "plugin/proxy.h"

#include "plugin/abi/profiler_abi.h"
#include "plugin/plugin_start.h"
#include "plugin/proxy_fold.h"
#include "plugin/settings.h"
#include "plugin/step_detail.h"

namespace chokepoint::plugin {
namespace {

trace::BoardSlot* FindProxy(std::uint64_t id) noexcept {
  trace::BoardSlot* slot = Find(id);
  return slot != nullptr && KindIn(slot) == trace::EventKind::kProxyOperation ? slot : nullptr;
}

ProxyFold FoldIn(trace::BoardSlot* slot) noexcept {
  return {&RecordIn<trace::ProxyOperation>(slot), &SideOf<ProxySide>(slot)};
}

StepState StepStateOf(int state) noexcept {
  switch (state) {
    case ncclProfilerProxyStepSendGPUWait:
      return StepState::kGpuWait;
    case ncclProfilerProxyStepSendWait:
    case ncclProfilerProxyStepRecvWait:
      return StepState::kWireWait;
    case ncclProfilerProxyStepRecvFlushWait:
      return StepState::kFlushWait;
    case ncclProfilerProxyStepRecvGPUWait:
      return StepState::kConsumeWait;
    default:
      return StepState::kClosed;
  }
}

// A send step cannot be in a receive's state: such a handle has been mixed up.
bool Fits(int state, bool send) noexcept {
  const bool send_state = state == ncclProfilerProxyStepSendGPUWait ||
                          state == ncclProfilerProxyStepSendWait ||
                          state == ncclProfilerProxyStepSendPeerWait_v4;
  return send_state == send;
}

// Whose work it is: ours only if both the pid and the context say so.
std::uint8_t FlagsOf(const ProxyTold& told) noexcept {
  unsigned flags = trace::kProxyOpen;
  if (told.send) flags |= trace::kProxySend;
  if (!told.tells_bytes) flags |= trace::kProxyNoBytes;
  if (told.pid != OwnPid() || !IsOurContext(told.context)) flags |= trace::kProxyForeign;
  return static_cast<std::uint8_t>(flags);
}

// In place: the rest of the record is zeros.
void WriteRecord(const ProxyTold& told, std::uint64_t now, trace::ProxyOperation* record) noexcept {
  StoreWords(reinterpret_cast<std::byte*>(record), trace::ProxyOperation{});
  const std::uint8_t flags = FlagsOf(told);
  const bool foreign = (flags & trace::kProxyForeign) != 0;
  Store(record->channel, told.channel);
  Store(record->flags, flags);
  Store(record->communicator, foreign ? 0 : NumberOf(FindCommunicator(told.context)));
  Store(record->operation, told.parent.tag() == HandleTag::kOperation
                               ? static_cast<std::uint32_t>(told.parent.id())
                               : 0);
  Store(record->peer, told.peer);
  Store(record->owner_pid, foreign ? told.pid : 0);
  Store(record->planned_steps, static_cast<std::uint32_t>(told.steps > 0 ? told.steps : 0));
  Store(record->chunk_bytes,
        static_cast<std::uint32_t>(told.chunk_bytes > 0 ? told.chunk_bytes : 0));
  Store(record->start_ticks, now);
  Store(record->rank, told.rank);
}

}  // namespace

void* StartProxyOperation(const ProxyTold& told) noexcept {
  const std::uint64_t now = trace::NowTicks();
  const Place place = Claim();
  if (place.slot != nullptr) {
    WriteRecord(told, now, &RecordIn<trace::ProxyOperation>(place.slot));
    ProxySide& side = SideOf<ProxySide>(place.slot);
    Store(side.mark_ticks, now);
    for (std::uint8_t& state : side.state) Store(state, 0);
    Store(side.steps_seen, 0);
    Publish(place, now);
  }
  return Handle::Of(HandleTag::kProxyOperation, 0, place.id).raw();
}

void StopProxyOperation(Handle handle) noexcept {
  trace::BoardSlot* slot = FindProxy(handle.id());
  if (slot != nullptr) FinishProxyOperation(slot, handle.id(), 0);
}

bool FinishProxyOperation(trace::BoardSlot* slot, std::uint64_t id,
                          std::uint8_t more_flags) noexcept {
  if (!Take(slot, id)) return false;
  trace::ProxyOperation& record =
      RecordIn<trace::ProxyOperation>(slot);  // nobody else's, until Release
  Store(record.flags,
        static_cast<std::uint8_t>((Load(record.flags) & ~trace::kProxyOpen) | more_flags));
  // Without step events the operation's own end is the only one.
  if (Load(SideOf<ProxySide>(slot).steps_seen) == 0 && more_flags == 0) {
    Store(record.end_after_ticks, static_cast<float>(trace::NowTicks() - Load(record.start_ticks)));
  }
  trace::Emit(LoadWords<trace::ProxyOperation>(slot->record));
  Release(slot);
  return true;
}

void RecordProxyOperationState(Handle handle, int state, std::uint64_t bytes, int steps) noexcept {
  trace::BoardSlot* slot = FindProxy(handle.id());
  if (slot == nullptr || state > ncclProfilerProxyOpRecvDone) return;
  trace::ProxyOperation& record = RecordIn<trace::ProxyOperation>(slot);
  if (state == ncclProfilerProxyOpSendRemFifoWait)
    return FoldIn(slot).OfferOldest(trace::NowTicks());
  if (state == ncclProfilerProxyOpSendPosted || state == ncclProfilerProxyOpRecvPosted) return;
  Store(record.flags, static_cast<std::uint8_t>(Load(record.flags) & ~trace::kProxyNoBytes));
  if (bytes > Load(record.bytes)) Store(record.bytes, bytes);
  const bool done = state == ncclProfilerProxyOpSendDone || state == ncclProfilerProxyOpRecvDone;
  if (done && steps > 0 && Load(SideOf<ProxySide>(slot).steps_seen) == 0) {
    Store(record.steps, static_cast<std::uint32_t>(steps));
  }
}

void* StartProxyStep(Handle operation, int step) noexcept {
  if (operation.tag() != HandleTag::kProxyOperation || step < 0) return nullptr;
  const auto number = static_cast<std::uint32_t>(step);
  trace::BoardSlot* slot = FindProxy(operation.id());
  if (slot != nullptr) {
    const std::uint64_t now = trace::NowTicks();
    const bool first = FoldIn(slot).Start(number, now);
    if (g_settings.detail_steps && first) {
      StartStepDetail(operation.id(), number, RecordIn<trace::ProxyOperation>(slot), now);
    }
  }
  return Handle::Of(HandleTag::kProxyStep, number, operation.id()).raw();
}

void StopProxyStep(Handle step) noexcept {
  trace::BoardSlot* slot = FindProxy(step.id());
  if (slot == nullptr) return;
  ProxyFold fold = FoldIn(slot);
  if (!fold.IsOpen(step.small())) return;
  const std::uint64_t now = trace::NowTicks();
  fold.Stop(step.small(), now);
  if (g_settings.detail_steps) EndStepDetail(step.id(), step.small(), now);
}

void RecordProxyStepState(Handle step, int state, std::uint64_t bytes, bool has_bytes) noexcept {
  trace::BoardSlot* slot = FindProxy(step.id());
  if (slot == nullptr) return;
  ProxyFold fold = FoldIn(slot);
  if (!fold.IsOpen(step.small()) || !Fits(state, fold.is_send())) return;
  const std::uint64_t now = trace::NowTicks();
  if (state == ncclProfilerProxyStepSendPeerWait_v4) {
    fold.Refuse(step.small(), now);
    if (g_settings.detail_steps)
      NoteStepDetail(step.id(), step.small(), StepState::kPeerWait, 0, now);
    return;
  }
  const StepState entered = StepStateOf(state);
  if (entered == StepState::kClosed) return;
  // The size is only true from here on: in earlier states it is the previous step's.
  const bool sized = has_bytes && (state == ncclProfilerProxyStepSendWait ||
                                   state == ncclProfilerProxyStepRecvFlushWait);
  const bool forward = fold.Enter(step.small(), entered, now);
  if (forward && sized) Add(RecordIn<trace::ProxyOperation>(slot).bytes, bytes);
  if (g_settings.detail_steps && forward) {
    NoteStepDetail(step.id(), step.small(), entered, sized ? bytes : 0, now);
  }
}

}  // namespace chokepoint::plugin
