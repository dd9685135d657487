// Parses SCHEMA payloads: lines of tab-separated columns, see docs/trace-format.md.
// Must not trust a number before it is checked against the record it describes.
#include "trace/schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace chokepoint::trace {
namespace {

constexpr std::size_t kMaxEvents = 4096;
constexpr std::size_t kMaxFields = 256;
constexpr std::size_t kColumns = 6;

std::size_t SplitColumns(std::string_view line, std::array<std::string_view, kColumns>* columns) {
  std::size_t count = 0;
  while (count < kColumns) {
    const std::size_t tab = count + 1 < kColumns ? line.find('\t') : std::string_view::npos;
    (*columns)[count++] = line.substr(0, tab);
    if (tab == std::string_view::npos) break;
    line.remove_prefix(tab + 1);
  }
  return count;
}

bool ParseBounded(std::string_view text, std::uint32_t limit, std::uint32_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && *out <= limit;
}

template <class T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

}  // namespace

const SchemaField* SchemaEvent::Find(std::string_view field) const {
  for (const SchemaField& candidate : fields) {
    if (candidate.name == field) return &candidate;
  }
  return nullptr;
}

bool Schema::Add(std::string_view payload) {
  while (!payload.empty()) {
    const std::size_t end = payload.find('\n');
    if (!AddLine(payload.substr(0, end))) return false;
    if (end == std::string_view::npos) break;
    payload.remove_prefix(end + 1);
  }
  return true;
}

bool Schema::AddLine(std::string_view line) {
  std::array<std::string_view, kColumns> columns;
  const std::size_t count = SplitColumns(line, &columns);
  if (columns[0] == "event") {
    std::uint32_t id = 0;
    std::uint32_t bytes = 0;
    if (count < 5 || events_.size() >= kMaxEvents) return false;
    if (!ParseBounded(columns[1], 0xffff, &id) || id == kPadKind) return false;
    if (!ParseBounded(columns[2], 4096, &bytes) || bytes < 8 || bytes % 8 != 0) return false;
    if (RecordBytes(static_cast<std::uint16_t>(id)) != 0) return false;
    if (sizes_.size() <= id) sizes_.resize(id + 1);
    sizes_[id] = static_cast<std::uint16_t>(bytes);
    events_.push_back({static_cast<std::uint16_t>(id),
                       bytes,
                       std::string(columns[3]),
                       std::string(columns[4]),
                       {}});
    return true;
  }
  if (count < kColumns || events_.empty() || events_.back().fields.size() >= kMaxFields)
    return false;
  const auto* type = std::find(std::begin(kFieldTypeNames), std::end(kFieldTypeNames), columns[0]);
  if (type == std::end(kFieldTypeNames)) return true;  // a type of the future: a gap in the record
  const auto index = static_cast<std::size_t>(type - std::begin(kFieldTypeNames));
  SchemaEvent& event = events_.back();
  SchemaField field;
  field.type = static_cast<FieldType>(index);
  if (!ParseBounded(columns[1], event.bytes, &field.offset)) return false;
  if (!ParseBounded(columns[2], event.bytes, &field.length) || field.length == 0) return false;
  if (field.offset + kFieldTypeBytes[index] * field.length > event.bytes) return false;
  field.name = columns[3];
  field.unit = columns[4];
  field.doc = columns[5];
  event.fields.push_back(std::move(field));
  return true;
}

const SchemaEvent* Schema::Find(EventKind kind) const {
  for (const SchemaEvent& event : events_) {
    if (event.id == static_cast<std::uint16_t>(kind)) return &event;
  }
  return nullptr;
}

const SchemaEvent* Schema::FindByName(std::string_view name) const {
  for (const SchemaEvent& event : events_) {
    if (event.name == name) return &event;
  }
  return nullptr;
}

FieldValue ReadField(const std::byte* record, const SchemaField& field, std::uint32_t index) {
  const std::byte* at =
      record + field.offset + index * kFieldTypeBytes[static_cast<std::size_t>(field.type)];
  FieldValue value;
  value.type = field.type;
  switch (field.type) {
    case FieldType::ku8:
      value.unsigned_value = Load<std::uint8_t>(at);
      break;
    case FieldType::ku16:
      value.unsigned_value = Load<std::uint16_t>(at);
      break;
    case FieldType::ku32:
      value.unsigned_value = Load<std::uint32_t>(at);
      break;
    case FieldType::ku64:
      value.unsigned_value = Load<std::uint64_t>(at);
      break;
    case FieldType::ki32:
      value.signed_value = Load<std::int32_t>(at);
      break;
    case FieldType::kf32:
      value.float_value = static_cast<double>(Load<float>(at));
      return value;
    case FieldType::kf64:
      value.float_value = Load<double>(at);
      return value;
  }
  value.float_value = field.type == FieldType::ki32 ? static_cast<double>(value.signed_value)
                                                    : static_cast<double>(value.unsigned_value);
  return value;
}

}  // namespace chokepoint::trace
