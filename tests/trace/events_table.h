// The tables of docs/trace-format.md, from the catalogue.
// Must not know any event by name.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "trace/catalogue.h"

namespace chokepoint::tests {

inline constexpr const char* kTableBegin =
    "<!-- generated from trace/events.def by tests/trace/events_doc: begin -->\n";
inline constexpr const char* kTableEnd =
    "<!-- generated from trace/events.def by tests/trace/events_doc: end -->";

inline std::string EscapedCell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped.push_back('\\');
    escaped.push_back(c);
  }
  return escaped;
}

inline std::string EventsTable() {
  std::ostringstream out;
  for (const trace::CatalogueEvent& event : trace::Catalogue()) {
    out << "\n### " << event.id << " " << event.name << "\n\n";
    out << event.doc << ". " << event.bytes << " bytes.\n\n";
    out << "| offset | type | field | unit | meaning |\n| --- | --- | --- | --- | --- |\n";
    for (const trace::CatalogueField& field : event.fields) {
      out << "| " << field.offset << " | "
          << trace::kFieldTypeNames[static_cast<std::size_t>(field.type)];
      if (field.length > 1) out << "[" << field.length << "]";
      out << " | " << field.name << " | " << field.unit << " | " << EscapedCell(field.doc)
          << " |\n";
    }
  }
  out << "\n### Reasons of Loss records\n\n| number | title | meaning |\n| --- | --- | --- |\n";
#define X(number, name, title, doc) \
  out << "| " << number << " | " << title << " | " << doc << " |\n";
  CHOKEPOINT_LOSS_REASONS(X)
#undef X
  out << "\n";
  return out.str();
}

inline std::string ReadWhole(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace chokepoint::tests
