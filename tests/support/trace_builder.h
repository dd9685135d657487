// TraceFileWriter: writes a trace file from a test, block by block, without a process that records.
// Must not share code with the recorder's writer: it is the second opinion on the format.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/catalogue.h"
#include "trace/checksum.h"
#include "trace/events.h"
#include "trace/format.h"

namespace chokepoint::tests {

// Use: TraceFileWriter file(path); file.Meta({{"rank", "0"}}); file.Name(300, "x");
// file.Emit(event); file.Finish(); META, SCHEMA and a first CLOCK sample come by themselves.
class TraceFileWriter {
 public:
  struct Options {
    trace::Writer writer = trace::Writer::kNccl;
    std::uint32_t pid = 1000;
    double ticks_per_second = 1e9;
    std::uint64_t start_ticks = 1'000'000'000;  // the tick of `start_realtime_ns`
    std::uint64_t start_realtime_ns = 1'700'000'000'000'000'000;
    std::uint64_t start_monotonic_raw_ns = 5'000'000'000;
    std::string schema;        // SCHEMA text; empty = today's catalogue
    std::uint8_t file_id = 1;  // repeated 16 times
  };

  explicit TraceFileWriter(std::string path) : TraceFileWriter(std::move(path), Options()) {}
  TraceFileWriter(std::string path, const Options& options)
      : path_(std::move(path)), options_(options) {
    trace::FileHeader header{};
    header.magic = trace::kFileMagic;
    header.framing_version = trace::kFramingVersion;
    header.header_bytes = sizeof(header);
    header.byte_order_mark = trace::kByteOrderMark;
    std::memset(header.file_id, options.file_id, sizeof(header.file_id));
    header.writer = static_cast<std::uint16_t>(options.writer);
    header.pid = options.pid;
    header.start_realtime_ns = options.start_realtime_ns;
    header = trace::Sealed(header);
    Append(&header, sizeof(header));
    std::string schema = options.schema;
    if (schema.empty()) {
      schema.resize(trace::kMaxSchemaBytes);
      schema.resize(trace::WriteSchema(schema.data(), schema.size()));
    }
    AddSchema(schema);
    Clock(options.start_ticks);
  }
  ~TraceFileWriter() {
    if (!finished_) Finish();
  }
  TraceFileWriter(const TraceFileWriter&) = delete;
  TraceFileWriter& operator=(const TraceFileWriter&) = delete;

  void Meta(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs) {
    std::string payload;
    for (const auto& [key, value] : pairs) {
      payload.append(key).push_back('\0');
      payload.append(value).push_back('\0');
    }
    AddBlock(trace::BlockKind::kMeta, payload);
  }
  void Meta(std::string_view key, std::string_view value) { Meta({{key, value}}); }

  // Ids 1 to 255 are for fields with the unit "literal".
  void Name(std::uint32_t id, std::string_view text) {
    std::string payload;
    AppendTo(&payload, id);
    AppendTo(&payload, static_cast<std::uint16_t>(text.size()));
    payload.append(text);
    AddBlock(trace::BlockKind::kNames, payload);
  }
  // A new id for `text`, or the one it has.
  std::uint32_t Intern(std::string_view text) { return InternFrom(text, 256, &names_); }
  std::uint8_t Literal(std::string_view text) {
    return static_cast<std::uint8_t>(InternFrom(text, 1, &literals_));
  }

  // Records are gathered and written in blocks of up to 64 KiB per thread.
  template <class Event>
  void Emit(const Event& event, std::uint32_t thread = 1000) {
    if (thread != thread_ || records_.size() + sizeof(event) > 60 * 1024) FlushRecords();
    thread_ = thread;
    records_.append(reinterpret_cast<const char*>(&event), sizeof(event));
    ++record_count_;
  }
  // An operation that is still open.
  template <class Event>
  void Snapshot(const Event& event) {
    FlushRecords();
    RecordsBlock(trace::BlockKind::kEvents, 0, trace::kNotFromRing, 0,
                 {reinterpret_cast<const char*>(&event), sizeof(event)}, 1, trace::kBlockSnapshot);
  }

