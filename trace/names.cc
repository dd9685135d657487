// An append-only arena and a lock-free hash table that points into it.
// Must not move or change an entry once its id is visible.
#include "trace/names.h"

#include <cstring>

#include "trace/checksum.h"
#include "trace/raw_io.h"
#include "trace/try_lock.h"

namespace chokepoint::trace {
namespace {

constexpr std::uint64_t kNoRoom = ~std::uint64_t{0};

std::size_t PaddedLength(std::size_t bytes) noexcept { return (bytes + 7) / 8 * 8; }

std::size_t CutLength(const char* text) noexcept { return strnlen(text, kMaxNameBytes); }

}  // namespace

bool NameTable::Attach(RingFileHeader* header) noexcept {
  std::byte* arena = reinterpret_cast<std::byte*>(header) + header->names_offset;
  if (slots_ == nullptr) {
    slots_ = static_cast<std::atomic<std::uint64_t>*>(
        raw::MapAnonymous(kSlots * sizeof(std::atomic<std::uint64_t>)));
    if (slots_ == nullptr) return false;
  }
  if (used_ != nullptr) {
    // A forked child: ids that were given out before must keep their meaning.
    std::uint64_t used = used_->load(std::memory_order_acquire);
    if (used > header->names_bytes) used = header->names_bytes;
    std::memcpy(arena, arena_, used);
    header->names_used.store(used, std::memory_order_release);
  }
  arena_ = arena;
  capacity_ = header->names_bytes;
  used_ = &header->names_used;
  return true;
}

std::uint64_t NameTable::Store(std::uint32_t id, const char* text, std::size_t bytes) noexcept {
  const std::uint64_t needed = sizeof(NameEntry) + PaddedLength(bytes);
  std::uint64_t position = used_->load(std::memory_order_relaxed);
  do {
    if (position + needed > capacity_) return kNoRoom;
  } while (!used_->compare_exchange_weak(position, position + needed, std::memory_order_relaxed));
  NameEntry* entry = EntryAt(position);
  entry->length.store(static_cast<std::uint32_t>(bytes), std::memory_order_release);
  std::memcpy(arena_ + position + sizeof(NameEntry), text, bytes);
  const std::uint32_t own_id =
      id != 0 ? id : kFirstNameId + static_cast<std::uint32_t>(position / 8);
  entry->id.store(own_id, std::memory_order_release);  // acquired by Matches and Pack
  return position;
}

bool NameTable::Matches(std::uint64_t position, const char* text,
                        std::size_t bytes) const noexcept {
  const NameEntry* entry = EntryAt(position);
  if (entry->id.load(std::memory_order_acquire) == 0) return false;
  return entry->length.load(std::memory_order_relaxed) == bytes &&
         std::memcmp(entry + 1, text, bytes) == 0;
}

std::uint32_t NameTable::Intern(const char* text) noexcept {
  const std::size_t bytes = CutLength(text);
  const std::uint64_t hash = Checksum(text, bytes);
  const std::uint64_t tag = hash & 0xffffffff00000000u;
  std::uint64_t stored = kNoRoom;
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    std::atomic<std::uint64_t>& slot = slots_[(hash + probe) % kSlots];
    std::uint64_t value = slot.load(std::memory_order_acquire);
    if (value == 0) {
      if (stored == kNoRoom) stored = Store(0, text, bytes);
      if (stored == kNoRoom) return 0;
      if (slot.compare_exchange_strong(value, tag | (stored / 8 + 1), std::memory_order_acq_rel)) {
        return kFirstNameId + static_cast<std::uint32_t>(stored / 8);
      }
    }
    const std::uint64_t position = ((value & 0xffffffffu) - 1) * 8;
    if ((value & 0xffffffff00000000u) == tag && Matches(position, text, bytes)) {
      return kFirstNameId + static_cast<std::uint32_t>(position / 8);
    }
  }
  return 0;
}

std::uint8_t NameTable::InternLiteral(const char* text) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(text);
  const std::size_t first = (address ^ (address >> 12)) % kLiteralSlots;
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    LiteralSlot& slot = literals_[(first + probe) % kLiteralSlots];
    const char* known = slot.address.load(std::memory_order_acquire);
    if (known == text) return static_cast<std::uint8_t>(slot.id.load(std::memory_order_relaxed));
    if (known == nullptr) break;
  }
  // A literal that is new, or known from another address. Rare: a handful in the life of a process.
  if (!TryLock(&adding_literal_)) return 0;
  const std::uint8_t id = AddLiteral(text);
  for (std::size_t probe = 0; id != 0 && probe < kProbes; ++probe) {
    LiteralSlot& slot = literals_[(first + probe) % kLiteralSlots];
    if (slot.address.load(std::memory_order_relaxed) != nullptr) continue;
    slot.id.store(id, std::memory_order_relaxed);
    slot.address.store(text, std::memory_order_release);
    break;
  }
  Unlock(&adding_literal_);
  return id;
}

std::uint8_t NameTable::AddLiteral(const char* text) noexcept {
  const std::size_t bytes = CutLength(text);
  const std::uint32_t count = literal_count_.load(std::memory_order_relaxed);
  for (std::uint32_t id = 1; id <= count; ++id) {
    const std::uint64_t position = literal_positions_[id].load(std::memory_order_relaxed) - 1;
    if (Matches(position, text, bytes)) return static_cast<std::uint8_t>(id);
  }
  if (count + 1 >= kFirstNameId) return 0;
  const std::uint64_t position = Store(count + 1, text, bytes);
  if (position == kNoRoom) return 0;
  literal_positions_[count + 1].store(position + 1, std::memory_order_relaxed);
  literal_count_.store(count + 1, std::memory_order_relaxed);
  return static_cast<std::uint8_t>(count + 1);
}

std::size_t NameTable::Pack(std::uint64_t* position, char* out,
                            std::size_t capacity) const noexcept {
  if (used_ == nullptr) return 0;
  constexpr std::size_t kEntryHead = sizeof(std::uint32_t) + sizeof(std::uint16_t);
  const std::uint64_t used = used_->load(std::memory_order_acquire);
  std::size_t size = 0;
  while (*position + sizeof(NameEntry) <= used) {
    const NameEntry* entry = EntryAt(*position);
    const std::uint32_t id = entry->id.load(std::memory_order_acquire);
    if (id == 0) break;  // being written now: next time
    const auto length = static_cast<std::uint16_t>(entry->length.load(std::memory_order_relaxed));
    if (size + kEntryHead + length > capacity) break;
    std::memcpy(out + size, &id, sizeof(id));
    std::memcpy(out + size + sizeof(id), &length, sizeof(length));
    std::memcpy(out + size + kEntryHead, entry + 1, length);
    size += kEntryHead + length;
    *position += sizeof(NameEntry) + PaddedLength(length);
  }
  return size;
}

}  // namespace chokepoint::trace
