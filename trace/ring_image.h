// Reads a ring file: what a process had in shared memory when it died, or has there now.
// Must not trust any byte of it, and must not change it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trace/format.h"
#include "trace/ring_file.h"
#include "trace/status.h"

namespace chokepoint::trace {

struct RingName {
  std::uint32_t id;
  std::string text;
};

class RingImage {
 public:
  static Status Open(const std::string& path, std::unique_ptr<RingImage>* out);
  ~RingImage();
  RingImage(const RingImage&) = delete;
  RingImage& operator=(const RingImage&) = delete;

  FileHeader AsFileHeader() const;  // of the trace file that belongs to it; checksum unset
  std::uint64_t file_bytes() const { return file_bytes_; }
  std::uint32_t pid() const { return pid_; }
  std::uint64_t process_start() const { return process_start_; }
  std::uint64_t pid_namespace() const { return pid_namespace_; }
  const std::string& trace_path() const { return trace_path_; }
  std::string SchemaText() const;
  std::string MetaText() const;
  std::vector<RingName> Names() const;

  // What the trace file has of each ring: one past the last byte position. Index = ring number;
  // shorter is fine.
  using Drained = std::vector<std::uint64_t>;
  using RecordSink = std::function<void(std::span<const std::byte> record, std::uint32_t thread)>;
  struct Totals {
    std::uint64_t duplicate_bytes =
        0;  // the file had them although the ring says they were not written
    std::uint64_t unreadable_bytes = 0;
  };
  // Gives each record that the trace file lacks. `record_bytes`: the size of a kind, 0 = unknown.
  Totals ReadRings(const Drained& drained,
                   const std::function<std::size_t(std::uint16_t kind)>& record_bytes,
                   const RecordSink& sink) const;
  // Gives a Loss record, laid out as today's, for what was dropped and not yet told by the trace.
  void ReadLosses(const RecordSink& sink) const;
  // Gives each operation that was open.
  void ReadBoard(const std::function<std::size_t(std::uint16_t kind)>& record_bytes,
                 const RecordSink& sink) const;

 private:
  RingImage() = default;
  struct Section {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  bool Fits(const Section& section) const;
  bool ReadAt(std::uint64_t offset, void* out, std::size_t bytes) const;
  std::string ReadSection(const Section& section) const;
  Status ReadHeader(const std::string& path);
  void ReadRing(std::uint32_t number, std::uint64_t drained_end,
                const std::function<std::size_t(std::uint16_t kind)>& record_bytes,
                const RecordSink& sink, Totals* totals) const;

  int fd_ = -1;
  std::uint64_t file_bytes_ = 0;
  FileHeader trace_header_{};
  std::uint32_t pid_ = 0;
  std::uint64_t process_start_ = 0;
  std::uint64_t pid_namespace_ = 0;
  std::string trace_path_;
  Section schema_, meta_, names_, board_;
  std::uint64_t board_slot_bytes_ = 0, board_record_offset_ = 0, board_record_bytes_ = 0;
  std::uint64_t rings_offset_ = 0, ring_stride_ = 0, ring_bytes_ = 0;
  std::uint32_t ring_count_ = 0;
  std::uint64_t lost_events_[kRingFileLossReasons] = {};
  std::uint64_t lost_bytes_[kRingFileLossReasons] = {};
};

}  // namespace chokepoint::trace
