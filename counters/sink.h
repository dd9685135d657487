// Where the readers of counters put what they have read: in the guest the recorder, in tests a
// list. Must not know any source.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/events.h"
#include "trace/sampler_enums.h"

namespace chokepoint::counters {

// Plain function pointers: none may block or allocate. `argument` is passed through.
struct Sink {
  void (*emit)(const void* record, std::size_t bytes, void* argument) noexcept = nullptr;
  std::uint32_t (*intern)(const char* text, void* argument) noexcept = nullptr;
  void (*meta)(const char* key, const char* value, void* argument) noexcept = nullptr;
  void* argument = nullptr;

  template <class Event>
  void Emit(const Event& event) const noexcept {
    emit(&event, sizeof(Event), argument);
  }
  // 0 for empty text.
  std::uint32_t Name(const char* text) const noexcept {
    return text == nullptr || *text == '\0' ? 0 : intern(text, argument);
  }
  void Meta(const char* key, const char* value) const noexcept {
    if (value != nullptr && *value != '\0') meta(key, value, argument);
  }
  // Says that a source, or one counter of it, is not there: absence must not be read as health.
  void Report(trace::SamplerSource source, trace::SourceState state, int error,
              std::uint64_t now_ticks, const char* device = nullptr,
              const char* counter = nullptr) const noexcept {
    trace::SourceStatus status;
    status.source = static_cast<std::uint8_t>(source);
    status.state = static_cast<std::uint8_t>(state);
    status.error = error;
    status.device = Name(device);
    status.counter = Name(counter);
    status.ticks = now_ticks;
    Emit(status);
  }
};

}  // namespace chokepoint::counters
