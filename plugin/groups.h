// Launch groups: operations that NCCL hands over together. A record only where it says something:
// more than one operation, or a group that the program opened itself. Must not hold anything open:
// a group lives between two callbacks on one thread.
#pragma once

#include <cstdint>

#include "plugin/handles.h"

namespace chokepoint::plugin {

// Never null: NCCL up to 2.27 skips the operations of a group that has no handle.
void* BeginGroup() noexcept;
void EndGroup(Handle group) noexcept;
// An operation of `group` was handed over.
void NoteInGroup(Handle group, std::uint64_t operation, std::uint32_t communicator,
                 std::uint64_t ticks) noexcept;
// Depth of the group call that this thread is in; 0 = none.
void SetGroupDepth(int depth) noexcept;

}  // namespace chokepoint::plugin
