// The door's other entries: names, META, the board.
// Must not create anything: what is not there gives 0, null or nothing.
#include "trace/recorder_state.h"
#include "trace/try_lock.h"

namespace chokepoint::trace {
namespace internal {

static bool CanRecord() noexcept {
  if (CurrentPhase() == Phase::kForked) Start(g_recorder.rank, g_recorder.ranks);
  return HasMemory(CurrentPhase());
}

void AppendMeta(const char* key, const char* value, bool remember) noexcept {
  RecorderState& state = g_recorder;
  if (!TryLock(&state.adding_meta)) return;
  const std::size_t key_bytes = std::strlen(key) + 1;
  const std::size_t value_bytes = strnlen(value, 4000) + 1;
  const auto add = [&](char* at) {
    std::memcpy(at, key, key_bytes);
    std::memcpy(at + key_bytes, value, value_bytes - 1);
    at[key_bytes + value_bytes - 1] = '\0';
  };
  const std::size_t bytes = key_bytes + value_bytes;
  if (remember && state.added_meta_bytes + bytes <= sizeof(state.added_meta)) {
    add(state.added_meta + state.added_meta_bytes);
    state.added_meta_bytes += bytes;
  }
  const Phase phase = CurrentPhase();
  if (phase >= Phase::kStarting && phase <= Phase::kStopped && state.memory.header() != nullptr) {
    RingFileHeader* header = state.memory.header();
    const std::uint64_t used = header->meta_used.load(std::memory_order_relaxed);
    if (used + bytes <= header->meta_bytes) {
      add(reinterpret_cast<char*>(state.memory.At(header->meta_offset + used)));
      header->meta_used.store(used + bytes, std::memory_order_release);
    }
  }
  Unlock(&state.adding_meta);
}

void RepeatAddedMeta() noexcept {
  const RecorderState& state = g_recorder;
  for (std::size_t at = 0; at < state.added_meta_bytes;) {
    const char* key = state.added_meta + at;
    const char* value = key + std::strlen(key) + 1;
    AppendMeta(key, value, false);
    at = static_cast<std::size_t>(value + std::strlen(value) + 1 - state.added_meta);
  }
}

}  // namespace internal

using internal::g_recorder;

void AddMeta(const char* key, const char* value) noexcept {
  if (key == nullptr || value == nullptr || *key == '\0') return;
  internal::AppendMeta(key, value, true);
}

std::uint32_t InternName(const char* text) noexcept {
  if (text == nullptr) return 0;
  if (!internal::CanRecord()) return 0;
  const std::uint32_t id = g_recorder.names.Intern(text);
  if (id == 0) internal::CountLoss(LossReason::kNamesFull, 1, 0);
  return id;
}

std::uint8_t InternLiteral(const char* text) noexcept {
  if (text == nullptr) return 0;
  if (!internal::CanRecord()) return 0;
  const std::uint8_t id = g_recorder.names.InternLiteral(text);
  if (id == 0) internal::CountLoss(LossReason::kNamesFull, 1, 0);
  return id;
}

BoardSlot* Board() noexcept {
  if (!internal::CanRecord()) return nullptr;
  const RingFileHeader* header = g_recorder.memory.header();
  if (header->board_slots == 0) return nullptr;
  return reinterpret_cast<BoardSlot*>(g_recorder.memory.At(header->board_offset));
}

std::size_t BoardSlots() noexcept { return g_recorder.options.board_slots; }

void CountBoardFull() noexcept { internal::CountLoss(LossReason::kBoardFull, 1, 0); }

}  // namespace chokepoint::trace
