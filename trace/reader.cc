// TraceFile: a first pass checks every block and collects what is needed to read; later passes give
// the records. Must not give a record from a block whose checksum or record count is wrong.
#include "trace/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "trace/block_walker.h"
#include "trace/checksum.h"
#include "trace/record_layout.h"
#include "trace/ring_image.h"
#include "trace/trace_contents.h"

namespace chokepoint::trace {
namespace {

constexpr std::size_t kMaxDamageEntries = 1000;
constexpr std::size_t kMaxRuns = 65536;

// Adjacent blocks with consecutive sequence numbers.
struct Run {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

const char* ReasonOf(DamageKind kind) {
  switch (kind) {
    case DamageKind::kZeros:
      return "zeros: reserved and not written";
    case DamageKind::kTorn:
      return "the end of the file is torn: the process was stopped while writing, or is writing "
             "now";
    case DamageKind::kBroken:
      return "damaged block";
  }
  return "";
}

bool HoldsRecords(BlockKind kind) {
  return kind == BlockKind::kEvents || kind == BlockKind::kClock || kind == BlockKind::kLoss ||
         kind == BlockKind::kCost;
}

std::string WriterName(std::uint16_t writer) {
  if (writer == static_cast<std::uint16_t>(trace::Writer::kNccl)) return "the NCCL recorder";
  if (writer == static_cast<std::uint16_t>(trace::Writer::kIo)) return "the I/O recorder";
  return "recorder " + std::to_string(writer);
}

}  // namespace

struct TraceFile::Impl {
  std::string path;
  int fd = -1;
  FileHeader header{};
  ReadResult scanned;  // of the first pass
  std::vector<Run> runs;
  TraceContents contents;
  std::vector<RecordLayout> layouts;  // by kind
  std::unique_ptr<RingImage> ring;

