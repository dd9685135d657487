// One record for each event, emitted at its stop.
// Must not fail when NCCL leaves one open: the end of the communicator clears it.
#include "plugin/copy_engine.h"

#include "plugin/communicators.h"

namespace chokepoint::plugin {
namespace {

trace::BoardSlot* FindCopyEngine(std::uint64_t id) noexcept {
  trace::BoardSlot* slot = Find(id);
  return slot != nullptr && KindIn(slot) == trace::EventKind::kCopyEngine ? slot : nullptr;
}

}  // namespace

void* StartCopyEngine(const void* context, Handle parent, trace::CopyEngine* record) noexcept {
  record->communicator = NumberOf(FindCommunicator(context));
  record->start_ticks = trace::NowTicks();
  const Place place = Claim();
  record->operation = static_cast<std::uint32_t>(place.id);
  if (parent.tag() == HandleTag::kCopyEngine) {
    record->operation = static_cast<std::uint32_t>(parent.id());
    if (trace::BoardSlot* collective = FindCopyEngine(parent.id())) {
      const trace::CopyEngine& whole = RecordIn<trace::CopyEngine>(collective);
      record->function = Load(whole.function);
      record->sequence = Load(whole.sequence);
      if (record->communicator == 0) record->communicator = Load(whole.communicator);
    }
  }
  if (place.slot != nullptr) {
    StoreWords(place.slot->record, *record);
    Publish(place, record->start_ticks);
  }
  return Handle::Of(HandleTag::kCopyEngine, 0, place.id).raw();
}

void StopCopyEngine(Handle handle) noexcept {
  trace::BoardSlot* slot = FindCopyEngine(handle.id());
  if (slot != nullptr) FinishCopyEngine(slot, handle.id(), true);
}

bool FinishCopyEngine(trace::BoardSlot* slot, std::uint64_t id, bool ended) noexcept {
  if (!Take(slot, id)) return false;
  auto record = LoadWords<trace::CopyEngine>(slot->record);
  Release(slot);
  if (ended) record.end_after_ticks = static_cast<float>(trace::NowTicks() - record.start_ticks);
  trace::Emit(record);
  return true;
}

}  // namespace chokepoint::plugin
