// One block, one system call. Space for a block is made by walking over old blocks, whose records
// are counted as given up. Must not trust the old blocks blindly: a file that somebody changed is
// cut, never misread.
#include "trace/writer.h"

#include "trace/clock.h"
#include "trace/raw_io.h"

namespace chokepoint::trace {
namespace {

constexpr std::uint64_t kFirstRetryNs = 1'000'000'000;
constexpr std::uint64_t kSlowestRetryNs = 60'000'000'000;
constexpr std::uint64_t kPermanentShare = 4;  // one part in four

constexpr std::uint64_t Padded(std::uint64_t bytes) {
  return (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
}

std::uint64_t BlockBytes(const BlockHeader& header) noexcept {
  return sizeof(BlockHeader) + Padded(header.payload_bytes);
}

}  // namespace

bool TraceWriter::Begin(int fd, const FileHeader& header, std::uint64_t max_bytes,
                        LossLedger* losses) noexcept {
  *this = TraceWriter{};
  fd_ = fd;
  losses_ = losses;
  max_bytes_ = max_bytes;
  struct stat info {};
  if (raw::FStat(fd, &info) != 0) return false;
  device_ = info.st_dev;
  inode_ = info.st_ino;
  const FileHeader sealed = Sealed(header);
  const void* data = &sealed;
  const std::size_t bytes = sizeof(sealed);
  if (!WriteAt(0, &data, &bytes, 1)) return false;
  position_ = end_ = sizeof(sealed);
  return true;
}

// False leaves the file's length as it was, as far as the kernel lets us.
bool TraceWriter::WriteAt(std::uint64_t position, const void* const* data, const std::size_t* bytes,
                          std::size_t count) noexcept {
  iovec pieces[kMaxPieces + 3];
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    pieces[i] = {const_cast<void*>(data[i]), bytes[i]};  // NOLINT: iovec knows no const
    total += bytes[i];
  }
  const std::uint64_t begin_ns = ReadClockNs(CLOCK_MONOTONIC);
  std::size_t done = 0;
  iovec* next = pieces;
  while (done < total) {
    const long got =
        raw::PWriteV(fd_, next, static_cast<int>(pieces + count - next), position + done);
    constexpr long kInterrupted = -4;  // -EINTR
    if (got == kInterrupted) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
    for (auto left = static_cast<std::size_t>(got); left > 0;) {
      const std::size_t taken = left < next->iov_len ? left : next->iov_len;
      next->iov_base = static_cast<char*>(next->iov_base) + taken;
      next->iov_len -= taken;
      left -= taken;
      if (next->iov_len == 0) ++next;
    }
  }
  write_ns_ += ReadClockNs(CLOCK_MONOTONIC) - begin_ns;
  written_bytes_ += done;
  return done == total;
}

bool TraceWriter::ReadOldHeader(std::uint64_t position, BlockHeader* header) const noexcept {
  const long got = raw::PRead(fd_, header, sizeof(*header), position);
  const bool pad = header->kind == static_cast<std::uint16_t>(BlockKind::kPad);
  return got == sizeof(*header) && header->magic == kBlockMagic &&
         header->payload_bytes <= (pad ? kMaxPadBytes : kMaxBlockPayloadBytes) &&
         BlockBytes(*header) <= end_ - position;
}

// How a block of `bytes` fits at position_: behind the file's end, or over whole old blocks with a
// pad that can hold a header.
TraceWriter::Room TraceWriter::RoomAt(std::uint64_t bytes) const noexcept {
  std::uint64_t covered = position_;
  while (true) {
    const std::uint64_t left = covered - position_;
    if (left == bytes || left >= bytes + sizeof(BlockHeader)) return {left - bytes, 0, true};
    if (covered >= end_) return {0, 0, left < bytes && position_ + bytes <= max_bytes_};
    BlockHeader old{};
    if (!ReadOldHeader(covered, &old)) return {0, covered, false};
    covered += BlockBytes(old);
  }
}

bool TraceWriter::MakeRoom(std::uint64_t bytes, Room* room) noexcept {
  for (int attempt = 0; attempt < 3; ++attempt) {
    *room = RoomAt(bytes);
    if (room->found) return true;
    if (room->broken_at != 0) {
      // Somebody else wrote into the file: what follows cannot be walked over.
      if (raw::Truncate(fd_, room->broken_at) != 0) return false;
      end_ = room->broken_at;
      continue;
    }
    if (circle_begin_ == 0 || circle_begin_ + bytes > max_bytes_) return false;
    position_ = circle_begin_;
    ++wraps_;
  }
  return false;
}

// Counts what lies in [position, end) before it is overwritten. LOSS records move on into the next
// LOSS block.
void TraceWriter::GiveUp(std::uint64_t position, std::uint64_t end) noexcept {
  while (position < end) {
    struct {
      BlockHeader block;
      RecordsHeader records;
    } old{};
    if (raw::PRead(fd_, &old, sizeof(old), position) < static_cast<long>(sizeof(BlockHeader)))
      return;
    const std::uint64_t payload = position + sizeof(BlockHeader) + sizeof(RecordsHeader);
    const auto kind = static_cast<BlockKind>(old.block.kind);
    if (kind == BlockKind::kEvents && old.records.ring != kNotFromRing) {
      given_up_.Add(LossReason::kSizeLimit, old.records.thread, old.records.records,
                    old.block.payload_bytes - sizeof(RecordsHeader), old.block.first_ticks);
    }
    for (std::uint32_t i = 0; kind == BlockKind::kLoss && i < old.records.records; ++i) {
      Loss loss;
      if (raw::PRead(fd_, &loss, sizeof(loss), payload + i * sizeof(loss)) != sizeof(loss)) break;
      given_up_.Add(loss);
    }
    position += BlockBytes(old.block);
  }
}

bool TraceWriter::Append(BlockKind kind, std::uint16_t flags, std::uint64_t first_ticks,
                         std::span<const Piece> payload) noexcept {
  if (fd_ < 0 || payload.size() > kMaxPieces) return false;
  if (retry_at_ns_ != 0 && ReadClockNs(CLOCK_MONOTONIC) < retry_at_ns_) return false;
  BlockHeader header{};
  header.magic = kBlockMagic;
  header.kind = static_cast<std::uint16_t>(kind);
  header.flags = flags;
  header.sequence = sequence_;
  header.first_ticks = first_ticks;
  const void* data[kMaxPieces + 3] = {&header};
  std::size_t bytes[kMaxPieces + 3] = {sizeof(header)};
  std::size_t count = 1;
  for (const Piece& piece : payload) {
    data[count] = piece.data;
    bytes[count++] = piece.bytes;
    header.payload_bytes += static_cast<std::uint32_t>(piece.bytes);
  }
  header.checksum = BlockChecksum(header, payload);
  const std::uint64_t size = BlockBytes(header);
  Room room;
  if (!MakeRoom(size, &room)) return false;
  static constexpr char kZeros[kBlockAlignment] = {};
  data[count] = kZeros;
  bytes[count++] = size - sizeof(header) - header.payload_bytes;
  BlockHeader pad{};
  if (room.pad_bytes > 0) {
    pad.magic = kBlockMagic;
    pad.kind = static_cast<std::uint16_t>(BlockKind::kPad);
    pad.payload_bytes = static_cast<std::uint32_t>(room.pad_bytes - sizeof(pad));
    pad.checksum = BlockChecksum(pad, {});
    data[count] = &pad;
    bytes[count++] = sizeof(pad);
  }
  const std::uint64_t covered = position_ + size + room.pad_bytes;
  given_up_.Clear();
  if (position_ < end_) GiveUp(position_, covered < end_ ? covered : end_);
  if (!WriteAt(position_, data, bytes, count)) {
    Failed();
    return false;
  }
  for (std::size_t i = 0; i < given_up_.size(); ++i) losses_->Add(given_up_.rows()[i]);
  retry_at_ns_ = retry_after_ns_ = 0;
  last_is_permanent_ = wraps_ == 0 && circle_begin_ == 0;
  position_ += size;
  if (room.pad_bytes == 0 && position_ > end_) end_ = position_;
  if (circle_begin_ == 0 && position_ >= max_bytes_ / kPermanentShare) circle_begin_ = position_;
  ++sequence_;
  return true;
}

void TraceWriter::Failed() noexcept {
  // A block that is half there would only be damage, and its space may be what others wait for.
  if (position_ == end_) raw::Truncate(fd_, end_);
  retry_after_ns_ = retry_after_ns_ == 0 ? kFirstRetryNs : retry_after_ns_ * 2;
  if (retry_after_ns_ > kSlowestRetryNs) retry_after_ns_ = kSlowestRetryNs;
  retry_at_ns_ = ReadClockNs(CLOCK_MONOTONIC) + retry_after_ns_;
}

TraceWriter::FileState TraceWriter::Check() const noexcept {
  struct stat info {};
  if (raw::FStat(fd_, &info) != 0) return FileState::kDescriptorLost;
  if (info.st_dev != device_ || info.st_ino != inode_) return FileState::kDescriptorLost;
  return info.st_nlink == 0 ? FileState::kDeleted : FileState::kGood;
}

bool TraceWriter::Reattach(int fd) noexcept {
  const int old = fd_;
  fd_ = fd;
  if (fd >= 0 && Check() == FileState::kGood) return true;
  fd_ = old;
  return false;
}

void TraceWriter::Close() noexcept {
  if (fd_ >= 0 && Check() != FileState::kDescriptorLost) raw::Close(fd_);
  fd_ = -1;
}

}  // namespace chokepoint::trace
