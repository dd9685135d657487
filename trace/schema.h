// What records look like in one file: parsed from its SCHEMA blocks, looked up by number or name.
// Must not assume that the file's catalogue is this build's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/catalogue.h"
#include "trace/events.h"

namespace chokepoint::trace {

struct SchemaField {
  std::string name;
  FieldType type = FieldType::ku8;
  std::uint32_t offset = 0;
  std::uint32_t length = 1;  // array elements; 1 = a plain field
  std::string unit;
  std::string doc;
};

struct SchemaEvent {
  std::uint16_t id = 0;
  std::uint32_t bytes = 0;
  std::string name;
  std::string doc;
  std::vector<SchemaField> fields;

  // null when the file's event has no such field.
  const SchemaField* Find(std::string_view field) const;
};

class Schema {
 public:
  // Adds a SCHEMA block's payload. False when a line is not understood; lines before it are kept,
  // as are unknown field types (as gaps). Hostile input: at most 4,096 events and 256 fields each.
  bool Add(std::string_view payload);

  // null when the file does not describe it.
  const SchemaEvent* Find(EventKind kind) const;
  const SchemaEvent* FindByName(std::string_view name) const;
  const std::vector<SchemaEvent>& events() const { return events_; }

  // Size of a record, 0 when the file does not describe the kind.
  std::size_t RecordBytes(std::uint16_t kind) const {
    return kind < sizes_.size() ? sizes_[kind] : 0;
  }

 private:
  bool AddLine(std::string_view line);

  std::vector<SchemaEvent> events_;
  std::vector<std::uint16_t> sizes_;  // by kind
};

// One field or array element, for dump and export, which know no structs. The member that fits
// `type` is set; unsigned and signed integers are also set as float_value.
struct FieldValue {
  FieldType type = FieldType::ku8;
  std::uint64_t unsigned_value = 0;
  std::int64_t signed_value = 0;
  double float_value = 0;
};
FieldValue ReadField(const std::byte* record, const SchemaField& field, std::uint32_t index = 0);

}  // namespace chokepoint::trace
