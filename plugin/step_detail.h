// CHOKEPOINT_DETAIL=steps: one record for each network step.
// Must not be called, and has no memory, without that setting.
#pragma once

#include <cstdint>

#include "plugin/proxy_fold.h"
#include "trace/events.h"

namespace chokepoint::plugin {

// Allocates; once, before any communicator. False: no memory, no detail.
bool StartStepsDetail() noexcept;
void StartStepDetail(std::uint64_t id, std::uint32_t step, const trace::ProxyOperation& operation,
                     std::uint64_t now) noexcept;
void NoteStepDetail(std::uint64_t id, std::uint32_t step, StepState state, std::uint64_t bytes,
                    std::uint64_t now) noexcept;
// Emits.
void EndStepDetail(std::uint64_t id, std::uint32_t step, std::uint64_t now) noexcept;

}  // namespace chokepoint::plugin
