// Makes text from traces and file names safe to print: no terminal escapes, no line breaks, valid
// UTF-8 only. Must not shorten.
#include "tools/report/escape.h"

#include <fmt/format.h>

#include <cstdint>

namespace chokepoint::tools {
namespace {

// Bytes of the valid UTF-8 character at the start of `text`, and the character; 0 bytes when it is
// broken.
struct Character {
  std::size_t bytes;
  std::uint32_t code;
};

Character Decode(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t bytes = first >= 0xf0 && first < 0xf5   ? 4
                            : first >= 0xe0 && first < 0xf0 ? 3
                            : first >= 0xc2 && first < 0xe0 ? 2
                                                            : 0;
  if (bytes == 0 || text.size() < bytes) return {0, 0};
  std::uint32_t code = first & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 0};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kSmallest[bytes] || code > 0x10ffff || surrogate ? Character{0, 0}
                                                                 : Character{bytes, code};
}

bool IsSafe(std::uint32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  const bool reorders = code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
                        (code >= 0x2066 && code <= 0x2069);
  return !reorders && code != 0xfeff;
}

}  // namespace

std::string Escape(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const Character character = Decode(text);
    const std::size_t bytes = character.bytes == 0 ? 1 : character.bytes;
    if (character.bytes > 0 && IsSafe(character.code)) {
      escaped += text.substr(0, bytes);
    } else {
      for (std::size_t i = 0; i < bytes; ++i) {
        escaped += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text[i]));
      }
    }
    text.remove_prefix(bytes);
  }
  return escaped;
}

std::size_t DisplayWidth(std::string_view escaped) {
  std::size_t width = 0;
  for (const char c : escaped) width += (static_cast<std::uint8_t>(c) & 0xc0) != 0x80;
  return width;
}

}  // namespace chokepoint::tools
