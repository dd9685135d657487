// How fast the trace's clock ticks, roughly: for thresholds and histogram bounds inside the plugin.
// Must not be used for anything that is recorded as a time: readers have better.
#pragma once

#include <cstdint>

namespace chokepoint::plugin {

// Takes the first sample. Call early.
void StartClockRate() noexcept;
// Compares with the first sample; better the later it is called. Any thread.
void LearnClockRate() noexcept;
// 0 until learnt.
std::uint64_t MillisecondsInTicks(std::uint64_t milliseconds) noexcept;

}  // namespace chokepoint::plugin
