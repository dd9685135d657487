// Reads CHOKEPOINT_DETAIL and CHOKEPOINT_EVENT_MASK.
// Must not complain: a value that makes no sense counts as absent.
#include "plugin/settings.h"

#include <cstdlib>
#include <cstring>

namespace chokepoint::plugin {

Settings g_settings;

namespace {

bool Is(const char* word, std::size_t length, const char* name) noexcept {
  return std::strlen(name) == length && std::memcmp(word, name, length) == 0;
}

}  // namespace

void ParseDetail(const char* detail, Settings* settings) noexcept {
  while (detail != nullptr && *detail != '\0') {
    const std::size_t length = std::strcspn(detail, ", ");
    const bool all = Is(detail, length, "all");
    if (all || Is(detail, length, "api")) settings->detail_api = true;
    if (all || Is(detail, length, "kernels")) settings->detail_kernels = true;
    if (all || Is(detail, length, "steps")) settings->detail_steps = true;
    detail += length;
    detail += std::strspn(detail, ", ");
  }
}

bool ParseEventMask(const char* text, Settings* settings) noexcept {
  if (text == nullptr || *text == '\0') return false;
  char* end = nullptr;
  const unsigned long long mask = std::strtoull(text, &end, 0);
  if (end == text || *end != '\0' || mask > 0x7fffffffull) return false;
  settings->has_event_mask = true;
  settings->event_mask = static_cast<std::uint32_t>(mask);
  return true;
}

void ReadSettings() noexcept {
  ParseDetail(std::getenv("CHOKEPOINT_DETAIL"), &g_settings);
  ParseEventMask(std::getenv("CHOKEPOINT_EVENT_MASK"), &g_settings);
}

}  // namespace chokepoint::plugin
