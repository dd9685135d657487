// Strings become small ids, once each, in the names arena of the ring file.
// Must not lock on the way of a name that is known, and must not keep the caller's pointer to a
// plain name.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/ring_file.h"

namespace chokepoint::trace {

class NameTable {
 public:
  // Uses the arena of `header`; keeps what is known already (after fork), copied from the old
  // arena. False: no memory.
  bool Attach(RingFileHeader* header) noexcept;
  // An id of at least kFirstNameId, 0 = no room.
  std::uint32_t Intern(const char* text) noexcept;
  // An id below kFirstNameId, 0 = no room.
  std::uint8_t InternLiteral(const char* text) noexcept;

  // Packs complete entries from arena position `*position` on as the payload of a NAMES block and
  // moves `*position` on.
  std::size_t Pack(std::uint64_t* position, char* out, std::size_t capacity) const noexcept;
  // In a forked child: nobody is adding.
  void UnlockInChild() noexcept { adding_literal_.store(false, std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kSlots = 32768;  // of the hash table; arena entries average 64 bytes
  static constexpr std::size_t kProbes = 64;
  static constexpr std::size_t kLiteralSlots = 1024;
  struct LiteralSlot {
    std::atomic<const char*> address;
    std::atomic<std::uint32_t> id;
  };

  // Position in the arena, or kNoRoom.
  std::uint64_t Store(std::uint32_t id, const char* text, std::size_t bytes) noexcept;
  bool Matches(std::uint64_t position, const char* text, std::size_t bytes) const noexcept;
  std::uint8_t AddLiteral(const char* text) noexcept;
  NameEntry* EntryAt(std::uint64_t position) const noexcept {
    return reinterpret_cast<NameEntry*>(arena_ + position);
  }

  std::byte* arena_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::atomic<std::uint64_t>* used_ = nullptr;
  std::atomic<std::uint64_t>* slots_ = nullptr;  // upper half of the hash | position / 8 + 1
  LiteralSlot literals_[kLiteralSlots] = {};     // by address
  std::atomic<std::uint64_t> literal_positions_[kFirstNameId] = {};  // by id: position + 1
  std::atomic<std::uint32_t> literal_count_{0};
  std::atomic<bool> adding_literal_{false};
};

}  // namespace chokepoint::trace
