// Copies out of a ring file with pread; every offset is checked against the file's real size first.
// Must not map it: a living process goes on writing.
#include "trace/ring_image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace chokepoint::trace {
namespace {

constexpr std::uint64_t kMaxSectionBytes = 64 * 1024 * 1024;

std::uint32_t Load32(const std::byte* at) {
  std::uint32_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

}  // namespace

RingImage::~RingImage() {
  if (fd_ >= 0) close(fd_);
}

Status RingImage::Open(const std::string& path, std::unique_ptr<RingImage>* out) {
  std::unique_ptr<RingImage> image(new RingImage);
  image->fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat info {};
  if (image->fd_ < 0 || fstat(image->fd_, &info) != 0) {
    return Status::Error(path + ": cannot be opened: " + std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) return Status::Error(path + ": not a regular file");
  image->file_bytes_ = static_cast<std::uint64_t>(info.st_size);
  Status status = image->ReadHeader(path);
  if (status.ok()) *out = std::move(image);
  return status;
}

Status RingImage::ReadHeader(const std::string& path) {
  RingFileHeader header{};
  if (!ReadAt(0, static_cast<void*>(&header), sizeof(header)) || header.magic != kRingFileMagic ||
      header.byte_order_mark != kByteOrderMark) {
    return Status::Error(path + ": not a ring file of chokepoint");
  }
  if (header.version > kRingFileVersion) {
    return Status::Error(path + ": written by a newer recorder (ring file version " +
                         std::to_string(header.version) + ", this chokepoint reads up to " +
                         std::to_string(kRingFileVersion) +
                         "): use the chokepoint that belongs to it");
  }
  trace_header_.magic = kFileMagic;
  trace_header_.framing_version = kFramingVersion;
  trace_header_.header_bytes = sizeof(FileHeader);
  trace_header_.byte_order_mark = kByteOrderMark;
  std::memcpy(trace_header_.file_id, header.file_id, sizeof(header.file_id));
  trace_header_.writer = header.writer;
  trace_header_.pid = pid_ = header.pid;
  trace_header_.start_realtime_ns = header.start_realtime_ns;
  process_start_ = header.process_start;
  pid_namespace_ = header.pid_namespace;
  if (header.trace_path_set.load() != 0) {
    trace_path_.assign(header.trace_path, strnlen(header.trace_path, sizeof(header.trace_path)));
  }
  schema_ = {header.schema_offset, header.schema_bytes};
  meta_ = {header.meta_offset, std::min(header.meta_used.load(), header.meta_bytes)};
  names_ = {header.names_offset, std::min(header.names_used.load(), header.names_bytes)};
  board_slot_bytes_ = header.board_slot_bytes;
  board_record_offset_ = header.board_record_offset;
  board_record_bytes_ = header.board_record_bytes;
  if (board_slot_bytes_ >= 16 && board_slot_bytes_ <= 4096 &&
      board_record_bytes_ <= board_slot_bytes_ &&
      board_record_offset_ <= board_slot_bytes_ - board_record_bytes_ &&
      header.board_slots <= file_bytes_ / board_slot_bytes_) {
    board_ = {header.board_offset, header.board_slots * board_slot_bytes_};
  }
  for (std::size_t reason = 0; reason < kRingFileLossReasons; ++reason) {
    lost_events_[reason] = header.lost_events[reason].load();
    lost_bytes_[reason] = header.lost_bytes[reason].load();
  }
  rings_offset_ = header.rings_offset;
  ring_stride_ = header.ring_stride;
  ring_bytes_ = header.ring_bytes;
  const bool rings_ok = std::has_single_bit(ring_bytes_) && ring_bytes_ <= file_bytes_ &&
                        ring_bytes_ >= kMaxRecordBytes && rings_offset_ <= file_bytes_ &&
                        ring_stride_ <= file_bytes_ &&
                        ring_stride_ >= ring_bytes_ + kRingDataOffset;
  if (rings_ok) {
    ring_count_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        header.ring_count.load(), (file_bytes_ - rings_offset_) / ring_stride_));
  }
  return {};
}

bool RingImage::Fits(const Section& section) const {
  return section.offset <= file_bytes_ && section.bytes <= file_bytes_ - section.offset &&
         section.bytes <= kMaxSectionBytes;
}

