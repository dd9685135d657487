// Claims places; when none is free, clears one whose work is evidently over.
// Must not search without bound: it runs in NCCL's threads.
#include "plugin/board.h"

#include "plugin/reaper.h"

namespace chokepoint::plugin {

std::atomic<trace::BoardSlot*> g_board{nullptr};
std::atomic<std::uint64_t> g_next_operation{1};

namespace {

constexpr int kAttempts = 8;           // successive numbers tried before somebody is asked to leave
constexpr std::size_t kSearched = 64;  // places looked at for one that is over

bool TryClaim(trace::BoardSlot* slot) noexcept {
  std::uint64_t expected = 0;
  return slot->id.load(std::memory_order_relaxed) == 0 &&
         slot->id.compare_exchange_strong(expected, trace::kBoardClaimed, std::memory_order_acquire,
                                          std::memory_order_relaxed);
}

}  // namespace

Place Claim() noexcept {
  std::uint64_t id = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    id = g_next_operation.fetch_add(1, std::memory_order_relaxed);
    trace::BoardSlot* slot = PlaceOf(id);
    if (slot == nullptr) return {nullptr, id};
    if (TryClaim(slot)) {
      __builtin_prefetch(PlaceOf(id + 1), 1);
      __builtin_prefetch(PlaceOf(id + 1)->record + 64, 1);
      __builtin_prefetch(PlaceOf(id + 1)->side, 1);
      return {slot, id};
    }
  }
  for (std::size_t i = 0; i < kSearched; ++i) {
    id = g_next_operation.fetch_add(1, std::memory_order_relaxed);
    trace::BoardSlot* slot = PlaceOf(id);
    if (slot == nullptr) return {nullptr, id};
    if (TryClaim(slot) || (FinishIfOver(slot) && TryClaim(slot))) return {slot, id};
  }
  trace::CountBoardFull();
  return {nullptr, id};
}

void Release(trace::BoardSlot* slot) noexcept {
  Store(*reinterpret_cast<std::uint16_t*>(slot->record), 0);  // nothing to salvage
  slot->opened_ticks.store(0, std::memory_order_relaxed);
  slot->id.store(0, std::memory_order_release);
}

}  // namespace chokepoint::plugin
