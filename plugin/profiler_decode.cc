// Names for v1's numbers, and the thread's cache of literals.
// Must not compare strings on the hot path.
#include "plugin/profiler_decode.h"

#include <array>

namespace chokepoint::plugin {
namespace {

template <std::size_t N>
std::uint8_t Named(const std::array<const char*, N>& names, std::uint8_t number) noexcept {
  return number < N ? LiteralId(names[number]) : std::uint8_t{0};
}

constexpr std::array<const char*, 15> kFunctions = {
    "Broadcast", "Reduce",     "AllGather", "ReduceScatter", "AllReduce",
    "SendRecv",  "Send",       "Recv",      "AlltoAll",      "Scatter",
    "Gather",    "AllGatherV", "PutSignal", "Signal",        "WaitSignal"};
constexpr std::array<const char*, 12> kDatatypes = {
    "ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
    "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
    "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
constexpr std::array<const char*, 7> kAlgorithms = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr std::array<const char*, 3> kProtocols = {"LL", "LL128", "SIMPLE"};

}  // namespace

thread_local constinit CachedLiteral t_literals[kCachedLiterals];

std::uint8_t LearnLiteral(const char* text, CachedLiteral* cached) noexcept {
  const std::uint8_t id = trace::InternLiteral(text);
  if (id != 0) *cached = {text, id};
  return id;
}

std::uint8_t FunctionFromNumber(std::uint8_t number) noexcept { return Named(kFunctions, number); }
std::uint8_t DatatypeFromNumber(std::uint8_t number) noexcept { return Named(kDatatypes, number); }
std::uint8_t AlgorithmFromNumber(std::uint8_t number) noexcept {
  return Named(kAlgorithms, number);
}
std::uint8_t ProtocolFromNumber(std::uint8_t number) noexcept { return Named(kProtocols, number); }

}  // namespace chokepoint::plugin