bool RingImage::ReadAt(std::uint64_t offset, void* out, std::size_t bytes) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(fd_, static_cast<char*>(out) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

std::string RingImage::ReadSection(const Section& section) const {
  if (!Fits(section)) return {};
  std::string bytes(section.bytes, '\0');
  if (!ReadAt(section.offset, bytes.data(), bytes.size())) bytes.clear();
  return bytes;
}

FileHeader RingImage::AsFileHeader() const { return trace_header_; }
std::string RingImage::SchemaText() const { return ReadSection(schema_); }
std::string RingImage::MetaText() const { return ReadSection(meta_); }

std::vector<RingName> RingImage::Names() const {
  std::vector<RingName> names;
  const std::string arena = ReadSection(names_);
  std::size_t at = 0;
  while (at + sizeof(NameEntry) <= arena.size()) {
    const auto* entry = reinterpret_cast<const std::byte*>(arena.data()) + at;
    const std::uint32_t id = Load32(entry);
    const std::uint32_t length = Load32(entry + sizeof(std::uint32_t));
    at += sizeof(NameEntry);
    if (id == 0 && length == 0) continue;  // claimed by a thread that died before it wrote
    if (length > kMaxNameBytes || length > arena.size() - at) break;
    if (id != 0) names.push_back({id, arena.substr(at, length)});
    at += (length + 7) / 8 * 8;
  }
  return names;
}

RingImage::Totals RingImage::ReadRings(
    const Drained& drained, const std::function<std::size_t(std::uint16_t kind)>& record_bytes,
    const RecordSink& sink) const {
  Totals totals;
  for (std::uint32_t number = 0; number < ring_count_; ++number) {
    ReadRing(number, number < drained.size() ? drained[number] : 0, record_bytes, sink, &totals);
  }
  return totals;
}

void RingImage::ReadRing(std::uint32_t number, std::uint64_t drained_end,
                         const std::function<std::size_t(std::uint16_t kind)>& record_bytes,
                         const RecordSink& sink, Totals* totals) const {
  const std::uint64_t base = rings_offset_ + number * ring_stride_;
  RingHeader header{};
  if (!ReadAt(base, static_cast<void*>(&header), sizeof(header))) return;
  const std::uint64_t head = header.head.load();
  std::uint64_t at = header.tail.load();
  std::uint32_t thread = header.tail_thread.load();
  if (at > head || head - at > ring_bytes_ || head % 8 != 0 || at % 8 != 0) {
    totals->unreadable_bytes += ring_bytes_;
    return;
  }
  if (drained_end > at && drained_end <= head) totals->duplicate_bytes += drained_end - at;
  std::vector<std::byte> data(ring_bytes_);
  if (!ReadAt(base + kRingDataOffset, data.data(), data.size())) return;
  // What the drain has freed meanwhile may have been overwritten; it is in the file by now.
  if (!ReadAt(base, static_cast<void*>(&header), sizeof(header))) return;
  const std::uint64_t intact_from = header.tail.load();
  while (at < head) {
    const std::uint64_t offset = at & (ring_bytes_ - 1);
    const std::byte* record = data.data() + offset;
    std::uint16_t kind = 0;
    std::memcpy(&kind, record, sizeof(kind));
    std::uint64_t bytes = kind == kPadKind ? sizeof(RingMarkRecord) : record_bytes(kind);
    if (kind == kPadKind) {
      RingMarkRecord mark;
      std::memcpy(&mark, record, sizeof(mark));
      if (mark.mark == static_cast<std::uint16_t>(RingMark::kPad)) bytes = ring_bytes_ - offset;
      if (mark.mark == static_cast<std::uint16_t>(RingMark::kOwner)) thread = mark.thread;
    }
    if (bytes == 0 || bytes > ring_bytes_ - offset || bytes > head - at) {
      totals->unreadable_bytes += head - at;
      return;
    }
    const bool wanted = at >= drained_end || drained_end > head;
    if (kind != kPadKind && wanted && at >= intact_from) sink({record, bytes}, thread);
    at += bytes;
  }
}

void RingImage::ReadLosses(const RecordSink& sink) const {
  const auto give = [&](std::size_t reason, std::uint32_t thread, std::uint64_t events,
                        std::uint64_t bytes) {
    if (events == 0) return;
    Loss loss;
    loss.reason = static_cast<std::uint16_t>(reason);
    loss.thread = thread;
    loss.events = events;
    loss.bytes = bytes;
    sink(std::as_bytes(std::span(&loss, 1)), 0);
  };
  for (std::size_t reason = 0; reason < kRingFileLossReasons; ++reason) {
    give(reason, 0, lost_events_[reason], lost_bytes_[reason]);
  }
  for (std::uint32_t number = 0; number < ring_count_; ++number) {
    RingHeader ring{};
    if (!ReadAt(rings_offset_ + number * ring_stride_, static_cast<void*>(&ring), sizeof(ring)))
      return;
    give(static_cast<std::size_t>(LossReason::kRingFull), ring.thread.load(),
         ring.dropped_events.load() - ring.reported_events.load(),
         ring.dropped_bytes.load() - ring.reported_bytes.load());
  }
}

void RingImage::ReadBoard(const std::function<std::size_t(std::uint16_t kind)>& record_bytes,
                          const RecordSink& sink) const {
  const std::string board = ReadSection(board_);
  if (board_slot_bytes_ == 0) return;
  for (std::size_t at = 0; at + board_slot_bytes_ <= board.size(); at += board_slot_bytes_) {
    const auto* slot = reinterpret_cast<const std::byte*>(board.data()) + at;
    std::uint64_t id = 0;
    std::uint16_t kind = 0;
    std::memcpy(&id, slot, sizeof(id));
    std::memcpy(&kind, slot + board_record_offset_, sizeof(kind));
    const std::size_t bytes = record_bytes(kind);
    if (id == 0 || id == ~std::uint64_t{0} || kind == 0) continue;
    if (bytes == 0 || bytes > board_record_bytes_) continue;
    sink({slot + board_record_offset_, bytes}, 0);
  }
}

}  // namespace chokepoint::trace
