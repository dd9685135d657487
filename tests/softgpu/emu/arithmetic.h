// Element-wise arithmetic of NCCL's device code.
// It must not know where the elements come from.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chokepoint::softgpu::emu {

struct Operation {
  int reduction;
  int type;
  uint64_t argument;
  int element_bytes;
};

struct ReduceCopyArgs {
  bool pre;   // the first source is one's own data: a premultiplied sum multiplies it
  bool post;  // this is the final result: an average divides it
  int sources;
  void* const* source;
  int destinations;
  void* const* destination;
  int64_t elements;
};

// Reduces the sources and stores the result in each destination. A destination may be one of the
// sources.
void ReduceCopy(const Operation& operation, const ReduceCopyArgs& args);

}  // namespace chokepoint::softgpu::emu
