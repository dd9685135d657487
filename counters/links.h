// Nominal and usually seen bandwidths of links: PCIe by generation, NVLink by GPU model, network
// cards by line rate. Must not measure or judge: it is the table behind the "nominal" and
// "expected" columns.
#pragma once

#include <cstdint>
#include <string_view>

#include "counters/text_scan.h"

namespace chokepoint::counters {

// MB/s (1e6 bytes) of one lane in one direction, after line coding. 0 = unknown generation.
constexpr std::uint32_t PcieLaneMbytes(unsigned generation) noexcept {
  switch (generation) {
    case 1:
      return 250;
    case 2:
      return 500;
    case 3:
      return 985;
    case 4:
      return 1969;
    case 5:
      return 3938;
    case 6:
      return 7563;
    default:
      return 0;
  }
}
constexpr std::uint32_t PcieMbytes(unsigned generation, unsigned lanes) noexcept {
  return PcieLaneMbytes(generation) * lanes;
}

// The generation of "32.0 GT/s PCIe", as sysfs says it. 0 = unknown.
inline unsigned PcieGeneration(std::string_view link_speed) noexcept {
  struct Speed {
    std::string_view text;
    unsigned generation;
  };
  constexpr Speed kSpeeds[] = {{"2.5 ", 1},  {"5 ", 2},  {"5.0 ", 2},  {"8 ", 3},
                               {"8.0 ", 3},  {"16 ", 4}, {"16.0 ", 4}, {"32 ", 5},
                               {"32.0 ", 5}, {"64 ", 6}, {"64.0 ", 6}};
  for (const Speed& speed : kSpeeds) {
    if (StartsWith(link_speed, speed.text)) return speed.generation;
  }
  return 0;
}

// NVLink by GPU model: found by the first entry whose name is part of the model.
struct NvlinkModel {
  std::string_view name_part;
  unsigned generation;
  std::uint32_t links;
  std::uint32_t link_mbytes;      // one link, one direction
  std::uint32_t expected_mbytes;  // ring bandwidth (busbw) usually seen with 8 GPUs; 0 = not known
};
inline constexpr NvlinkModel kNvlinkModels[] = {
    {"P100", 1, 4, 20'000, 0},        {"V100", 2, 6, 25'000, 120'000},
    {"A800", 3, 8, 25'000, 160'000},  {"A100", 3, 12, 25'000, 230'000},
    {"H800", 4, 8, 25'000, 160'000},  {"GH200", 4, 18, 25'000, 365'000},
    {"H100", 4, 18, 25'000, 365'000}, {"H200", 4, 18, 25'000, 365'000},
    {"H20", 4, 18, 25'000, 365'000},  {"GB200", 5, 18, 50'000, 677'000},
    {"B200", 5, 18, 50'000, 677'000},
};

// null when the model has no NVLink that we know.
inline const NvlinkModel* FindNvlinkModel(std::string_view model) noexcept {
  // why: PCIe cards share the name and have a bridge at most.
  if (Contains(model, "PCIe") || Contains(model, "NVL")) return nullptr;
  for (const NvlinkModel& entry : kNvlinkModels) {
    if (Contains(model, entry.name_part)) return &entry;
  }
  return nullptr;
}

// What is usually seen of a network card's line rate with large messages: the gate below which
// something is wrong.
struct NicExpectation {
  std::uint32_t line_gbps;
  std::uint32_t seen_mbytes;
};
inline constexpr NicExpectation kNicExpectations[] = {
    {100, 12'200}, {200, 24'000}, {400, 47'000}, {800, 95'000}};

// MB/s expected of a card; 97 % of the line where there is no experience.
constexpr std::uint32_t NicExpectedMbytes(std::uint32_t line_mbps) noexcept {
  for (const NicExpectation& entry : kNicExpectations) {
    if (entry.line_gbps * 1000 == line_mbps) return entry.seen_mbytes;
  }
  return static_cast<std::uint32_t>(std::uint64_t{line_mbps} * 97 / 800);
}

}  // namespace chokepoint::counters
