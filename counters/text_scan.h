// Cuts text of /proc and /sys into lines, words and numbers, in place.
// Must not allocate, must not read past the end, must not follow the locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace chokepoint::counters {

// Takes the text up to the next `separator` off the front of `rest`. False when nothing is left.
inline bool TakeUpTo(std::string_view* rest, char separator, std::string_view* piece) noexcept {
  if (rest->empty()) return false;
  const std::size_t end = rest->find(separator);
  if (end == std::string_view::npos) {
    *piece = *rest;
    rest->remove_prefix(rest->size());
  } else {
    *piece = std::string_view(rest->data(), end);
    rest->remove_prefix(end + 1);
  }
  return true;
}

inline bool TakeLine(std::string_view* rest, std::string_view* line) noexcept {
  return TakeUpTo(rest, '\n', line);
}

inline bool IsBlank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Takes the next run of non-blank characters. False when only blanks are left.
inline bool TakeWord(std::string_view* rest, std::string_view* word) noexcept {
  std::size_t begin = 0;
  while (begin < rest->size() && IsBlank((*rest)[begin])) ++begin;
  std::size_t end = begin;
  while (end < rest->size() && !IsBlank((*rest)[end])) ++end;
  *word = std::string_view(rest->data() + begin, end - begin);
  rest->remove_prefix(end);
  return !word->empty();
}

inline std::string_view Trimmed(std::string_view text) noexcept {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

// True only when all of `text` is one number that fits: "N/A (no PMA)" and "" are not numbers.
inline bool ParseUnsigned(std::string_view text, std::uint64_t* out, unsigned base = 10) noexcept {
  if (text.empty()) return false;
  std::uint64_t value = 0;
  for (const char c : text) {
    unsigned digit = 99;
    if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') digit = static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') digit = static_cast<unsigned>(c - 'A') + 10;
    if (digit >= base) return false;
    std::uint64_t scaled = 0;
    if (__builtin_mul_overflow(value, std::uint64_t{base}, &scaled)) return false;
    if (__builtin_add_overflow(scaled, std::uint64_t{digit}, &value)) return false;
  }
  *out = value;
  return true;
}

// The same with an optional minus sign.
inline bool ParseSigned(std::string_view text, std::int64_t* out) noexcept {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  std::uint64_t magnitude = 0;
  if (!ParseUnsigned(text, &magnitude) || magnitude > INT64_MAX) return false;
  *out = negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
  return true;
}

// Takes one word and reads it as a number; leaves *out alone when it is none.
inline bool TakeUnsigned(std::string_view* rest, std::uint64_t* out, unsigned base = 10) noexcept {
  std::string_view word;
  return TakeWord(rest, &word) && ParseUnsigned(word, out, base);
}

// Reads up to `capacity` numbers separated by blanks. Returns how many there were before the first
// word that is none.
inline std::size_t TakeNumbers(std::string_view* rest, std::uint64_t* out, std::size_t capacity,
                               unsigned base = 10) noexcept {
  std::size_t count = 0;
  while (count < capacity && TakeUnsigned(rest, &out[count], base)) ++count;
  return count;
}

inline bool StartsWith(std::string_view text, std::string_view prefix) noexcept {
  return text.size() >= prefix.size() && std::string_view(text.data(), prefix.size()) == prefix;
}
inline bool EndsWith(std::string_view text, std::string_view suffix) noexcept {
  return text.size() >= suffix.size() &&
         std::string_view(text.data() + text.size() - suffix.size(), suffix.size()) == suffix;
}
inline bool Contains(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != std::string_view::npos;
}

}  // namespace chokepoint::counters
