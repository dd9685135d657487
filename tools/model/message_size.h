// What an operation moves: bytes of its message and the factor from algorithm to bus bandwidth, as
// nccl-tests define them. Must not measure anything.
#pragma once

#include <cstdint>
#include <string_view>

namespace chokepoint::tools {

// Bytes of one element of an NCCL datatype name ("ncclFloat32"); 1 for a name that is not known
// (NCCL says "Unknown" for ncclUint8).
std::uint32_t DatatypeBytes(std::string_view datatype);

// The S of algbw = S / t. `count` as NCCL's profiler tells it: elements, per rank for AllGather and
// ReduceScatter, bytes per rank for AllGather and Broadcast (their datatype then reads ncclInt8).
// `ranks` of 0 counts as 1.
double MessageBytes(std::string_view function, std::uint64_t count, std::string_view datatype,
                    std::int32_t ranks);

// busbw = algbw * factor.
double BusFactor(std::string_view function, std::int32_t ranks);

// True when no rank can finish before every rank has arrived: then the shortest duration names the
// last to arrive.
bool IsSynchronising(std::string_view function);

}  // namespace chokepoint::tools
