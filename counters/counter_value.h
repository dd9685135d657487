// Turns readings of a hardware counter into a total that never falls: wraps continue, resets begin
// again on top. Must not guess: a fall that cannot be a wrap is a reset.
#pragma once

#include <cstdint>

namespace chokepoint::counters {

struct CounterWidth {
  std::uint8_t bits = 64;  // 4, 8, 16, 32, 64
  bool saturates = false;  // stays at its maximum instead of wrapping

  constexpr std::uint64_t Maximum() const noexcept {
    return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  }
};

enum class CounterStep : std::uint8_t { kFirst, kForward, kWrapped, kReset };

class CounterValue {
 public:
  CounterStep Add(std::uint64_t reading, CounterWidth width) noexcept {
    const CounterStep step = StepTo(reading, width);
    switch (step) {
      case CounterStep::kForward:
        total_ += reading - last_;
        break;
      case CounterStep::kWrapped:
        total_ += (reading - last_) & width.Maximum();
        break;
      case CounterStep::kFirst:
      case CounterStep::kReset:
        total_ += reading;
        break;
    }
    last_ = reading;
    known_ = true;
    at_maximum_ = width.saturates && reading >= width.Maximum();
    return step;
  }

  std::uint64_t total() const noexcept { return total_; }
  bool known() const noexcept { return known_; }
  // The true value may be greater.
  bool at_maximum() const noexcept { return at_maximum_; }

 private:
  CounterStep StepTo(std::uint64_t reading, CounterWidth width) const noexcept {
    if (!known_) return CounterStep::kFirst;
    if (reading >= last_) return CounterStep::kForward;
    if (width.saturates || width.bits >= 64 || last_ > width.Maximum()) return CounterStep::kReset;
    const std::uint64_t distance = (reading - last_) & width.Maximum();
    // why: a counter that was near its end and is near its start has wrapped; a fall from anywhere
    // else is a reset.
    return distance <= width.Maximum() / 2 ? CounterStep::kWrapped : CounterStep::kReset;
  }

  std::uint64_t last_ = 0;
  std::uint64_t total_ = 0;
  bool known_ = false;
  bool at_maximum_ = false;
};

}  // namespace chokepoint::counters
