// The network work of an operation on one channel, direction and peer: its steps are folded into
// one record. Must not add up the times of steps that overlap: wall time goes to the state of the
// oldest open step.
//
// What the waits mean (docs/abi.md has the table of states):
//   send   GPU: no data from the local GPU yet; peer: the transport refused it; wire: until the
//   transport was done with it receive  peer: the transport has not accepted the buffer; wire:
//   waiting for data; flush; consume: the GPU takes the data;
//            GPU: no step open between the first and the last: no free buffer to post
#pragma once

#include <cstdint>

#include "plugin/board.h"
#include "plugin/communicators.h"
#include "plugin/handles.h"
#include "trace/events.h"

namespace chokepoint::plugin {

// As NCCL describes it.
struct ProxyTold {
  const void* context;
  Handle parent;
  int rank;
  int pid;
  std::uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  bool send;
  bool tells_bytes;  // v4 and later: step states carry bytes
};

// Never null: NCCL 2.27 needs a handle.
void* StartProxyOperation(const ProxyTold& told) noexcept;
void StopProxyOperation(Handle handle) noexcept;
// States 0 to 7 of NCCL up to 2.26: what steps do not tell there. `bytes` is cumulative.
void RecordProxyOperationState(Handle handle, int state, std::uint64_t bytes, int steps) noexcept;

void* StartProxyStep(Handle operation, int step) noexcept;
void StopProxyStep(Handle step) noexcept;
// States 8 to 12 and 20. `bytes` counts only where NCCL defines it.
void RecordProxyStepState(Handle step, int state, std::uint64_t bytes, bool has_bytes) noexcept;

// Emits and frees. `more_flags`: kProxyOpen, kProxyAborted. False: somebody else did.
bool FinishProxyOperation(trace::BoardSlot* slot, std::uint64_t id,
                          std::uint8_t more_flags) noexcept;

}  // namespace chokepoint::plugin
