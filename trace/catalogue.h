// The catalogue of events.def as data: for the SCHEMA block, the size of a record, documentation
// and tests. Must not allocate: the guest writes its SCHEMA block from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/events.h"

namespace chokepoint::trace {

enum class FieldType : std::uint8_t { ku8, ku16, ku32, ku64, ki32, kf32, kf64 };
inline constexpr std::size_t kFieldTypeBytes[] = {1, 2, 4, 8, 4, 4, 8};
inline constexpr const char* kFieldTypeNames[] = {"u8", "u16", "u32", "u64", "i32", "f32", "f64"};

struct CatalogueField {
  FieldType type;
  std::uint16_t offset;
  std::uint16_t length;  // array elements; 1 = a plain field
  const char* name;
  const char* unit;
  const char* doc;
};

struct CatalogueEvent {
  std::uint16_t id;
  std::uint16_t bytes;
  const char* name;
  const char* doc;
  std::span<const CatalogueField> fields;  // in order, without `kind`
};

std::span<const CatalogueEvent> Catalogue() noexcept;

// The text of the SCHEMA blocks, see docs/trace-format.md. Returns its size without the NUL.
inline constexpr std::size_t kMaxSchemaBytes = 256 * 1024;
std::size_t WriteSchema(char* out, std::size_t capacity) noexcept;
// Room that WriteSchema needs.
std::size_t SchemaCapacity() noexcept;

namespace internal {
inline constexpr std::uint16_t kRecordSizes[][2] = {
#define EVENT(id, name, doc) {id, static_cast<std::uint16_t>(sizeof(name))},
#define FIELD(type, name, unit, doc)
#define ARRAY(type, length, name, unit, doc)
#define END_EVENT(name)
#include "trace/events.def"
#undef EVENT
#undef FIELD
#undef ARRAY
#undef END_EVENT
};
constexpr std::uint16_t LastKind() {
  std::uint16_t last = 0;
  for (const auto& row : kRecordSizes) last = row[0] > last ? row[0] : last;
  return last;
}
constexpr auto SizeByKind() {
  std::array<std::uint16_t, LastKind() + 1> sizes{};
  for (const auto& row : kRecordSizes) sizes[row[0]] = row[1];
  return sizes;
}
inline constexpr auto kSizeByKind = SizeByKind();
}  // namespace internal

// 0 when this build does not know the kind.
inline std::size_t RecordBytes(std::uint16_t kind) noexcept {
  return kind < internal::kSizeByKind.size() ? internal::kSizeByKind[kind] : 0;
}

}  // namespace chokepoint::trace
