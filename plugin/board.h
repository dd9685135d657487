// Places on the recorder's board for what is in flight: claim, find, take, release; and relaxed
// access to the fields there. Must not know what is recorded in a place, and must not wait: a place
// that somebody else has is left alone.
//
// Threads: every callback may run at the same time as every other, the drain thread looks on. So
// fields in a place are only touched by relaxed atomic loads and stores. A field that two threads
// write at once (NCCL does not do that) is then off, no more.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "trace/recorder.h"

namespace chokepoint::plugin {

inline constexpr std::size_t kBoardSlots = 4096;

template <class T>
T Load(const T& field) noexcept {
  return std::atomic_ref<T>(const_cast<T&>(field)).load(std::memory_order_relaxed);
}
template <class T>
void Store(T& field, std::type_identity_t<T> value) noexcept {
  std::atomic_ref<T>(field).store(value, std::memory_order_relaxed);
}
template <class T>
void Add(T& field, std::type_identity_t<T> value) noexcept {
  Store(field, static_cast<T>(Load(field) + value));
}

// Null until a communicator exists, in forked children, and when there is no memory: then nothing
// is held open.
extern std::atomic<trace::BoardSlot*> g_board;

inline trace::BoardSlot* PlaceOf(std::uint64_t id) noexcept {
  trace::BoardSlot* board = g_board.load(std::memory_order_acquire);
  return board == nullptr ? nullptr : board + (id & (kBoardSlots - 1));
}

// The place of `id`, or null when it is over, never was, or the number is nonsense.
inline trace::BoardSlot* Find(std::uint64_t id) noexcept {
  trace::BoardSlot* slot = PlaceOf(id);
  if (slot == nullptr || id == 0) return nullptr;
  return slot->id.load(std::memory_order_acquire) == id ? slot : nullptr;
}

struct Place {
  trace::BoardSlot* slot;  // null: the board is full; the number is good all the same
  std::uint64_t id;
};

// A new number, and its place, claimed. Fill it, then Publish.
Place Claim() noexcept;
// Makes the place findable, and visible to salvage. `opened_ticks` 0: not to be written while it is
// open.
inline void Publish(const Place& place, std::uint64_t opened_ticks) noexcept {
  place.slot->opened_ticks.store(opened_ticks, std::memory_order_relaxed);
  place.slot->id.store(place.id, std::memory_order_release);
}
// True for exactly one caller: the place of `id` is then the caller's alone, to read and to
// Release.
inline bool Take(trace::BoardSlot* slot, std::uint64_t id) noexcept {
  return slot->id.compare_exchange_strong(id, trace::kBoardClaimed, std::memory_order_acq_rel,
                                          std::memory_order_relaxed);
}
void Release(trace::BoardSlot* slot) noexcept;

template <class Event>
Event& RecordIn(trace::BoardSlot* slot) noexcept {
  static_assert(sizeof(Event) <= sizeof(slot->record));
  return *reinterpret_cast<Event*>(slot->record);
}
template <class Side>
Side& SideOf(trace::BoardSlot* slot) noexcept {
  static_assert(sizeof(Side) <= sizeof(slot->side));
  return *reinterpret_cast<Side*>(slot->side);
}
inline trace::EventKind KindIn(trace::BoardSlot* slot) noexcept {
  return static_cast<trace::EventKind>(Load(*reinterpret_cast<std::uint16_t*>(slot->record)));
}

// Whole structs, word by word.
template <class T>
void StoreWords(std::byte* to, const T& from) noexcept {
  static_assert(sizeof(T) % 8 == 0);
  std::uint64_t words[sizeof(T) / 8];
  std::memcpy(words, &from, sizeof(T));
  for (std::size_t i = 0; i < sizeof(T) / 8; ++i)
    Store(reinterpret_cast<std::uint64_t*>(to)[i], words[i]);
}
template <class T>
T LoadWords(const std::byte* from) noexcept {
  static_assert(sizeof(T) % 8 == 0);
  std::uint64_t words[sizeof(T) / 8];
  for (std::size_t i = 0; i < sizeof(T) / 8; ++i)
    words[i] = Load(reinterpret_cast<const std::uint64_t*>(from)[i]);
  T value;
  std::memcpy(&value, words, sizeof(T));
  return value;
}

}  // namespace chokepoint::plugin
