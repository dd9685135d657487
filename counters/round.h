// What every reader of counters is given for one round of sampling, and how it says that something
// is not there. Must not outlive the round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "counters/sink.h"
#include "counters/sysfs.h"

namespace chokepoint::counters {

struct Round {
  SysTree* tree;
  const Sink* sink;
  char* buffer;  // shared scratch memory: valid until the next read
  std::size_t buffer_bytes;
  std::uint64_t now_ticks;
  std::uint64_t now_ns;  // CLOCK_MONOTONIC

  // Empty when it cannot be read; `*result` is the size or -errno.
  std::string_view Read(SysFile* file, long* result) const noexcept {
    *result = file->Read(tree, buffer, buffer_bytes);
    return {buffer, *result > 0 ? static_cast<std::size_t>(*result) : 0};
  }
};

// Remembers whether a source was there, and records each change once.
class Presence {
 public:
  // `result`: a size, or -errno. True when the source is there.
  bool Note(const Round& round, trace::SamplerSource source, long result,
            const char* device = nullptr, const char* counter = nullptr) noexcept {
    const bool present = result >= 0;
    if (present && absent_) {
      round.sink->Report(source, trace::SourceState::kPresent, 0, round.now_ticks, device, counter);
    } else if (!present && !absent_) {
      const trace::SourceState state =
          was_present_ ? trace::SourceState::kGone : StateOfError(result);
      round.sink->Report(source, state, static_cast<int>(-result), round.now_ticks, device,
                         counter);
    }
    absent_ = !present;
    was_present_ = was_present_ || present;
    return present;
  }

 private:
  bool absent_ = false;
  bool was_present_ = false;
};

}  // namespace chokepoint::counters
