// Gathers META, SCHEMA, NAMES and ring positions, block by block.
// Must not keep more than its limits, whatever the file holds.
#include "trace/trace_contents.h"

#include <algorithm>
#include <cstring>

namespace chokepoint::trace {
namespace {

constexpr std::size_t kMaxNames = 2 * 1024 * 1024;
constexpr std::size_t kMaxMetaPairs = 4096;
constexpr std::uint32_t kMaxRings = 65536;

}  // namespace

void TraceContents::Collect(const Block& block) {
  const std::string_view text(reinterpret_cast<const char*>(block.payload.data()),
                              block.payload.size());
  switch (static_cast<BlockKind>(block.header.kind)) {
    case BlockKind::kMeta:
      return CollectMeta(text);
    case BlockKind::kNames:
      return CollectNames(text);
    case BlockKind::kSchema:
      schema.Add(text);
      return;
    case BlockKind::kEnd:
      ended = true;
      return;
    case BlockKind::kEvents:
      break;
    default:
      return;
  }
  if (text.size() < sizeof(RecordsHeader)) return;
  RecordsHeader records;
  std::memcpy(&records, text.data(), sizeof(records));
  if (records.ring >= kMaxRings) return;
  if (drained.size() <= records.ring) drained.resize(records.ring + 1);
  const std::uint64_t end = records.ring_position + (text.size() - sizeof(records));
  drained[records.ring] = std::max(drained[records.ring], end);
}

void TraceContents::CollectMeta(std::string_view payload) {
  while (!payload.empty() && meta.size() < kMaxMetaPairs) {
    const std::size_t key_end = payload.find('\0');
    if (key_end == std::string_view::npos) return;
    const std::string_view key = payload.substr(0, key_end);
    payload.remove_prefix(key_end + 1);
    const std::size_t value_end = payload.find('\0');
    meta.insert_or_assign(std::string(key), std::string(payload.substr(0, value_end)));
    if (value_end == std::string_view::npos) return;
    payload.remove_prefix(value_end + 1);
  }
}

void TraceContents::CollectNames(std::string_view payload) {
  constexpr std::size_t kEntryBytes = sizeof(std::uint32_t) + sizeof(std::uint16_t);
  while (payload.size() >= kEntryBytes && names.size() < kMaxNames) {
    std::uint32_t id = 0;
    std::uint16_t length = 0;
    std::memcpy(&id, payload.data(), sizeof(id));
    std::memcpy(&length, payload.data() + sizeof(id), sizeof(length));
    payload.remove_prefix(kEntryBytes);
    if (length > payload.size()) return;
    names.try_emplace(id, payload.substr(0, length));
    payload.remove_prefix(length);
  }
}

void TraceContents::CollectRing(const RingImage& image) {
  for (const RingName& name : image.Names()) names.try_emplace(name.id, name.text);
  if (schema.events().empty()) schema.Add(image.SchemaText());
  auto from_file = std::move(meta);
  meta.clear();
  CollectMeta(image.MetaText());
  for (auto& [key, value] : from_file) meta.insert_or_assign(key, std::move(value));
}

}  // namespace chokepoint::trace