  ~Impl() {
    if (fd >= 0) close(fd);
  }
  Status OpenFile(const std::string& file_path);
  Status ReadHeader();
  Status ReadAsRing(const std::string& ring_path);
  void Scan();
  void AddToRuns(const Block& block);
  void FinishSchema();
  void AddDamage(ReadResult* result, std::uint64_t offset, std::uint64_t bytes, std::string reason,
                 bool expected) const;
  bool GiveRecords(const Block& block, const std::function<void(const EventView&)>& on_event,
                   ReadResult* result) const;
  void GiveSalvaged(const std::function<void(const EventView&)>& on_event,
                    ReadResult* result) const;
};

void TraceFile::Impl::AddDamage(ReadResult* result, std::uint64_t offset, std::uint64_t bytes,
                                std::string reason, bool expected) const {
  result->lost_bytes += bytes;
  if (result->damage.size() < kMaxDamageEntries) {
    result->damage.push_back({offset, bytes, std::move(reason), expected});
  }
}

Status TraceFile::Impl::OpenFile(const std::string& file_path) {
  path = file_path;
  fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0) {
    return Status::Error(path + ": cannot be opened: " + std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) return Status::Error(path + ": not a trace: not a regular file");
  scanned.file_bytes = static_cast<std::uint64_t>(info.st_size);
  return ReadHeader();
}

// A process that never wrote a block has said all it knew in its ring file.
Status TraceFile::Impl::ReadAsRing(const std::string& ring_path) {
  std::unique_ptr<RingImage> image;
  Status status = RingImage::Open(ring_path, &image);
  if (!status.ok()) return status;
  header = image->AsFileHeader();
  contents.CollectRing(*image);
  ring = std::move(image);
  scanned.read_bytes = scanned.file_bytes;
  return {};
}

Status TraceFile::Impl::ReadHeader() {
  std::uint64_t magic = 0;
  const ssize_t got = pread(fd, &header, sizeof(header), 0);
  if (got >= static_cast<ssize_t>(sizeof(magic))) std::memcpy(&magic, &header, sizeof(magic));
  if (magic == kRingFileMagic) return ReadAsRing(path);
  const bool torn = got < static_cast<ssize_t>(sizeof(header)) && magic == kFileMagic;
  if (magic == 0 || torn) {
    const std::string ring_path = RingFileOf(path);
    if (!ring_path.empty() && ReadAsRing(ring_path).ok()) return {};
    const char* what = got <= 0 ? ": empty" : torn ? ": torn inside its header" : ": zeros";
    return Status::Error(path + what +
                         ": its process was stopped before it wrote, or could not write");
  }
  if (got < static_cast<ssize_t>(sizeof(header)))
    return Status::Error(path + ": not a trace of chokepoint");
  const bool intact = header.magic == kFileMagic && Sealed(header).checksum == header.checksum;
  if (!intact) {
    // A damaged header loses itself only, when the first block is where it always is.
    Block block;
    BlockWalker walker(fd, sizeof(header), scanned.file_bytes, nullptr);
    const bool ours =
        walker.Next(&block) && (header.magic == kFileMagic || block.offset == sizeof(header));
    if (!ours) return Status::Error(path + ": not a trace of chokepoint");
    AddDamage(&scanned, 0, sizeof(header), "damaged file header", false);
    header = FileHeader{};
    header.header_bytes = sizeof(header);
    return {};
  }
  if (header.framing_version > kFramingVersion) {
    return Status::Error(
        path + ": written by " + WriterName(header.writer) + " in framing version " +
        std::to_string(header.framing_version) + ", this chokepoint reads up to version " +
        std::to_string(kFramingVersion) + ": use the chokepoint that came with the recorder");
  }
  if (header.byte_order_mark != kByteOrderMark || header.header_bytes < sizeof(header) ||
      header.header_bytes % kBlockAlignment != 0) {
    return Status::Error(
        path + ": not a trace that this machine can read: unknown byte order or header size");
  }
  scanned.read_bytes += std::min<std::uint64_t>(header.header_bytes, scanned.file_bytes);
  return {};
}

void TraceFile::Impl::Scan() {
  if (ring == nullptr) {
    BlockWalker walker(
        fd, std::min<std::uint64_t>(header.header_bytes, scanned.file_bytes), scanned.file_bytes,
        [this](std::uint64_t offset, std::uint64_t bytes, DamageKind kind) {
          AddDamage(&scanned, offset, bytes, ReasonOf(kind), kind != DamageKind::kBroken);
        });
    Block block;
    while (walker.Next(&block)) {
      scanned.read_bytes += block.bytes;
      AddToRuns(block);
      contents.Collect(block);
    }
    std::stable_sort(runs.begin(), runs.end(),
                     [](const Run& a, const Run& b) { return a.first < b.first; });
    std::uint64_t next = 0;
    for (const Run& run : runs) {
      if (run.first > next) scanned.missing_blocks += run.first - next;
      next = std::max<std::uint64_t>(next, std::uint64_t{run.last} + 1);
    }
  }
  scanned.ended = contents.ended;
  FinishSchema();
}

void TraceFile::Impl::AddToRuns(const Block& block) {
  const bool pad = static_cast<BlockKind>(block.header.kind) == BlockKind::kPad;
  const std::uint32_t sequence = block.header.sequence;
  const bool adjacent = !runs.empty() && runs.back().end == block.offset;
  const bool follows = adjacent && (pad || sequence == runs.back().last + 1);
  if (pad && !adjacent) return;
  if (!follows) {
    if (runs.size() >= kMaxRuns) return;  // hostile: real files have a handful
    runs.push_back({block.offset, block.offset, sequence, sequence});
  }
  runs.back().end = block.offset + block.bytes;
  if (!pad) runs.back().last = sequence;
}

void TraceFile::Impl::FinishSchema() {
  if (contents.schema.events().empty()) {
    std::string today(kMaxSchemaBytes, '\0');
    today.resize(WriteSchema(today.data(), today.size()));
    contents.schema.Add(today);
    AddDamage(&scanned, 0, 0, "no SCHEMA block: read with this build's catalogue", false);
  }
  layouts.assign(internal::kSizeByKind.size(), {});
  for (const CatalogueEvent& event : Catalogue()) {
    const SchemaEvent* in_file = contents.schema.Find(static_cast<EventKind>(event.id));
    if (in_file != nullptr) layouts[event.id] = RecordLayout(*in_file, event);
  }
}

// False when the records do not add up to the block: then none of them has been given.
bool TraceFile::Impl::GiveRecords(const Block& block,
                                  const std::function<void(const EventView&)>& on_event,
                                  ReadResult* result) const {
  RecordsHeader records{};
  std::span<const std::byte> rest = block.payload;
  if (rest.size() < sizeof(records)) return false;
  std::memcpy(&records, rest.data(), sizeof(records));
  rest = rest.subspan(sizeof(records));
  EventView view{};
  view.thread = records.thread;
  view.snapshot = (block.header.flags & kBlockSnapshot) != 0;
  const auto size_at = [&](std::size_t at) -> std::size_t {
    if (rest.size() - at < 8) return 0;
    std::uint16_t kind = 0;
    std::memcpy(&kind, rest.data() + at, sizeof(kind));
    view.kind = static_cast<EventKind>(kind);
    const std::size_t bytes = contents.schema.RecordBytes(kind);
    return bytes <= rest.size() - at ? bytes : 0;
  };
  std::uint32_t count = 0;
  for (std::size_t at = 0; at < rest.size(); ++count) {
    const std::size_t bytes = size_at(at);
    if (bytes == 0) return false;
    at += bytes;
  }
  if (count != records.records) return false;
  for (std::size_t at = 0; at < rest.size();) {
    const std::size_t bytes = size_at(at);
    view.bytes = rest.subspan(at, bytes);
    at += bytes;
    if (RecordBytes(static_cast<std::uint16_t>(view.kind)) == 0) ++result->unknown_events;
    on_event(view);
  }
  return true;
}

void TraceFile::Impl::GiveSalvaged(const std::function<void(const EventView&)>& on_event,
                                   ReadResult* result) const {
  EventView view{};
  view.salvaged = true;
  const auto give = [&](std::span<const std::byte> record, std::uint32_t thread) {
    std::uint16_t kind = 0;
    std::memcpy(&kind, record.data(), sizeof(kind));
    view.kind = static_cast<EventKind>(kind);
    view.bytes = record;
    view.thread = thread;
    if (RecordBytes(kind) == 0) ++result->unknown_events;
    on_event(view);
  };
  const auto size_of = [this](std::uint16_t kind) { return contents.schema.RecordBytes(kind); };
  result->duplicate_bytes = ring->ReadRings(contents.drained, size_of, give).duplicate_bytes;
  if (layouts[static_cast<std::size_t>(EventKind::kLoss)].identical()) ring->ReadLosses(give);
  view.snapshot = true;
  ring->ReadBoard(size_of, give);
}

TraceFile::TraceFile() : impl_(std::make_unique<Impl>()) {}
TraceFile::~TraceFile() = default;

Status TraceFile::Open(const std::string& path, std::unique_ptr<TraceFile>* out) {
  std::unique_ptr<TraceFile> file(new TraceFile);
  Status status = file->impl_->OpenFile(path);
  if (!status.ok()) return status;
  file->impl_->Scan();
  for (std::size_t kind = 0; kind < file->todays_layout_.size(); ++kind) {
    file->todays_layout_[kind] = file->impl_->layouts[kind].identical() ? 1 : 0;
  }
  *out = std::move(file);
  return {};
}

Status TraceFile::AttachRing(const std::string& ring_path) {
  std::unique_ptr<RingImage> image;
  Status status = RingImage::Open(ring_path, &image);
  if (!status.ok()) return status;
  const FileHeader theirs = image->AsFileHeader();
  if (std::memcmp(theirs.file_id, impl_->header.file_id, sizeof(theirs.file_id)) != 0) {
    return Status::Error(ring_path + ": the ring file of another process, not of " + impl_->path);
  }
  impl_->contents.CollectRing(*image);
  impl_->ring = std::move(image);
  return {};
}

ReadResult TraceFile::Read(const std::function<void(const EventView&)>& on_event) {
  ReadResult result = impl_->scanned;
  const auto lost = [&](std::uint64_t offset, std::uint64_t bytes, std::string reason) {
    result.read_bytes -= std::min(result.read_bytes, bytes);
    impl_->AddDamage(&result, offset, bytes, std::move(reason), false);
  };
  for (const Run& run : impl_->runs) {
    BlockWalker walker(impl_->fd, run.begin, run.end,
                       [&](std::uint64_t offset, std::uint64_t bytes, DamageKind) {
                         lost(offset, bytes, "overwritten while it was read");
                       });
    Block block;
    while (walker.Next(&block)) {
      if (!HoldsRecords(static_cast<BlockKind>(block.header.kind))) continue;
      if (!impl_->GiveRecords(block, on_event, &result)) {
        lost(block.offset, block.bytes, "records that the SCHEMA of this file does not describe");
      }
    }
  }
  if (impl_->ring != nullptr) impl_->GiveSalvaged(on_event, &result);
  return result;
}

void TraceFile::DecodeByName(const EventView& view, void* out) const {
  impl_->layouts[static_cast<std::uint16_t>(view.kind)].Copy(view.bytes.data(),
                                                             static_cast<std::byte*>(out));
}

const std::string& TraceFile::path() const { return impl_->path; }
const FileHeader& TraceFile::header() const { return impl_->header; }
const Schema& TraceFile::schema() const { return impl_->contents.schema; }

std::string_view TraceFile::meta(std::string_view key) const {
  const auto found = impl_->contents.meta.find(key);
  return found == impl_->contents.meta.end() ? std::string_view() : std::string_view(found->second);
}

const std::map<std::string, std::string, std::less<>>& TraceFile::all_meta() const {
  return impl_->contents.meta;
}

std::string_view TraceFile::name(std::uint32_t id) const {
  if (id == 0) return "";
  const auto found = impl_->contents.names.find(id);
  return found == impl_->contents.names.end() ? std::string_view("?")
                                              : std::string_view(found->second);
}

}  // namespace chokepoint::trace