  void Clock(std::uint64_t ticks) {
    const double seconds =
        (static_cast<double>(ticks) - static_cast<double>(options_.start_ticks)) /
        options_.ticks_per_second;
    const auto passed_ns = static_cast<std::uint64_t>(static_cast<std::int64_t>(seconds * 1e9));
    trace::ClockSample sample;
    sample.uncertainty_ticks = 50;
    sample.ticks = ticks;
    sample.monotonic_raw_ns = options_.start_monotonic_raw_ns + passed_ns;
    sample.realtime_ns = options_.start_realtime_ns + passed_ns;
    Control(trace::BlockKind::kClock, sample);
  }
  void Loss(trace::LossReason reason, std::uint64_t events, std::uint64_t bytes = 0) {
    trace::Loss loss;
    loss.reason = static_cast<std::uint16_t>(reason);
    loss.events = events;
    loss.bytes = bytes;
    Control(trace::BlockKind::kLoss, loss);
  }
  void Cost(const trace::Cost& cost) { Control(trace::BlockKind::kCost, cost); }

  // Writes END and the file. Without it the destructor writes the file, also with END; see
  // FinishTorn.
  void Finish() {
    FlushRecords();
    AddBlock(trace::BlockKind::kEnd, {});
    Save();
  }
  // As after SIGKILL: no END, and `cut_bytes` fewer at the end.
  void FinishTorn(std::size_t cut_bytes = 0) {
    FlushRecords();
    bytes_.resize(bytes_.size() - std::min(cut_bytes, bytes_.size()));
    Save();
  }

  // ---- Below: for tests of the format itself. ----
  void AddSchema(std::string_view text) {
    while (!text.empty()) {
      const std::size_t limit = std::min<std::size_t>(text.size(), 60 * 1024);
      const std::size_t end = limit == text.size() ? limit : text.rfind('\n', limit) + 1;
      AddBlock(trace::BlockKind::kSchema, text.substr(0, end));
      text.remove_prefix(end);
    }
  }
  void AddBlock(trace::BlockKind kind, std::string_view payload, std::uint16_t flags = 0) {
    trace::BlockHeader header{};
    header.magic = trace::kBlockMagic;
    header.kind = static_cast<std::uint16_t>(kind);
    header.flags = flags;
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    header.sequence = sequence_++;
    const trace::Piece piece{payload.data(), payload.size()};
    header.checksum = trace::BlockChecksum(header, {&piece, 1});
    Append(&header, sizeof(header));
    Append(payload.data(), payload.size());
    bytes_.resize((bytes_.size() + 7) / 8 * 8, '\0');
  }
  void RecordsBlock(trace::BlockKind kind, std::uint32_t thread, std::uint32_t ring,
                    std::uint64_t ring_position, std::string_view records, std::uint32_t count,
                    std::uint16_t flags = 0) {
    trace::RecordsHeader header{thread, ring, ring_position, count, 0};
    std::string payload(reinterpret_cast<const char*>(&header), sizeof(header));
    payload.append(records);
    AddBlock(kind, payload, flags);
  }
  void FlushRecords() {
    if (record_count_ == 0) return;
    RecordsBlock(trace::BlockKind::kEvents, thread_, trace::kNotFromRing, 0, records_,
                 record_count_);
    records_.clear();
    record_count_ = 0;
  }
  void SkipSequence(std::uint32_t blocks) { sequence_ += blocks; }
  std::string& bytes() { return bytes_; }
  void Save() {
    finished_ = true;
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes_;
  }

 private:
  template <class T>
  static void AppendTo(std::string* out, T value) {
    out->append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Append(const void* data, std::size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
  }
  template <class Event>
  void Control(trace::BlockKind kind, const Event& event) {
    FlushRecords();
    RecordsBlock(kind, 0, trace::kNotFromRing, 0,
                 {reinterpret_cast<const char*>(&event), sizeof(event)}, 1);
  }
  std::uint32_t InternFrom(std::string_view text, std::uint32_t first,
                           std::vector<std::string>* known) {
    for (std::size_t i = 0; i < known->size(); ++i) {
      if ((*known)[i] == text) return first + static_cast<std::uint32_t>(i);
    }
    known->emplace_back(text);
    const auto id = first + static_cast<std::uint32_t>(known->size() - 1);
    Name(id, text);
    return id;
  }

  std::string path_;
  Options options_;
  std::string bytes_;
  std::string records_;
  std::uint32_t record_count_ = 0;
  std::uint32_t thread_ = 0;
  std::uint32_t sequence_ = 0;
  std::vector<std::string> names_, literals_;
  bool finished_ = false;
};

}  // namespace chokepoint::tests
