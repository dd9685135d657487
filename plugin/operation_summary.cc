// A fixed hash table; its last row takes what finds no room.
// Must not grow.
#include "plugin/operation_summary.h"

#include <bit>
#include <cstring>
#include <initializer_list>

#include "trace/events.h"

namespace chokepoint::plugin {
namespace {

constexpr std::size_t kRows = 4096;
constexpr std::size_t kProbes = 64;
trace::OperationSummary g_rows[kRows + 1];  // `operations` 0 = free

struct Key {
  std::uint8_t function, algorithm, protocol, datatype, size_log2;
  std::uint32_t communicator;
};

std::uint64_t Hash(const Key& key) noexcept {
  std::uint64_t packed = key.communicator;
  for (const std::uint8_t part :
       {key.function, key.algorithm, key.protocol, key.datatype, key.size_log2})
    packed = packed * 257 + part;
  return packed * 0x9e3779b97f4a7c15u;
}

bool Same(const trace::OperationSummary& row, const Key& key) noexcept {
  return row.communicator == key.communicator && row.function == key.function &&
         row.algorithm == key.algorithm && row.protocol == key.protocol &&
         row.datatype == key.datatype && row.size_log2 == key.size_log2;
}

trace::OperationSummary* RowOf(const Key& key) noexcept {
  const std::uint64_t hash = Hash(key);
  for (std::size_t i = 0; i < kProbes; ++i) {
    trace::OperationSummary& row = g_rows[((hash >> 40) + i) % kRows];
    if (row.operations != 0 && !Same(row, key)) continue;
    row.communicator = key.communicator;
    row.function = key.function;
    row.algorithm = key.algorithm;
    row.protocol = key.protocol;
    row.datatype = key.datatype;
    row.size_log2 = key.size_log2;
    return &row;
  }
  return &g_rows[kRows];
}

}  // namespace

void SummariseRecord(const void* raw) noexcept {
  trace::Collective record;
  std::memcpy(&record.kind, raw, sizeof(record.kind));
  const auto kind = static_cast<trace::EventKind>(record.kind);
  const bool collective = kind == trace::EventKind::kCollective;
  if (!collective && kind != trace::EventKind::kPointToPoint) return;
  std::memcpy(&record, raw, sizeof(record));  // the two kinds agree in all fields used below
  const Key key{record.function,
                collective ? record.algorithm : std::uint8_t{0},
                collective ? record.protocol : std::uint8_t{0},
                record.datatype,
                record.count == 0 ? std::uint8_t{255}
                                  : static_cast<std::uint8_t>(std::bit_width(record.count) - 1),
                record.communicator};
  trace::OperationSummary* row = RowOf(key);
  if (row->operations == 0 || record.enqueue_ticks < row->first_ticks)
    row->first_ticks = record.enqueue_ticks;
  if (record.enqueue_ticks > row->last_ticks) row->last_ticks = record.enqueue_ticks;
  row->operations += 1;
  row->count_sum += record.count;
  if ((record.flags & trace::kOperationHasHostEnd) != 0)
    row->host_sum_ticks += static_cast<double>(record.end_after_ticks);
  if ((record.flags & trace::kOperationHasGpuTime) != 0)
    row->gpu_sum_ns += static_cast<double>(record.gpu_end_ns - record.gpu_start_ns);
}

void WriteSummary(void (*write)(const void* record, std::size_t bytes, void* argument),
                  void* argument) noexcept {
  for (const trace::OperationSummary& row : g_rows)
    if (row.operations != 0) write(&row, sizeof(row), argument);
}

}  // namespace chokepoint::plugin
