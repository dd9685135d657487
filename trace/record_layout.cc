// Field copies by name. A type that has changed is converted, saturating.
// Must not read beyond the file's record or write beyond today's: both sizes are checked when the
// list is made.
#include "trace/record_layout.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace chokepoint::trace {
namespace {

template <class T>
T Saturated(const FieldValue& value) {
  if constexpr (std::numeric_limits<T>::is_integer) {
    constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::min());
    constexpr auto kHigh = static_cast<double>(std::numeric_limits<T>::max());
    if (!(value.float_value > kLow)) return std::numeric_limits<T>::min();
    if (value.float_value >= kHigh) return std::numeric_limits<T>::max();
    const bool from_float = value.type == FieldType::kf32 || value.type == FieldType::kf64;
    if (from_float) return static_cast<T>(value.float_value);
    if (value.type == FieldType::ki32) return static_cast<T>(value.signed_value);
    return static_cast<T>(value.unsigned_value);
  } else {
    return static_cast<T>(value.float_value);
  }
}

template <class T>
void Store(const FieldValue& value, std::byte* at) {
  const T converted = Saturated<T>(value);
  std::memcpy(at, &converted, sizeof(converted));
}

void StoreAs(FieldType type, const FieldValue& value, std::byte* at) {
  switch (type) {
    case FieldType::ku8:
      return Store<std::uint8_t>(value, at);
    case FieldType::ku16:
      return Store<std::uint16_t>(value, at);
    case FieldType::ku32:
      return Store<std::uint32_t>(value, at);
    case FieldType::ku64:
      return Store<std::uint64_t>(value, at);
    case FieldType::ki32:
      return Store<std::int32_t>(value, at);
    case FieldType::kf32:
      return Store<float>(value, at);
    case FieldType::kf64:
      return Store<double>(value, at);
  }
}

}  // namespace

RecordLayout::RecordLayout(const SchemaEvent& in_file, const CatalogueEvent& today) {
  identical_ = in_file.bytes == today.bytes && in_file.fields.size() == today.fields.size();
  for (const CatalogueField& to : today.fields) {
    const SchemaField* from = in_file.Find(to.name);
    if (from == nullptr) {
      identical_ = false;
      continue;
    }
    identical_ = identical_ && from->type == to.type && from->offset == to.offset &&
                 from->length == to.length;
    copies_.push_back({*from, to, std::min<std::uint32_t>(from->length, to.length)});
  }
}

void RecordLayout::Copy(const std::byte* record, std::byte* out) const {
  for (const FieldCopy& copy : copies_) {
    const std::size_t width = kFieldTypeBytes[static_cast<std::size_t>(copy.to.type)];
    for (std::uint32_t i = 0; i < copy.length; ++i) {
      StoreAs(copy.to.type, ReadField(record, copy.from, i), out + copy.to.offset + i * width);
    }
  }
}

}  // namespace chokepoint::trace
