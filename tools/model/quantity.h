// Turns times, sizes, bandwidths and shares into short text for people: three significant digits
// and a unit. Must not decide what is worth saying.
#pragma once

#include <cstdint>
#include <string>

namespace chokepoint::tools {

std::string FormatNs(double ns);  // "1.21 ms"
std::string FormatBytes(
    double bytes);  // "25 MiB", "1.5 KiB", "12 B": message sizes are powers of two
std::string FormatDecimalBytes(double bytes);     // "1.2 GB": traffic and files
std::string FormatGbps(double bytes_per_second);  // "1.53" (GB/s, SI)
std::string FormatShare(double share);            // 0.123 -> "12.3 %"
std::string FormatCount(std::uint64_t count);     // "1,234,567"

}  // namespace chokepoint::tools
