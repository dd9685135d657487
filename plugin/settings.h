// What the user asked of the plugin by environment variables, read once when the library is loaded.
// Must not be written after that.
#pragma once

#include <cstdint>

namespace chokepoint::plugin {

struct Settings {
  bool detail_api = false;      // CHOKEPOINT_DETAIL=api: time inside NCCL's calls
  bool detail_kernels = false;  // =kernels: GPU time of each channel
  bool detail_steps = false;    // =steps: each network step
  bool has_event_mask = false;
  std::uint32_t event_mask = 0;  // CHOKEPOINT_EVENT_MASK: instead of the default by NCCL version
};

extern Settings g_settings;

// From the environment. `detail` is a list of words separated by commas; unknown words are ignored.
void ReadSettings() noexcept;
void ParseDetail(const char* detail, Settings* settings) noexcept;
// Decimal, octal or hexadecimal. False: not a number, settings unchanged.
bool ParseEventMask(const char* text, Settings* settings) noexcept;

}  // namespace chokepoint::plugin
