// A fixed table of totals, filled from the drained records.
// Must not allocate; combinations beyond the table share its last row.
#include "interpose/summary.h"

#include <cstring>

#include "interpose/files.h"
#include "trace/events.h"

namespace chokepoint::interpose {

namespace {

using trace::FileCall;
using trace::FileObject;
using trace::FileSummary;
using trace::FileWindow;

constexpr std::size_t kRows = 256;
FileSummary g_rows[kRows];
std::size_t g_used = 0;
std::uint16_t g_mount_of[kMaxFiles];
// Snapshots of windows come more than once: what was added for the last one of a number is taken
// back. Direct-mapped.
struct Seen {
  std::uint32_t window;
  FileWindow record;
};
constexpr std::size_t kSeen = 256;
Seen g_seen[kSeen];

FileSummary* Row(std::uint8_t call, std::uint32_t file) {
  const std::uint8_t file_class = file < kMaxFiles ? FileOf(file).file_class : 0;
  const std::uint16_t mount = file < kMaxFiles ? g_mount_of[file] : 0;
  for (std::size_t i = 0; i < g_used; ++i) {
    if (g_rows[i].call == call && g_rows[i].file_class == file_class && g_rows[i].mount == mount) {
      return &g_rows[i];
    }
  }
  if (g_used == kRows) return &g_rows[kRows - 1];
  FileSummary& row = g_rows[g_used++];
  row.call = call;
  row.file_class = file_class;
  row.mount = mount;
  return &row;
}

void Span(FileSummary* row, std::uint64_t first, std::uint64_t last) {
  if (row->first_ticks == 0 || first < row->first_ticks) row->first_ticks = first;
  if (last > row->last_ticks) row->last_ticks = last;
}

void AddCall(const FileCall& call) {
  FileSummary* row = Row(call.call, call.file);
  row->calls += call.calls;
  row->bytes += call.bytes;
  row->failed_calls += call.error != 0 ? 1 : 0;
  row->time_ticks += static_cast<double>(call.end_after_ticks);
  Span(row, call.start_ticks, call.start_ticks + static_cast<std::uint64_t>(call.end_after_ticks));
}

void AddWindow(const FileWindow& window) {
  FileSummary* row = Row(window.call, window.file);
  Seen& seen = g_seen[window.window % kSeen];
  const FileWindow before = seen.window == window.window ? seen.record : FileWindow{};
  row->calls += static_cast<std::uint64_t>(window.calls) - before.calls;
  row->bytes += window.bytes - before.bytes;
  row->failed_calls += static_cast<std::uint64_t>(window.failed_calls) - before.failed_calls;
  row->time_ticks +=
      static_cast<double>(window.time_ticks) - static_cast<double>(before.time_ticks);
  Span(row, window.start_ticks,
       window.start_ticks + static_cast<std::uint64_t>(window.end_after_ticks));
  seen.window = window.window;
  seen.record = window;
}

}  // namespace

void AddToSummary(const void* record) noexcept {
  std::uint16_t kind = 0;
  std::memcpy(&kind, record, sizeof(kind));
  switch (static_cast<trace::EventKind>(kind)) {
    case trace::EventKind::kFileObject: {
      const auto* object = static_cast<const FileObject*>(record);
      if (object->file < kMaxFiles) g_mount_of[object->file] = object->mount;
      return;
    }
    case trace::EventKind::kFileCall:
      AddCall(*static_cast<const FileCall*>(record));
      return;
    case trace::EventKind::kFileWindow:
      AddWindow(*static_cast<const FileWindow*>(record));
      return;
    default:
      return;
  }
}

void WriteSummary(void (*write)(const void* record, std::size_t bytes, void* argument),
                  void* argument) noexcept {
  for (std::size_t i = 0; i < g_used; ++i) write(&g_rows[i], sizeof(g_rows[i]), argument);
}

void ForgetSummary() {
  if (g_used == 0) return;
  for (std::size_t i = 0; i < g_used; ++i) g_rows[i] = FileSummary{};
  g_used = 0;
  for (Seen& seen : g_seen) seen.window = 0;
}

}  // namespace chokepoint::interpose
