// Turns times, sizes, bandwidths and shares into short text for people: three significant digits
// and a unit. Must not decide what is worth saying.
#include "tools/model/quantity.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>

namespace chokepoint::tools {
namespace {

struct Unit {
  double scale;
  const char* name;
};

// Three significant digits, never an exponent.
std::string ThreeDigits(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return "0";
  if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

std::string WithoutZeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

// The largest unit that the value fills; the last when none does.
Unit Choose(double magnitude, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (magnitude >= unit.scale * 0.9995) return unit;
  }
  return units.back();
}

}  // namespace

std::string FormatNs(double ns) {
  static constexpr std::array<Unit, 4> kUnits = {{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
  if (ns == 0) return "0 s";
  if (std::fabs(ns) >= 600e9) return fmt::format("{:.1f} min", ns / 60e9);
  const Unit unit = Choose(std::fabs(ns), kUnits);
  return fmt::format("{} {}", ThreeDigits(ns / unit.scale), unit.name);
}

std::string FormatBytes(double bytes) {
  static constexpr std::array<Unit, 5> kUnits = {{{1099511627776.0, "TiB"},
                                                  {1073741824.0, "GiB"},
                                                  {1048576.0, "MiB"},
                                                  {1024.0, "KiB"},
                                                  {1, "B"}}};
  const Unit unit = Choose(bytes, kUnits);
  return fmt::format("{} {}", WithoutZeros(ThreeDigits(bytes / unit.scale)), unit.name);
}

std::string FormatDecimalBytes(double bytes) {
  static constexpr std::array<Unit, 5> kUnits = {
      {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
  const Unit unit = Choose(bytes, kUnits);
  return fmt::format("{} {}", WithoutZeros(ThreeDigits(bytes / unit.scale)), unit.name);
}

std::string FormatGbps(double bytes_per_second) {
  const double value = bytes_per_second / 1e9;
  if (value > 0 && value < 0.01) return "<0.01";
  return ThreeDigits(value);
}

std::string FormatShare(double share) {
  const double percent = share * 100;
  if (percent > 0 && percent < 0.01) return "< 0.01 %";
  if (percent > 0 && percent < 0.095) return fmt::format("{:.2f} %", percent);
  return fmt::format("{:.1f} %", percent);
}

std::string FormatCount(std::uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace chokepoint::tools
