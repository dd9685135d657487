// Ring files that dead processes of this user have left in shared memory: moved beside their
// traces. Must not touch a file whose process lives, and does a bounded amount of work.
#pragma once

#include "trace/ring_memory.h"

namespace chokepoint::trace::internal {

// Looks through the directory that holds `own`'s file. On the drain thread, once per process.
void SalvageStaleRings(const RingMemory& own) noexcept;

}  // namespace chokepoint::trace::internal
