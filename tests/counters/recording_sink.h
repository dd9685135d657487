// A Sink that keeps what it is given, so that tests can ask for the events of one kind.
// Must not interpret them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "counters/sink.h"

namespace chokepoint::tests {

class RecordingSink {
 public:
  counters::Sink sink() {
    return {.emit = &Emit, .intern = &Intern, .meta = &Meta, .argument = this};
  }

  template <class Event>
  std::vector<Event> All() const {
    std::vector<Event> found;
    for (const std::vector<std::byte>& record : records_) {
      std::uint16_t kind = 0;
      std::memcpy(&kind, record.data(), sizeof(kind));
      if (kind != static_cast<std::uint16_t>(Event::kKind)) continue;
      Event event;
      std::memcpy(&event, record.data(), sizeof(event));
      found.push_back(event);
    }
    return found;
  }
  const std::string& name(std::uint32_t id) const { return names_.at(id); }
  const std::map<std::string, std::string>& meta() const { return meta_; }
  std::size_t count() const { return records_.size(); }
  void Clear() { records_.clear(); }

 private:
  static void Emit(const void* record, std::size_t bytes, void* self) noexcept {
    const auto* begin = static_cast<const std::byte*>(record);
    static_cast<RecordingSink*>(self)->records_.emplace_back(begin, begin + bytes);
  }
  static std::uint32_t Intern(const char* text, void* self) noexcept {
    std::vector<std::string>& names = static_cast<RecordingSink*>(self)->names_;
    for (std::size_t i = 1; i < names.size(); ++i) {
      if (names[i] == text) return static_cast<std::uint32_t>(i);
    }
    names.emplace_back(text);
    return static_cast<std::uint32_t>(names.size() - 1);
  }
  static void Meta(const char* key, const char* value, void* self) noexcept {
    static_cast<RecordingSink*>(self)->meta_[key] = value;
  }

  std::vector<std::vector<std::byte>> records_;
  std::vector<std::string> names_{""};
  std::map<std::string, std::string> meta_;
};

}  // namespace chokepoint::tests
