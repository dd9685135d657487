// The collective algorithms, on top of the primitives.
// It must not know protocols, or how works get here.
#pragma once

#include "tests/softgpu/emu/block.h"

namespace chokepoint::softgpu::emu {

// One channel's part of a collective. Counts are in elements (of one byte for copies).
struct ChannelPart {
  int64_t total;   // of the whole collective
  int64_t offset;  // where this channel begins
  int64_t count;
  int64_t chunk;
};

// Runs this block's part of a work. False if the algorithm is not emulated, in which case nothing
// was done.
bool RunCollective(Block& block, const Function& function, const CollWork& work);

// Several broadcasts around the ring, a chunk of each in turn (2.29 and later).
void RunBroadcastBatch(Block& block, int protocol, BroadcastWork* works, int count);

}  // namespace chokepoint::softgpu::emu
