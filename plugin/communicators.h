// The registry of communicators: what init told, and the counters that number operations by
// communicator. Must not free an entry that NCCL may still name: contexts are numbers that are
// checked, and an entry is reused only after its communicator has ended, under another generation.
#pragma once

#include <atomic>
#include <cstdint>

#include "plugin/handles.h"
#include "trace/events.h"

namespace chokepoint::plugin {

inline constexpr std::size_t kMaxCommunicators = 1024;  // alive at once
inline constexpr std::uint32_t kMaxPeers = 1u << 20;

struct Communicator {
  std::atomic<std::uint64_t> context{0};  // bits of its context handle; 0 = free or ended
  std::uint32_t generation = 0;
  bool expects_kernels = false;     // kernel events were asked for
  std::atomic<bool> learnt{false};  // True when this process gave that context, alive or not.
  bool IsOurContext(const void* context) noexcept;
  // v1 to v3: name and hash came with an event
  trace::Communicator record;  // as emitted
  std::atomic<std::uint64_t> last_over_ticks{
      0};  // latest enqueue of an operation known to have ended on the GPU
  // Next number: [0] what NCCL should say, to notice repetitions; [1] our own, for repetitions. By
  // literal id of the function.
  std::atomic<std::uint32_t> sequences[2][256];
  // Next number per peer: [2 * peer] sends, [2 * peer + 1] receives. Memory of its own; null: none
  // could be had.
  std::atomic<std::uint32_t>* peer_sequences = nullptr;
  std::uint32_t peers = 0;
};

struct NewCommunicator {
  int api_version;
  std::uint64_t id;
  const char* name;
  int nodes;
  int ranks;  // 0 = not told
  int rank;   // -1 = not told
  std::uint32_t event_mask;
};

// Enters a communicator and emits its record. The context is never null, also when the registry is
// full.
Handle AddCommunicator(const NewCommunicator& told) noexcept;
// The entry of a context, or null: never given, of another process, or ended.
Communicator* FindCommunicator(const void* context) noexcept;
// True when this process gave that context, alive or not.
bool IsOurContext(const void* context) noexcept;
// v1 to v3: name and hash from an event; emits the record again the first time.
void LearnCommunicator(Communicator* communicator, const char* name, std::uint64_t hash,
                       int rank) noexcept;
// Marks it ended and emits that. False: it was not alive.
bool EndCommunicator(Communicator* communicator) noexcept;
// The entry by the number in records, or null. Slow.
Communicator* CommunicatorByNumber(std::uint32_t number) noexcept;
// True when no communicator is alive.
bool NoCommunicators() noexcept;
// In a forked child: everything that the parent knew is over, without a record.
void ForgetCommunicators() noexcept;

inline std::uint32_t NumberOf(const Communicator* communicator) noexcept {
  return communicator == nullptr ? 0 : communicator->record.communicator;
}

// The sequence number of the next point-to-point operation with `peer`. False: not counted.
bool NextPeerSequence(Communicator* communicator, int peer, bool receive,
                      std::uint32_t* sequence) noexcept;

}  // namespace chokepoint::plugin
