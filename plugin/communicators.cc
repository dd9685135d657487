// Entries live in a fixed array; claiming one is the only search. Contexts carry a number drawn
// once per process, so that another process's context is not taken for one of ours. Must not run on
// the hot path, FindCommunicator and NextPeerSequence excepted.
#include "plugin/communicators.h"

#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "plugin/abi/profiler_abi.h"
#include "trace/recorder.h"

namespace chokepoint::plugin {
namespace {

constexpr std::uint64_t kClaimed = ~std::uint64_t{0};
constexpr std::uint32_t kUnknownPeers = 1u
                                        << 16;  // room when NCCL does not tell the number of ranks

Communicator g_communicators[kMaxCommunicators];
std::atomic<std::uint32_t> g_used{0};  // entries ever used: the array's touched part
std::atomic<std::uint32_t> g_next_number{1};
std::atomic<std::uint32_t> g_alive{0};
std::atomic<std::uint64_t> g_nonce{0};

// 28 bits that another process is unlikely to have, never 0.
std::uint64_t Nonce() noexcept {
  std::uint64_t nonce = g_nonce.load(std::memory_order_relaxed);
  if (nonce != 0) return nonce;
  std::uint64_t mixed =
      (trace::NowTicks() ^ (static_cast<std::uint64_t>(getpid()) << 32)) * 0x9e3779b97f4a7c15u;
  mixed = (mixed >> 36) | 1;
  g_nonce.compare_exchange_strong(nonce, mixed, std::memory_order_relaxed);
  return g_nonce.load(std::memory_order_relaxed);
}

Handle ContextOf(std::size_t index, std::uint32_t generation) noexcept {
  const std::uint64_t bits = (Nonce() << 32) | ((generation & 0xffffu) << 16) | index;
  return Handle::Of(HandleTag::kContext, bits >> kSmallShift, bits);
}

Communicator* ClaimEntry() noexcept {
  for (std::size_t i = 0; i < kMaxCommunicators; ++i) {
    std::uint64_t expected = 0;
    Communicator& entry = g_communicators[i];
    if (entry.context.load(std::memory_order_relaxed) == 0 &&
        entry.context.compare_exchange_strong(expected, kClaimed, std::memory_order_acquire)) {
      std::uint32_t used = g_used.load(std::memory_order_relaxed);
      while (used < i + 1 &&
             !g_used.compare_exchange_weak(used, static_cast<std::uint32_t>(i + 1))) {
      }
      return &entry;
    }
  }
  return nullptr;
}

// A mapping is never taken back: a late event of the entry's former communicator may still count in
// it.
void MakePeerSequences(Communicator* entry, int ranks) noexcept {
  std::uint32_t peers = 512;
  while (peers < kMaxPeers &&
         peers < (ranks > 0 ? static_cast<std::uint32_t>(ranks) : kUnknownPeers))
    peers *= 2;
  if (entry->peers >= peers) {
    for (std::size_t i = 0; i < std::size_t{entry->peers} * 2; ++i)
      entry->peer_sequences[i].store(0, std::memory_order_relaxed);
    return;
  }
  void* memory = mmap(nullptr, std::size_t{peers} * 2 * sizeof(std::uint32_t),
                      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  entry->peer_sequences = static_cast<std::atomic<std::uint32_t>*>(memory);
  entry->peers = peers;
}

}  // namespace

Handle AddCommunicator(const NewCommunicator& told) noexcept {
  Communicator* entry = ClaimEntry();
  if (entry == nullptr)
    return Handle::Of(HandleTag::kContext, 0, kMaxCommunicators);  // found by nobody
  entry->generation += 1;
  entry->expects_kernels = (told.event_mask & ncclProfileKernelCh) != 0;
  entry->learnt.store(told.api_version >= 4, std::memory_order_relaxed);
  entry->last_over_ticks.store(0, std::memory_order_relaxed);
  for (auto& numbers : entry->sequences)
    for (auto& number : numbers) number.store(0, std::memory_order_relaxed);
  MakePeerSequences(entry, told.ranks);
  trace::Communicator record;
  record.api_version = static_cast<std::uint8_t>(told.api_version);
  record.flags = trace::kCommunicatorOpen;
  record.communicator = g_next_number.fetch_add(1, std::memory_order_relaxed);
  record.communicator_id = told.id;
  record.rank = told.rank;
  record.ranks = told.ranks;
  record.nodes = told.nodes;
  record.name = trace::InternName(told.name);
  record.event_mask = told.event_mask;
  record.device = -1;
  record.ticks = trace::NowTicks();
  entry->record = record;
  g_alive.fetch_add(1, std::memory_order_relaxed);
  const Handle context =
      ContextOf(static_cast<std::size_t>(entry - g_communicators), entry->generation);
  entry->context.store(context.bits(), std::memory_order_release);
  trace::Emit(record);
  return context;
}

Communicator* FindCommunicator(const void* context) noexcept {
  const Handle handle(context);
  const std::size_t index = handle.bits() & 0xffff;
  if (handle.tag() != HandleTag::kContext || index >= kMaxCommunicators) return nullptr;
  Communicator* entry = &g_communicators[index];
  return entry->context.load(std::memory_order_acquire) == handle.bits() ? entry : nullptr;
}

void LearnCommunicator(Communicator* communicator, const char* name, std::uint64_t hash,
                       int rank) noexcept {
  if (communicator == nullptr || (hash == 0 && name == nullptr)) return;
  if (communicator->learnt.load(std::memory_order_relaxed) ||
      communicator->learnt.exchange(true, std::memory_order_relaxed)) {
    return;
  }
  trace::Communicator record = communicator->record;
  record.communicator_id = hash;
  record.name = trace::InternName(name);
  record.rank = rank;
  trace::Emit(record);
}

bool EndCommunicator(Communicator* communicator) noexcept {
  std::uint64_t context = communicator->context.load(std::memory_order_relaxed);
  if (context == 0 || context == kClaimed ||
      !communicator->context.compare_exchange_strong(context, kClaimed,
                                                     std::memory_order_acq_rel)) {
    return false;
  }
  trace::CommunicatorEnd end;
  end.communicator = communicator->record.communicator;
  end.ticks = trace::NowTicks();
  trace::Emit(end);
  g_alive.fetch_sub(1, std::memory_order_relaxed);
  communicator->context.store(0, std::memory_order_release);
  return true;
}

Communicator* CommunicatorByNumber(std::uint32_t number) noexcept {
  const std::uint32_t used = g_used.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < used; ++i) {
    Communicator& entry = g_communicators[i];
    const std::uint64_t context = entry.context.load(std::memory_order_acquire);
    if (context != 0 && context != kClaimed && entry.record.communicator == number) return &entry;
  }
  return nullptr;
}

bool IsOurContext(const void* context) noexcept {
  const Handle handle(context);
  const std::uint64_t nonce = g_nonce.load(std::memory_order_relaxed);
  return handle.tag() == HandleTag::kContext && nonce != 0 &&
         ((handle.bits() >> 32) & 0xfffffffu) == nonce;
}

bool NoCommunicators() noexcept { return g_alive.load(std::memory_order_relaxed) == 0; }

void ForgetCommunicators() noexcept {
  const std::uint32_t used = g_used.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < used; ++i)
    g_communicators[i].context.store(0, std::memory_order_relaxed);
  g_alive.store(0, std::memory_order_relaxed);
  g_nonce.store(0, std::memory_order_relaxed);
}

bool NextPeerSequence(Communicator* communicator, int peer, bool receive,
                      std::uint32_t* sequence) noexcept {
  if (communicator == nullptr || peer < 0 ||
      static_cast<std::uint32_t>(peer) >= communicator->peers) {
    return false;
  }
  const std::size_t index = static_cast<std::size_t>(peer) * 2 + (receive ? 1 : 0);
  *sequence = communicator->peer_sequences[index].fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace chokepoint::plugin
