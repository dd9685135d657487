// The table of what is safe and cheap to ask for.
// Must not depend on anything but its arguments.
#include "plugin/event_mask.h"

#include "plugin/abi/profiler_abi.h"

namespace chokepoint::plugin {

std::uint32_t ChooseEventMask(int nccl_version, int api_version,
                              const Settings& settings) noexcept {
  if (settings.has_event_mask) return settings.event_mask;
  // ProxyStep too: steps carry the wait states; and NCCL 2.27 with a network plugin of interface 10
  // that reports events reads through a pointer that it sets only when a step was started.
  std::uint32_t mask = ncclProfileGroup | ncclProfileColl | ncclProfileP2p | ncclProfileProxyOp |
                       ncclProfileProxyStep;
  // why not before 2.28: on 2.26 and 2.27 an all-to-all fails or hangs when kernel events are on
  // (https://github.com/NVIDIA/nccl/issues/2039).
  const bool kernels_safe = nccl_version == 0 ? api_version >= 5 : nccl_version >= 22800;
  if (kernels_safe && api_version >= 4) mask |= ncclProfileKernelCh;
  if (api_version >= 5) mask |= ncclProfileGroupApi | ncclProfileCollApi | ncclProfileP2pApi;
  if (api_version >= 5 && settings.detail_api) mask |= ncclProfileKernelLaunch;
  if (api_version >= 6) mask |= ncclProfileCeColl | ncclProfileCeSync | ncclProfileCeBatch;
  return mask;
}

}  // namespace chokepoint::plugin
