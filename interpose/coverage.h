// How much of the process's I/O was recorded: our sums beside the kernel's counters.
// Must run on the drain thread or on a thread that is about to end the process.
#pragma once

#include <cstdint>

namespace chokepoint::interpose {

// `recorder_thread`: whose counters are not the program's; 0 = there is none.
void EmitCoverage(std::uint32_t recorder_thread);

}  // namespace chokepoint::interpose
