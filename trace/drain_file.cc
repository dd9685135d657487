// The drain's file: opened, found again when the program closed it, filled with blocks, begun anew
// when the circle closes. Must not touch the rings: drain.cc does.
#include "trace/drain.h"
#include "trace/raw_io.h"
#include "trace/text.h"

namespace chokepoint::trace::internal {
namespace {

constexpr std::uint64_t kFirstOpenRetryNs = 1'000'000'000;
constexpr std::uint64_t kSlowestOpenRetryNs = 60'000'000'000;

}  // namespace

bool Drain::OpenFile() noexcept {
  const std::uint64_t now_ns = ReadClockNs(CLOCK_MONOTONIC);
  if (now_ns < open_again_ns_) return false;
  open_wait_ns_ = open_wait_ns_ == 0 ? kFirstOpenRetryNs : open_wait_ns_ * 2;
  if (open_wait_ns_ > kSlowestOpenRetryNs) open_wait_ns_ = kSlowestOpenRetryNs;
  open_again_ns_ = now_ns + open_wait_ns_;
  CreatedFile& created = created_[created_count_ % 2];
  for (const bool fallback : {false, true}) {
    created = CreatedFile{};
    if (!CreateTraceFile(state_.path_parts, state_.start_clock.realtime_ns, fallback, &created))
      break;
    if (BeginFile(created)) return true;
    raw::Unlink(created.path);
    raw::Close(created.fd);
  }
  return false;
}

bool Drain::BeginFile(const CreatedFile& created) noexcept {
  FileHeader header{};
  header.magic = kFileMagic;
  header.framing_version = kFramingVersion;
  header.header_bytes = sizeof(header);
  header.byte_order_mark = kByteOrderMark;
  std::memcpy(header.file_id, state_.file_id, sizeof(header.file_id));
  header.writer = static_cast<std::uint16_t>(state_.options.writer);
  header.pid = state_.path_parts.pid;
  header.start_realtime_ns = state_.start_clock.realtime_ns;
  const std::uint64_t written_before = writer_.written_bytes();
  if (!writer_.Begin(created.fd, header, state_.max_bytes, &losses_)) {
    writer_.Forget();
    return false;
  }
  written_in_lost_files_ += written_before;
  ++created_count_;
  schema_written_ = 0;
  meta_position_ = meta_permanent_ = 0;
  names_position_ = names_permanent_ = 0;
  wraps_seen_ = 0;
  open_wait_ns_ = open_again_ns_ = 0;
  if (created.error != 0) {
    char number[24];
    AppendMeta("directory_refused", state_.path_parts.directory, false);
    AppendMeta(
        "directory_error",
        Text(number, sizeof(number)).AddNumber(static_cast<std::uint64_t>(-created.error)).text(),
        false);
  }
  state_.memory.SetTracePath(created.path);
  state_.trace_path.store(created.path, std::memory_order_release);
  WriteText();
  for (std::size_t i = 0; i < clock_count_; ++i)
    WriteRecord(BlockKind::kClock, &clocks_[i], sizeof(clocks_[i]));
  return true;
}

// True when there is a file to write to.
bool Drain::FileReady() noexcept {
  if (!writer_.open()) return OpenFile();
  const TraceWriter::FileState state = writer_.Check();
  if (state == TraceWriter::FileState::kGood) return true;
  if (state == TraceWriter::FileState::kDescriptorLost) {
    // The program closed it (closefrom, close_range); the number may be its own file by now.
    const int fd = raw::MoveDescriptorUp(raw::Open(
        state_.trace_path.load(std::memory_order_relaxed), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (fd >= 0 && writer_.Reattach(fd)) return true;
    if (fd >= 0) raw::Close(fd);
  }
  if (created_count_ >= kMostFiles) return false;
  writer_.Close();  // deleted, or out of reach: a new one
  return OpenFile();
}

// ---- Blocks ----

bool Drain::WriteRecords(BlockKind kind, std::uint16_t flags, const RecordsHeader& header,
                         const void* records, std::size_t bytes) noexcept {
  const Piece pieces[] = {{&header, sizeof(header)}, {records, bytes}};
  const bool written = writer_.Append(kind, flags, previous_pass_ticks_, pieces);
  if (written && writer_.wraps() != wraps_seen_ && !restating_) Restate();
  return written;
}

bool Drain::WriteRecord(BlockKind kind, const void* record, std::size_t bytes) noexcept {
  return WriteRecords(kind, 0, {0, kNotFromRing, 0, 1, 0}, record, bytes);
}

bool Drain::WriteBytes(BlockKind kind, const void* payload, std::size_t bytes) noexcept {
  const Piece piece{payload, bytes};
  const bool written = writer_.Append(kind, 0, 0, {&piece, 1});
  if (written && writer_.wraps() != wraps_seen_ && !restating_) Restate();
  return written;
}

// SCHEMA, META and names: what there is beyond what has been written.
void Drain::WriteText() noexcept {
  while (WriteNextText()) {
  }
}

// One block of it. False when there is none, or it could not be written.
bool Drain::WriteNextText() noexcept {
  const RingFileHeader* header = state_.memory.header();
  if (schema_written_ < header->schema_bytes) {
    const auto* schema = reinterpret_cast<const char*>(state_.memory.At(header->schema_offset));
    std::size_t bytes = header->schema_bytes - schema_written_;
    if (bytes > kScratchBytes) {
      bytes = kScratchBytes;
      while (bytes > 1 && schema[schema_written_ + bytes - 1] != '\n') --bytes;
    }
    const std::uint64_t begin = schema_written_;
    schema_written_ += bytes;
    if (WriteBytes(BlockKind::kSchema, schema + begin, bytes)) return true;
    schema_written_ = begin;
    return false;
  }
  const std::uint64_t meta_used = header->meta_used.load(std::memory_order_acquire);
  if (meta_position_ < meta_used) {
    const auto* meta = reinterpret_cast<const char*>(state_.memory.At(header->meta_offset));
    std::size_t bytes = meta_used - meta_position_;
    if (bytes > kScratchBytes) bytes = WholePairs(meta + meta_position_, kScratchBytes);
    return WriteText(BlockKind::kMeta, meta + meta_position_, bytes, meta_position_ + bytes,
                     &meta_position_, &meta_permanent_);
  }
  std::uint64_t position = names_position_;
  const std::size_t bytes =
      state_.names.Pack(&position, reinterpret_cast<char*>(scratch_), kScratchBytes);
  return bytes != 0 && WriteText(BlockKind::kNames, scratch_, bytes, position, &names_position_,
                                 &names_permanent_);
}

// Moves `*position` on before it writes: the write may begin the circle anew and set positions
// back.
bool Drain::WriteText(BlockKind kind, const void* text, std::size_t bytes, std::uint64_t next,
                      std::uint64_t* position, std::uint64_t* permanent) noexcept {
  const std::uint64_t before = *position;
  *position = next;
  if (!WriteBytes(kind, text, bytes)) {
    *position = before;
    return false;
  }
  if (writer_.last_is_permanent()) *permanent = next;
  return true;
}

std::size_t Drain::WholePairs(const char* text, std::size_t limit) noexcept {
  std::size_t end = 0;
  int zeros = 0;
  for (std::size_t i = 0; i < limit; ++i) {
    if (text[i] == '\0' && ++zeros % 2 == 0) end = i + 1;
  }
  return end;
}

// The circle begins anew: what readers need to understand the newest window is written again.
void Drain::Restate() noexcept {
  restating_ = true;
  meta_position_ = meta_permanent_;
  names_position_ = names_permanent_;
  WriteText();
  for (std::size_t i = 0; i < clock_count_; i += kClocksPerBlock) {
    const std::size_t count =
        clock_count_ - i < kClocksPerBlock ? clock_count_ - i : kClocksPerBlock;
    WriteRecords(BlockKind::kClock, 0, {0, kNotFromRing, 0, static_cast<std::uint32_t>(count), 0},
                 &clocks_[i], count * sizeof(ClockSample));
  }
  WriteSummary();
  wraps_seen_ = writer_.wraps();
  restating_ = false;
}

void Drain::WriteSummary() noexcept {
  if (state_.options.write_summary == nullptr) return;
  const std::uint16_t flags_outside = gathered_flags_;
  gathered_flags_ = 0;
  gathered_bytes_ = 0;
  gathered_records_ = 0;
  state_.options.write_summary(
      [](const void* record, std::size_t bytes, void* argument) {
        static_cast<Drain*>(argument)->Gather(record, bytes);
      },
      this);
  FlushGathered(0);
  gathered_flags_ = flags_outside;
}

void Drain::Gather(const void* record, std::size_t bytes) noexcept {
  if (gathered_bytes_ + bytes > kScratchBytes) FlushGathered(gathered_flags_);
  std::memcpy(scratch_ + gathered_bytes_, record, bytes);
  gathered_bytes_ += bytes;
  ++gathered_records_;
}

void Drain::FlushGathered(std::uint16_t flags) noexcept {
  if (gathered_records_ != 0) {
    WriteRecords(BlockKind::kEvents, flags, {0, kNotFromRing, 0, gathered_records_, 0}, scratch_,
                 gathered_bytes_);
  }
  gathered_bytes_ = 0;
  gathered_records_ = 0;
}

}  // namespace chokepoint::trace::internal
