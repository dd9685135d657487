// Which events are asked of NCCL: by its version, by the interface version it chose, and by the
// user's settings. Must not ask for what is known to harm: each bit that is left out has its reason
// in event_mask.cc.
#pragma once

#include <cstdint>

#include "plugin/settings.h"

namespace chokepoint::plugin {

// `nccl_version` as ncclGetVersion says it (22809 = 2.28.9); 0 = unknown.
std::uint32_t ChooseEventMask(int nccl_version, int api_version, const Settings& settings) noexcept;

}  // namespace chokepoint::plugin
