// Builds text in memory that the caller owns: paths, META, the SCHEMA block.
// Must not allocate, and must not use stdio, which locks, allocates and follows the locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace chokepoint::trace {

// Always ends with NUL. What does not fit is cut and remembered.
class Text {
 public:
  Text(char* memory, std::size_t bytes) noexcept : data_(memory), capacity_(bytes) {
    data_[0] = '\0';
  }

  Text& Add(const char* text) noexcept { return Add(text, std::strlen(text)); }
  Text& Add(const char* text, std::size_t bytes) noexcept {
    const std::size_t room = capacity_ - 1 - size_;
    if (bytes > room) cut_ = true;
    const std::size_t taken = bytes > room ? room : bytes;
    std::memcpy(data_ + size_, text, taken);
    size_ += taken;
    data_[size_] = '\0';
    return *this;
  }
  Text& AddChar(char c) noexcept { return Add(&c, 1); }
  Text& AddNumber(std::uint64_t number, std::size_t least_digits = 1) noexcept {
    return AddDigits(number, 10, least_digits);
  }
  Text& AddHex(std::uint64_t number, std::size_t least_digits = 1) noexcept {
    return AddDigits(number, 16, least_digits);
  }

  const char* text() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool cut() const noexcept { return cut_; }

 private:
  Text& AddDigits(std::uint64_t number, unsigned base, std::size_t least_digits) noexcept {
    char digits[24];
    std::size_t count = 0;
    do {
      digits[sizeof(digits) - ++count] = "0123456789abcdef"[number % base];
      number /= base;
    } while ((number != 0 || count < least_digits) && count < sizeof(digits));
    return Add(digits + sizeof(digits) - count, count);
  }

  char* data_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  bool cut_ = false;
};

// -1 when `text` is null or not a number from its first to its last character.
inline long ParseNumber(const char* text) noexcept {
  if (text == nullptr || *text == '\0') return -1;
  long number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    if (number > (1L << 50)) return -1;
    number = number * 10 + (*text - '0');
  }
  return *text == '\0' ? number : -1;
}

}  // namespace chokepoint::trace
