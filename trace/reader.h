// Reads a trace file, or the ring file of a killed process, block by block; every byte is either
// read or accounted for as lost. Must not trust any byte, must not throw, must not need memory in
// proportion to the file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/events.h"
#include "trace/format.h"
#include "trace/schema.h"
#include "trace/status.h"

namespace chokepoint::trace {

// What could not be read, and why. One entry per damaged place.
struct Damage {
  std::uint64_t offset;
  std::uint64_t bytes;
  std::string reason;
  // True for what any killed or still running process leaves: a torn last block, zeros at the end.
  bool expected = false;
};

// A record as it lies in the file. Valid during the call it is given to.
struct EventView {
  EventKind kind;
  std::span<const std::byte> bytes;  // whole record, sized by the file's schema
  std::uint32_t thread;              // Linux thread id; 0 = the recorder
  bool snapshot;                     // of an operation still open; it may come again, ended
  bool salvaged;                     // from the ring file of a killed process
};

struct ReadResult {
  std::uint64_t file_bytes = 0;
  std::uint64_t read_bytes = 0;  // in blocks that were good, headers included
  std::uint64_t lost_bytes = 0;  // == sum of damage[].bytes; file_bytes == read_bytes + lost_bytes
  std::uint64_t missing_blocks =
      0;  // gaps in block sequence numbers: trimmed by the size limit, or damaged
  std::uint64_t unknown_events = 0;   // kinds that this build does not know: skipped by size
  std::uint64_t duplicate_bytes = 0;  // salvaged records that the file already had
  bool ended = false;                 // END was there
  std::vector<Damage> damage;         // at most 1,000 entries; the rest is only counted
};

class TraceFile {
 public:
  // Opens a trace file (*.cpt), or the ring file of a process that never had one. An error names
  // the file, the reason and what to do: not a trace, newer framing, unreadable, ...
  static Status Open(const std::string& path, std::unique_ptr<TraceFile>* out);
  ~TraceFile();

  // Adds the ring file of the same process (file_id must match), so that Read also gives what was
  // not yet drained. Optional.
  Status AttachRing(const std::string& ring_path);

  const std::string& path() const;
  const FileHeader& header() const;

  // Reads everything in the order of writing. META, NAMES and SCHEMA have been collected by Open,
  // so names and meta are complete before the first event is given. May be called again. One pass.
  ReadResult Read(const std::function<void(const EventView&)>& on_event);

  // The value for a META key, or "" .
  std::string_view meta(std::string_view key) const;
  const std::map<std::string, std::string, std::less<>>& all_meta() const;
  // The text of a name id; "" for 0 and "?" for an unknown id.
  std::string_view name(std::uint32_t id) const;
  const Schema& schema() const;

  // Copies a record of this file into today's struct, field by field by name: fields that the file
  // lacks keep their default. False when `view.kind` is not Event's.
  template <class Event>
  bool Decode(const EventView& view, Event* out) const {
    if (view.kind != Event::kKind) return false;
    if (HasTodaysLayout(view, sizeof(Event))) {
      std::memcpy(static_cast<void*>(out), view.bytes.data(), sizeof(Event));
      return true;
    }
    *out = Event{};
    DecodeByName(view, out);
    return true;
  }

 private:
  TraceFile();
  bool HasTodaysLayout(const EventView& view, std::size_t bytes) const {
    return view.bytes.size() == bytes && todays_layout_[static_cast<std::uint16_t>(view.kind)] != 0;
  }
  void DecodeByName(const EventView& view, void* out) const;

  struct Impl;
  std::unique_ptr<Impl> impl_;
  // By kind: 1 when the file's record is laid out as this build's.
  std::array<std::uint8_t, internal::kSizeByKind.size()> todays_layout_{};
};

// Ring files of dead or living processes of this host whose trace file lies in `trace_dir`: pairs
// (ring path, trace path).
struct RingFile {
  std::string ring_path;
  std::string trace_path;
  std::uint32_t pid;
  bool process_alive;
};
std::vector<RingFile> FindRingFiles(const std::string& trace_dir);

// Moves the ring files of dead processes out of shared memory to `<trace>.ring` beside their traces
// in `trace_dir`, where AttachRing finds them. Returns how many.
std::size_t SalvageRingFiles(const std::string& trace_dir);

// `<trace>.ring` if it is there, else the ring file in shared memory; "" when the process ended in
// order.
std::string RingFileOf(const std::string& trace_path);

}  // namespace chokepoint::trace
