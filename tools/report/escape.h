// Makes text from traces and file names safe to print: no terminal escapes, no line breaks, valid
// UTF-8 only. Must not shorten.
#pragma once

#include <string>
#include <string_view>

namespace chokepoint::tools {

// Control characters, broken UTF-8 and characters that reorder text become \xNN; the rest stays.
std::string Escape(std::string_view text);

// Columns that escaped text takes on a terminal, one per character.
std::size_t DisplayWidth(std::string_view escaped);

}  // namespace chokepoint::tools
