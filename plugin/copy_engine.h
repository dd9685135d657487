// Copy-engine collectives and their parts (NCCL 2.29 and later). NCCL tells the host's side only.
// Must not be read as GPU time.
#pragma once

#include "plugin/board.h"
#include "plugin/handles.h"
#include "trace/events.h"

namespace chokepoint::plugin {

// Completes `record` (its communicator, start and, for parts, the collective's fields) and puts it
// on the board.
void* StartCopyEngine(const void* context, Handle parent, trace::CopyEngine* record) noexcept;
void StopCopyEngine(Handle handle) noexcept;
// Emits and frees. False: somebody else did.
bool FinishCopyEngine(trace::BoardSlot* slot, std::uint64_t id, bool ended) noexcept;

}  // namespace chokepoint::plugin
