// CHOKEPOINT_DETAIL=kernels: one record for each channel of each operation.
// Must not be called, and has no memory, without that setting.
#pragma once

#include <cstdint>

namespace chokepoint::plugin {

// Allocates; once, before any communicator. False: no memory, no detail.
bool StartKernelDetail() noexcept;
void NoteKernelStart(std::uint64_t operation, std::uint32_t channel, std::uint64_t gpu_ns) noexcept;
// Emits; the first time only.
void EmitKernelChannel(std::uint64_t operation, std::uint32_t channel,
                       std::uint64_t gpu_ns) noexcept;

}  // namespace chokepoint::plugin
