// Appends checked blocks to the trace file and keeps the file within its size: the first quarter
// stays, the rest is overwritten in a circle. Must not block for long, allocate, or write into a
// descriptor that is not its file any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/checksum.h"
#include "trace/format.h"
#include "trace/loss_ledger.h"

namespace chokepoint::trace {

// Used by one thread at a time.
class TraceWriter {
 public:
  // Takes over `fd`, an empty file opened for reading and writing, and writes the header. False:
  // nothing could be written.
  bool Begin(int fd, const FileHeader& header, std::uint64_t max_bytes,
             LossLedger* losses) noexcept;
  // Writes one block. The pieces together are at most kMaxBlockPayloadBytes. False: not written,
  // and the file is as before.
  bool Append(BlockKind kind, std::uint16_t flags, std::uint64_t first_ticks,
              std::span<const Piece> payload) noexcept;
  // Asks the kernel whether the descriptor is still our file, and whether the file still has a
  // name.
  enum class FileState { kGood, kDescriptorLost, kDeleted };
  FileState Check() const noexcept;
  // Takes a new descriptor of the same file.
  bool Reattach(int fd) noexcept;
  void Close() noexcept;
  // Lets go of the descriptor without closing it: it is somebody else's by now.
  void Forget() noexcept { fd_ = -1; }

  bool open() const noexcept { return fd_ >= 0; }
  // After a failed write nothing is tried for a while; this forgets that.
  void RetryNow() noexcept { retry_at_ns_ = 0; }
  // How often the end was reached and old blocks began to be overwritten.
  std::uint32_t wraps() const noexcept { return wraps_; }
  // True when the block written last will never be overwritten.
  bool last_is_permanent() const noexcept { return last_is_permanent_; }
  std::uint64_t written_bytes() const noexcept { return written_bytes_; }
  std::uint64_t write_ns() const noexcept { return write_ns_; }

 private:
  static constexpr std::size_t kMaxPieces = 4;
  struct Room {
    std::uint64_t pad_bytes = 0;  // left between the new block and the next old one
    std::uint64_t broken_at = 0;  // where an old block should begin and does not
    bool found = false;
  };

  bool WriteAt(std::uint64_t position, const void* const* data, const std::size_t* bytes,
               std::size_t count) noexcept;
  bool MakeRoom(std::uint64_t bytes, Room* room) noexcept;
  Room RoomAt(std::uint64_t bytes) const noexcept;
  bool ReadOldHeader(std::uint64_t position, BlockHeader* header) const noexcept;
  void GiveUp(std::uint64_t position, std::uint64_t end) noexcept;
  void Failed() noexcept;

  int fd_ = -1;
  std::uint64_t device_ = 0, inode_ = 0;
  LossLedger* losses_ = nullptr;
  LossLedger given_up_;         // by the block that is being written
  std::uint64_t position_ = 0;  // where the next block goes: always the boundary of a block
  std::uint64_t end_ = 0;       // of the file
  std::uint64_t max_bytes_ = 0;
  std::uint64_t circle_begin_ =
      0;  // first block boundary after the permanent part; 0 = not there yet
  std::uint32_t sequence_ = 0;
  std::uint32_t wraps_ = 0;
  bool last_is_permanent_ = true;
  std::uint64_t retry_at_ns_ = 0;
  std::uint64_t retry_after_ns_ = 0;
  std::uint64_t written_bytes_ = 0;
  std::uint64_t write_ns_ = 0;
};

}  // namespace chokepoint::trace
