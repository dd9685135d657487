// One thread block, from its first batch of works to its last.
// It must not know about other blocks.
#pragma once

#include "tests/softgpu/emu/block.h"

namespace chokepoint::softgpu::emu {

void RunBlock(Block& block);

}  // namespace chokepoint::softgpu::emu
