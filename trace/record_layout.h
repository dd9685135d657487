// How records of a file become today's structs: a list of field copies for each kind.
// Must not be used for kinds whose layout is the same: those are copied whole.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/catalogue.h"
#include "trace/schema.h"

namespace chokepoint::trace {

class RecordLayout {
 public:
  RecordLayout() = default;
  RecordLayout(const SchemaEvent& in_file, const CatalogueEvent& today);

  bool identical() const { return identical_; }
  void Copy(const std::byte* record, std::byte* out) const;

 private:
  struct FieldCopy {
    SchemaField from;
    CatalogueField to;
    std::uint32_t length;
  };
  std::vector<FieldCopy> copies_;
  bool identical_ = false;
};

}  // namespace chokepoint::trace
