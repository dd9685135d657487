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

}  // namespace

void* StartProxyOperation(const ProxyTold& told) noexcept {
  const Communicator* communicator = FindCommunicator(told.context);
  trace::ProxyOperation record;
  record.channel = told.channel;
  record.flags = trace::kProxyOpen;
  if (told.send) record.flags |= trace::kProxySend;
  if (!told.tells_bytes) record.flags |= trace::kProxyNoBytes;
  if (told.pid != OwnPid() || !IsOurContext(told.context)) {
    record.flags |= trace::kProxyForeign;
    record.owner_pid = told.pid;
  } else {
    record.communicator = NumberOf(communicator);
  }
  if (told.parent.tag() == HandleTag::kOperation)
    record.operation = static_cast<std::uint32_t>(told.parent.id());
  record.peer = told.peer;
  record.planned_steps = static_cast<std::uint32_t>(told.steps > 0 ? told.steps : 0);
  record.chunk_bytes = static_cast<std::uint32_t>(told.chunk_bytes > 0 ? told.chunk_bytes : 0);
  record.rank = told.rank;
  record.start_ticks = trace::NowTicks();
  const Place place = Claim();
  if (place.slot != nullptr) {
    ProxySide side;
    side.mark_ticks = record.start_ticks;
    StoreWords(place.slot->record, record);
    StoreWords(place.slot->side, side);
    Publish(place, record.start_ticks);
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
  auto record = LoadWords<trace::ProxyOperation>(slot->record);
  const auto side = LoadWords<ProxySide>(slot->side);
  Release(slot);
  record.flags = static_cast<std::uint8_t>((record.flags & ~trace::kProxyOpen) | more_flags);
  // Without step events the operation's own end is the only one.
  if (side.steps_seen == 0 && more_flags == 0) {
    record.end_after_ticks = static_cast<float>(trace::NowTicks() - record.start_ticks);
  }
  trace::Emit(record);
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
