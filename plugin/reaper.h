// Ends what NCCL will not end: operations whose kernels are quiet, and all that is open when a
// communicator ends. Must not end an operation that may still be running, except with the flag that
// says so.
#pragma once

#include <cstdint>

#include "trace/recorder.h"

namespace chokepoint::plugin {

// Asked when the board is full: frees the place if its work is evidently over. True when it did.
bool FinishIfOver(trace::BoardSlot* slot) noexcept;
// On the drain thread, before each drain.
void ReapQuiet() noexcept;
// At the end of a communicator: everything of it, with the flags open and aborted.
void AbandonOperations(std::uint32_t communicator) noexcept;
// At the end of the process: ends what is quiet now, however short.
void ReapAtExit() noexcept;

}  // namespace chokepoint::plugin
