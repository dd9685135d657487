// Folds the states of steps into a ProxyOperation record: which step is the oldest, what it waits
// for, since when. Must not read a clock or know handles: it is told the time.
#pragma once

#include <cstdint>

#include "plugin/board.h"
#include "trace/events.h"

namespace chokepoint::plugin {

// NCCL has eight buffers per connection, so eight steps can be open. A ninth takes the place of a
// step that NCCL forgot to stop (2.24 to 2.26 do that on the receiving side).
inline constexpr std::uint32_t kOpenSteps = 8;

// In the order in which a step passes through them; never backwards.
enum class StepState : std::uint8_t {
  kClosed = 0,
  kGpuWait = 1,   // send
  kPeerWait = 2,  // send: refused; receive: not yet accepted
  kWireWait = 3,
  kFlushWait = 4,    // receive
  kConsumeWait = 5,  // receive
};

// Beside a ProxyOperation on the board.
struct ProxySide {
  std::uint64_t mark_ticks = 0;  // wall time is attributed up to here
  std::uint64_t wire_since[kOpenSteps] = {};
  std::uint32_t step[kOpenSteps] = {};
  std::uint8_t state[kOpenSteps] = {};    // StepState
  std::uint8_t refused[kOpenSteps] = {};  // a wait for the peer has been told
  std::uint32_t steps_seen = 0;           // started, each once
};
static_assert(sizeof(ProxySide) <= sizeof(trace::BoardSlot::side));

class ProxyFold {
 public:
  ProxyFold(trace::ProxyOperation* record, ProxySide* side) : record_(*record), side_(*side) {}

  // False: it was open already (NCCL repeats the start of a receive until the transport accepts
  // it): a refusal.
  bool Start(std::uint32_t step, std::uint64_t now) noexcept;
  // `step` is compared in its low 12 bits, as handles carry it. False: that step is not open.
  bool IsOpen(std::uint32_t step) const noexcept;
  // False: it was there already, or further.
  bool Enter(std::uint32_t step, StepState state, std::uint64_t now) noexcept;
  void Refuse(std::uint32_t step, std::uint64_t now) noexcept;
  void Stop(std::uint32_t step, std::uint64_t now) noexcept;
  // Up to 2.26: the transport is tried for the oldest step that still waits for the GPU.
  void OfferOldest(std::uint64_t now) noexcept;
  // Brings the waits up to date.
  void Attribute(std::uint64_t now) noexcept;
  bool is_send() const noexcept { return (Load(record_.flags) & trace::kProxySend) != 0; }

 private:
  int Oldest() const noexcept;  // index, or -1
  void EndWire(std::uint32_t index, std::uint64_t now) noexcept;
  float* WaitOf(StepState state) noexcept;

  trace::ProxyOperation& record_;
  ProxySide& side_;
};

// Ticks in 4 us, the histogram's first bound; 0 = not yet known: no histogram.
extern std::atomic<std::uint64_t> g_ticks_per_4us;

}  // namespace chokepoint::plugin
