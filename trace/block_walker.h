// Walks a stretch of a trace file block by block; what is not a good block is reported as damage
// and walked over. Must not trust a length before its checksum has been checked, and must not map
// the file: it may shrink under us.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trace/format.h"

namespace chokepoint::trace {

struct Block {
  BlockHeader header;
  std::uint64_t offset = 0;            // of the header in the file
  std::uint64_t bytes = 0;             // header, payload and padding
  std::span<const std::byte> payload;  // valid until the next call
};

enum class DamageKind { kZeros, kTorn, kBroken };
using DamageSink = std::function<void(std::uint64_t offset, std::uint64_t bytes, DamageKind kind)>;

class BlockWalker {
 public:
  // Walks [begin, end) of `fd`; `end` is at most the file's size. `on_damage` may be empty.
  BlockWalker(int fd, std::uint64_t begin, std::uint64_t end, DamageSink on_damage);

  // The next good block, kPad included. False at the end.
  bool Next(Block* block);

 private:
  const std::byte* Bytes(std::uint64_t offset, std::size_t count);
  bool BlockAt(std::uint64_t offset, Block* block);
  std::uint64_t NextCandidate(std::uint64_t offset);
  void ReportDamage(std::uint64_t from, std::uint64_t to);

  int fd_;
  std::uint64_t position_;
  std::uint64_t end_;
  DamageSink on_damage_;
  std::vector<std::byte> window_;
  std::uint64_t window_offset_ = 0;
  std::size_t window_bytes_ = 0;
  std::uint64_t resync_budget_;  // bytes that may be hashed while looking for the next good block
};

}  // namespace chokepoint::trace
