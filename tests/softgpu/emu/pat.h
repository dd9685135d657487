// PAT ("parallel aggregated trees"): AllGather and ReduceScatter over log2(ranks) peers at the
// distances 1, 2, 4, ... It must not run anything else.
#pragma once

#include "tests/softgpu/emu/arithmetic.h"
#include "tests/softgpu/emu/collectives.h"

namespace chokepoint::softgpu::emu {

// False if there is no such algorithm for the collective.
bool RunPat(Block& block, int collective, const CollWork& work, const Operation& operation,
            const ChannelPart& part);

// One file each.
void PatAllGather(Block& block, const CollWork& work, const Operation& operation,
                  const ChannelPart& part);
void PatReduceScatter(Block& block, const CollWork& work, const Operation& operation,
                      const ChannelPart& part);

}  // namespace chokepoint::softgpu::emu
