// From any version's event descriptor to the trace's records: one template, whose `requires` lines
// are the interface's history. Must not keep a pointer that NCCL passed, nor read a field that the
// event's type does not define.
#pragma once

#include <cstdint>

#include "plugin/abi/profiler_abi.h"
#include "plugin/operations.h"
#include "plugin/proxy.h"
#include "trace/events.h"
#include "trace/recorder.h"

namespace chokepoint::plugin {

// v1 tells function, datatype, algorithm and protocol as numbers.
std::uint8_t FunctionFromNumber(std::uint8_t number) noexcept;
std::uint8_t DatatypeFromNumber(std::uint8_t number) noexcept;
std::uint8_t AlgorithmFromNumber(std::uint8_t number) noexcept;
std::uint8_t ProtocolFromNumber(std::uint8_t number) noexcept;

// NCCL's literals, by address first: a thread sees few.
struct CachedLiteral {
  const char* text = nullptr;
  std::uint8_t id = 0;
};
inline constexpr std::size_t kCachedLiterals = 32;
extern thread_local constinit CachedLiteral t_literals[kCachedLiterals]
    __attribute__((tls_model("initial-exec")));
std::uint8_t LearnLiteral(const char* text, CachedLiteral* cached) noexcept;

inline std::uint8_t LiteralId(const char* text) noexcept {
  if (text == nullptr) return 0;
  const auto address = reinterpret_cast<std::uintptr_t>(text);
  CachedLiteral& cached = t_literals[(address ^ (address >> 5)) % kCachedLiterals];
  return __builtin_expect(cached.text == text, 1) != 0 ? cached.id : LearnLiteral(text, &cached);
}

template <class Coll>
OperationTold DecodeCollective(const Coll& told) noexcept {
  OperationTold operation;
  if constexpr (requires { *told.func; }) {  // v2: names instead of numbers
    operation.function = LiteralId(told.func);
    operation.datatype = LiteralId(told.datatype);
    operation.algorithm = LiteralId(told.algo);
    operation.protocol = LiteralId(told.proto);
  } else {
    operation.function = FunctionFromNumber(told.func);
    operation.datatype = DatatypeFromNumber(told.datatype);
    operation.algorithm = AlgorithmFromNumber(told.algo);
    operation.protocol = ProtocolFromNumber(told.proto);
  }
  if constexpr (requires { told.nChannels; })
    operation.channels = told.nChannels;  // v4: exact
  else
    operation.channels = told.nMaxChannels;
  operation.count = told.count;
  operation.root_or_peer = told.root;
  return operation;
}

template <class P2p>
OperationTold DecodePointToPoint(const P2p& told) noexcept {
  OperationTold operation;
  if constexpr (requires { *told.func; }) {  // v2
    operation.function = LiteralId(told.func);
    operation.datatype = LiteralId(told.datatype);
    operation.receive = told.func != nullptr && told.func[0] == 'R';
  } else {
    operation.function = FunctionFromNumber(told.func);
    operation.datatype = DatatypeFromNumber(told.datatype);
    operation.receive = told.func == 7;
  }
  if constexpr (requires { told.nChannels; }) operation.channels = told.nChannels;  // v4
  operation.count = told.count;
  operation.root_or_peer = told.peer;
  return operation;
}

// `part` is the descriptor's coll or p2p.
template <class Descr, class Part>
OperationOrigin DecodeOrigin(const void* context, const Descr& descr, const Part& part) noexcept {
  OperationOrigin origin;
  origin.context = context;
  if constexpr (requires {
                  part.parentGroup;
                }) {  // v5: the parent is the API call, the group moved
    origin.call = Handle(descr.parentObj);
    origin.group = Handle(part.parentGroup);
    origin.knows_graphs = true;
  } else {
    origin.group = Handle(descr.parentObj);
  }
  if constexpr (requires { part.seqNumber; }) origin.sequence = part.seqNumber;
  origin.exact_channels = requires { part.nChannels; };
  return origin;
}

template <class Descr>
ProxyTold DecodeProxy(const void* context, const Descr& descr) noexcept {
  ProxyTold told{};
  told.context = context;
  told.parent = Handle(descr.parentObj);
  told.rank = descr.rank;
  told.pid = descr.proxyOp.pid;
  told.channel = descr.proxyOp.channelId;
  told.peer = descr.proxyOp.peer;
  told.steps = descr.proxyOp.nSteps;
  told.chunk_bytes = descr.proxyOp.chunkSize;
  told.send = descr.proxyOp.isSend != 0;
  told.tells_bytes = requires { descr.kernelCh.pTimer; };  // v4: steps carry bytes
  return told;
}

template <class Descr>
std::uint64_t KernelTimer(const Descr& descr) noexcept {
  if constexpr (requires { descr.kernelCh.pTimer; })
    return descr.kernelCh.pTimer;  // v4
  else
    return 0;
}

}  // namespace chokepoint::plugin
