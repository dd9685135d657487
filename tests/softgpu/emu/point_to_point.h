// Sends and receives.
// It must not know collectives.
#pragma once

#include <vector>

#include "tests/softgpu/emu/block.h"

namespace chokepoint::softgpu::emu {

// Runs this channel's part of all works side by side. False if one of them is not emulated; nothing
// was done then.
bool RunP2pBatch(Block& block, std::vector<P2pWork> works);

}  // namespace chokepoint::softgpu::emu
