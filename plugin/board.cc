// Claims places; when none is free, clears one whose work is evidently over.
// Must not search without bound: it runs in NCCL's threads.
#include "plugin/board.h"

#include "plugin/reaper.h"

namespace chokepoint::plugin {

std::atomic<trace::BoardSlot*> g_board{nullptr};

namespace {

std::atomic<std::uint64_t> g_next_block{64};  // 0 is nobody's number

constexpr int kAttempts = 8;           // successive numbers tried before somebody is asked to leave
constexpr std::size_t kSearched = 64;  // places looked at for one that is over

// Numbers are handed to threads in blocks: consecutive on a thread, and no line of memory that all
// threads write.
constexpr std::uint64_t kBlock = 64;
struct Numbers {
  std::uint64_t next = 0;
  std::uint64_t end = 0;
};
thread_local Numbers t_numbers __attribute__((tls_model("initial-exec")));

std::uint64_t NextNumber() noexcept {
  Numbers& numbers = t_numbers;
  if (__builtin_expect(numbers.next == numbers.end, 0)) {
    numbers.next = g_next_block.fetch_add(kBlock, std::memory_order_relaxed);
    numbers.end = numbers.next + kBlock;
  }
  return numbers.next++;
}

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
    id = NextNumber();
    trace::BoardSlot* slot = PlaceOf(id);
    if (slot == nullptr) return {nullptr, id};
    if (TryClaim(slot)) {
      __builtin_prefetch(PlaceOf(id + 2), 1);
      __builtin_prefetch(PlaceOf(id + 2)->record + 64, 1);
      return {slot, id};
    }
  }
  for (std::size_t i = 0; i < kSearched; ++i) {
    id = NextNumber();
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
