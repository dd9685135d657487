// The table of descriptors: static, zero until used.
// Must not allocate.
#include "interpose/fd_table.h"

namespace chokepoint::interpose {

Descriptor g_descriptors[kDescriptors];
std::atomic<int> g_highest_descriptor{0};

void CopyDescriptor(int from, int to) {
  Descriptor* source = FindDescriptor(from);
  if (source == nullptr) {
    SetDescriptor(to, kUnknownFile, 0, kUnknownPosition);
    return;
  }
  const std::uint32_t file = source->file.load(std::memory_order_acquire);
  const std::uint32_t flags = source->flags.load(std::memory_order_relaxed) &
                              ~std::uint32_t{kDescriptorStdio | kDescriptorConnection};
  if (file >= kFirstFile &&
      (source->flags.load(std::memory_order_relaxed) & kDescriptorStdio) == 0) {
    source->position.store(kUnknownPosition, std::memory_order_relaxed);
  }
  SetDescriptor(to, file, flags, kUnknownPosition);
}

void ForgetDescriptors(unsigned first, unsigned last) {
  const auto highest = static_cast<unsigned>(g_highest_descriptor.load(std::memory_order_relaxed));
  for (unsigned fd = first; fd <= last && fd <= highest; ++fd)
    ForgetDescriptor(static_cast<int>(fd));
}

}  // namespace chokepoint::interpose
