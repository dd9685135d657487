// Sequential reading in large pieces, one checksum per block, resynchronisation at 8-byte steps.
// Must not loop without progress, whatever the bytes say.
#include "trace/block_walker.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "trace/checksum.h"

namespace chokepoint::trace {
namespace {

constexpr std::size_t kWindowBytes = 1024 * 1024;
// One block, with the longest payload, always fits.
static_assert(kWindowBytes >= 4 * (sizeof(BlockHeader) + kMaxBlockPayloadBytes));

// The fuzzer may forge: it cannot guess checksums, and must get behind them.
bool Believed([[maybe_unused]] const BlockHeader& header,
              [[maybe_unused]] std::span<const Piece> payload) {
#if defined(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
  return true;
#else
  return BlockChecksum(header, payload) == header.checksum;
#endif
}

constexpr std::uint64_t Padded(std::uint64_t bytes) {
  return (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
}

}  // namespace

BlockWalker::BlockWalker(int fd, std::uint64_t begin, std::uint64_t end, DamageSink on_damage)
    : fd_(fd),
      position_(begin),
      end_(end),
      on_damage_(std::move(on_damage)),
      // why: a file full of forged headers would otherwise cost 64 KiB of hashing for each 8 bytes.
      resync_budget_(64 * 1024 * 1024 + 8 * (end - std::min(begin, end))) {
  window_.resize(std::min<std::uint64_t>(kWindowBytes, end - std::min(begin, end)));
}

// A pointer to `count` bytes at `offset`, null when the file does not have them (any more).
const std::byte* BlockWalker::Bytes(std::uint64_t offset, std::size_t count) {
  if (offset > end_ || count > end_ - offset || count > window_.size()) return nullptr;
  if (offset < window_offset_ || offset + count > window_offset_ + window_bytes_) {
    window_offset_ = offset;
    window_bytes_ = 0;
    const std::size_t wanted = std::min<std::uint64_t>(window_.size(), end_ - offset);
    while (window_bytes_ < wanted) {
      const ssize_t got = pread(fd_, window_.data() + window_bytes_, wanted - window_bytes_,
                                static_cast<off_t>(offset + window_bytes_));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      window_bytes_ += static_cast<std::size_t>(got);
    }
    if (window_bytes_ < count) return nullptr;
  }
  return window_.data() + (offset - window_offset_);
}

bool BlockWalker::BlockAt(std::uint64_t offset, Block* block) {
  const std::byte* at = Bytes(offset, sizeof(BlockHeader));
  if (at == nullptr) return false;
  std::memcpy(&block->header, at, sizeof(BlockHeader));
  const BlockHeader& header = block->header;
  if (header.magic != kBlockMagic) return false;
  const bool pad = header.kind == static_cast<std::uint16_t>(BlockKind::kPad);
  if (header.payload_bytes > (pad ? kMaxPadBytes : kMaxBlockPayloadBytes)) return false;
  block->offset = offset;
  block->bytes = sizeof(BlockHeader) + Padded(header.payload_bytes);
  if (block->bytes > end_ - offset) return false;
  if (pad) {
    block->payload = {};
    return Believed(header, {});
  }
  at = Bytes(offset, static_cast<std::size_t>(block->bytes));
  if (at == nullptr) return false;
  block->payload = {at + sizeof(BlockHeader), header.payload_bytes};
  const Piece piece{block->payload.data(), block->payload.size()};
  return Believed(header, {&piece, 1});
}

// The first place at or after `offset` that begins with the block magic; end_ when there is none.
std::uint64_t BlockWalker::NextCandidate(std::uint64_t offset) {
  while (offset + sizeof(BlockHeader) <= end_) {
    const std::size_t count = std::min<std::uint64_t>(end_ - offset, 64 * 1024);
    const std::byte* at = Bytes(offset, count);
    if (at == nullptr) return end_;
    for (std::size_t i = 0; i + sizeof(kBlockMagic) <= count; i += kBlockAlignment) {
      if (std::memcmp(at + i, &kBlockMagic, sizeof(kBlockMagic)) == 0) return offset + i;
    }
    offset += count / kBlockAlignment * kBlockAlignment;
    if (count < kBlockAlignment) break;
  }
  return end_;
}

bool BlockWalker::Next(Block* block) {
  if (position_ >= end_) return false;
  if (BlockAt(position_, block)) {
    position_ += block->bytes;
    return true;
  }
  const std::uint64_t damage_begin = position_;
  std::uint64_t candidate = position_;
  while (true) {
    candidate = NextCandidate(candidate + kBlockAlignment);
    if (candidate >= end_ || resync_budget_ == 0) break;
    if (BlockAt(candidate, block)) {
      ReportDamage(damage_begin, candidate);
      if (!BlockAt(candidate, block))
        continue;  // the report moved the window; the file may have changed
      position_ = candidate + block->bytes;
      return true;
    }
    resync_budget_ -= std::min(resync_budget_, block->header.payload_bytes + sizeof(BlockHeader));
  }
  ReportDamage(damage_begin, end_);
  position_ = end_;
  return false;
}

void BlockWalker::ReportDamage(std::uint64_t from, std::uint64_t to) {
  if (!on_damage_) return;
  bool zeros = true;
  for (std::uint64_t at = from; at < to && zeros;) {
    const std::size_t count = std::min<std::uint64_t>(to - at, 64 * 1024);
    const std::byte* bytes = Bytes(at, count);
    zeros = bytes != nullptr &&
            std::all_of(bytes, bytes + count, [](std::byte b) { return b == std::byte{0}; });
    at += count;
  }
  on_damage_(from, to - from,
             zeros        ? DamageKind::kZeros
             : to == end_ ? DamageKind::kTorn
                          : DamageKind::kBroken);
}

}  // namespace chokepoint::trace
