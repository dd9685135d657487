// events.def turned into tables.
// Must not list an event by hand.
#include "trace/catalogue.h"

#include "trace/text.h"

namespace chokepoint::trace {
namespace {

template <class Event>
struct Fields;

#define EVENT(id, name, doc) \
  template <>                \
  struct Fields<name> {      \
    using Event = name;      \
    static constexpr CatalogueField kList[] = {
#define FIELD(type, name, unit, doc) \
  {FieldType::k##type, static_cast<std::uint16_t>(offsetof(Event, name)), 1, #name, unit, doc},
#define ARRAY(type, length, name, unit, doc) \
  {FieldType::k##type, static_cast<std::uint16_t>(offsetof(Event, name)), length, #name, unit, doc},
#define END_EVENT(name) \
  }                     \
  ;                     \
  }                     \
  ;
#include "trace/events.def"
#undef EVENT
#undef FIELD
#undef ARRAY
#undef END_EVENT

constexpr CatalogueEvent kEvents[] = {
#define EVENT(id, name, doc) \
  {id, static_cast<std::uint16_t>(sizeof(name)), #name, doc, Fields<name>::kList},
#define FIELD(type, name, unit, doc)
#define ARRAY(type, length, name, unit, doc)
#define END_EVENT(name)
#include "trace/events.def"
#undef EVENT
#undef FIELD
#undef ARRAY
#undef END_EVENT
};

constexpr bool IdsAreUnique() {
  for (std::size_t i = 0; i < std::size(kEvents); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (kEvents[i].id == kEvents[j].id) return false;
    }
  }
  return true;
}
static_assert(IdsAreUnique(), "events.def uses a number twice");

constexpr bool FieldsFillTheirRecords() {
  for (const CatalogueEvent& event : kEvents) {
    std::size_t next = 2;  // after `u16 kind`
    for (const CatalogueField& field : event.fields) {
      if (field.offset != next) return false;
      next += kFieldTypeBytes[static_cast<std::size_t>(field.type)] * field.length;
    }
    if (next != event.bytes || event.bytes > kMaxRecordBytes) return false;
  }
  return true;
}
static_assert(FieldsFillTheirRecords(), "events.def: padding inside a record, or too long");

void AddEvent(const CatalogueEvent& event, Text* text) noexcept {
  text->Add("event\t").AddNumber(event.id).AddChar('\t').AddNumber(event.bytes).AddChar('\t');
  text->Add(event.name).AddChar('\t').Add(event.doc).AddChar('\n');
  for (const CatalogueField& field : event.fields) {
    text->Add(kFieldTypeNames[static_cast<std::size_t>(field.type)]).AddChar('\t');
    text->AddNumber(field.offset).AddChar('\t').AddNumber(field.length).AddChar('\t');
    text->Add(field.name).AddChar('\t').Add(field.unit).AddChar('\t');
    text->Add(field.doc).AddChar('\n');
  }
}

}  // namespace

std::span<const CatalogueEvent> Catalogue() noexcept { return kEvents; }

std::size_t SchemaCapacity() noexcept {
  constexpr std::size_t kNumbers = 40;  // type, numbers and tabs of a line
  std::size_t bytes = 1;
  for (const CatalogueEvent& event : kEvents) {
    bytes += kNumbers + std::strlen(event.name) + std::strlen(event.doc);
    for (const CatalogueField& field : event.fields) {
      bytes +=
          kNumbers + std::strlen(field.name) + std::strlen(field.unit) + std::strlen(field.doc);
    }
  }
  return bytes;
}

std::size_t WriteSchema(char* out, std::size_t capacity) noexcept {
  Text text(out, capacity);
  for (const CatalogueEvent& event : kEvents) AddEvent(event, &text);
  return text.size();
}

}  // namespace chokepoint::trace
