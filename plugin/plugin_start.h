// The plugin's life in a process: what happens when it is loaded, when a communicator comes and
// goes, at fork and at exit. Must not do anything under CHOKEPOINT_DISABLE=1, except say yes to
// NCCL.
#pragma once

#include <atomic>

#include "plugin/abi/nccl_types.h"
#include "plugin/communicators.h"

namespace chokepoint::plugin {

// Events are taken: a communicator has been initialised in this process, and recording is not
// disabled.
extern std::atomic<bool> g_active;

extern std::atomic<int> g_own_pid;
// Without a system call.
inline int OwnPid() noexcept { return g_own_pid.load(std::memory_order_relaxed); }

// NCCL initialised the network side: known to be loaded as a network plugin.
void NoteNetInit() noexcept;

// What a profiler init was told; `caller` is an address in the NCCL that called.
struct InitTold {
  NewCommunicator communicator;
  const void* caller;
  ncclDebugLogger_t log;  // null up to v3
};
// Never fails: returns a context that is not null, and ORs what is wanted into `mask` (may be
// null).
void* InitCommunicator(InitTold told, int* mask) noexcept;
void FinalizeCommunicator(const void* context) noexcept;

}  // namespace chokepoint::plugin
