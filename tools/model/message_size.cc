// What an operation moves: bytes of its message and the factor from algorithm to bus bandwidth, as
// nccl-tests define them. Must not measure anything.
#include "tools/model/message_size.h"

#include <algorithm>

namespace chokepoint::tools {
namespace {

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Functions whose message is the total over all ranks, while NCCL counts one rank's part.
bool CountsOneRanksPart(std::string_view function) {
  return function == "AllGather" || function == "ReduceScatter" || function == "AlltoAll" ||
         function == "Gather" || function == "Scatter";
}

}  // namespace

std::uint32_t DatatypeBytes(std::string_view datatype) {
  if (EndsWith(datatype, "64")) return 8;
  if (EndsWith(datatype, "32")) return 4;
  if (EndsWith(datatype, "16")) return 2;
  return 1;
}

double MessageBytes(std::string_view function, std::uint64_t count, std::string_view datatype,
                    std::int32_t ranks) {
  const double one = static_cast<double>(count) * DatatypeBytes(datatype);
  return CountsOneRanksPart(function) ? one * std::max(ranks, 1) : one;
}

double BusFactor(std::string_view function, std::int32_t ranks) {
  if (ranks < 2) return 1;
  const double others = static_cast<double>(ranks - 1) / ranks;
  if (function == "AllReduce") return 2 * others;
  return CountsOneRanksPart(function) ? others : 1;
}

bool IsSynchronising(std::string_view function) {
  return function == "AllReduce" || function == "AllGather" || function == "ReduceScatter" ||
         function == "AlltoAll";
}

}  // namespace chokepoint::tools
