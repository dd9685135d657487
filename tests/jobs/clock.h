// The job's own clocks, the base of the truth that tests compare with.
// It must not convert between clocks.
#pragma once

#include <cstdint>

namespace chokepoint::jobs {

uint64_t MonotonicNs();
uint64_t RealtimeNs();
double SecondsSince(uint64_t monotonic_start_ns);

// Passes that much time, by sleeping or by computing.
void Sleep(double seconds);
void Burn(double seconds);

}  // namespace chokepoint::jobs
