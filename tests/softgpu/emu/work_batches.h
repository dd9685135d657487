// Reads the works of a launch: the batches that follow the kernel's parameters, and the works they
// point to. It must not run them.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/softgpu/emu/block.h"

namespace chokepoint::softgpu::emu {

using RawWork = std::vector<uint64_t>;  // one work struct, as words

// A batch with the works of all batches that extend it.
struct LoadedBatch {
  int work_type = 0;
  int function_id = 0;
  int next = -1;          // index of the block's next batch, -1: none
  uint32_t consumed = 0;  // where in the work FIFO its works end
  std::vector<RawWork> works;
};

LoadedBatch LoadBatch(const Grid& grid, int index);

bool IsProfiled(const Layout& layout, int work_type, const RawWork& work);

template <class Struct>
std::vector<Struct> AsStructs(const std::vector<RawWork>& works) {
  std::vector<Struct> structs(works.size());
  for (size_t i = 0; i < works.size(); i++) memcpy(&structs[i], works[i].data(), sizeof(Struct));
  return structs;
}

}  // namespace chokepoint::softgpu::emu
