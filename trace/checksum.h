// The checksums of the format: XXH64 with seed 0, without a library to link.
// Must not allocate: the guest uses it too.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/format.h"

namespace chokepoint::trace {

inline std::uint64_t Checksum(const void* data, std::size_t bytes) noexcept {
  return XXH64(data, bytes, 0);
}

// Of a block: `header` as it is except its checksum field, then the payload's pieces.
struct Piece {
  const void* data;
  std::size_t bytes;
};
inline std::uint64_t BlockChecksum(BlockHeader header, std::span<const Piece> payload) noexcept {
  header.checksum = 0;
  XXH64_state_t state;
  XXH64_reset(&state, 0);
  XXH64_update(&state, &header, sizeof(header));
  for (const Piece& piece : payload) {
    if (piece.bytes != 0) XXH64_update(&state, piece.data, piece.bytes);
  }
  return XXH64_digest(&state);
}

inline FileHeader Sealed(FileHeader header) noexcept {
  header.checksum = Checksum(&header, offsetof(FileHeader, checksum));
  return header;
}

}  // namespace chokepoint::trace
