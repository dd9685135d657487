// What was lost and not yet written: sums by reason and thread, turned into Loss records.
// Must not forget: what does not fit its table is added to the process's row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/events.h"

namespace chokepoint::trace {

// Used by one thread at a time.
class LossLedger {
 public:
  void Add(const Loss& loss) noexcept {
    if (loss.events == 0 && loss.bytes == 0) return;
    Loss& row = RowFor(loss.reason, loss.thread);
    row.reason = loss.reason;
    row.events += loss.events;
    row.bytes += loss.bytes;
    if (row.first_ticks == 0) row.first_ticks = loss.first_ticks;
    if (loss.last_ticks != 0) row.last_ticks = loss.last_ticks;
  }
  void Add(LossReason reason, std::uint32_t thread, std::uint64_t events, std::uint64_t bytes,
           std::uint64_t ticks) noexcept {
    Loss loss;
    loss.reason = static_cast<std::uint16_t>(reason);
    loss.thread = thread;
    loss.events = events;
    loss.bytes = bytes;
    loss.first_ticks = loss.last_ticks = ticks;
    Add(loss);
  }

  const Loss* rows() const noexcept { return rows_; }
  std::size_t size() const noexcept { return size_; }
  void Clear() noexcept { size_ = 0; }

 private:
  static constexpr std::size_t kRows = 256;
  static constexpr std::size_t kReservedRows =
      16;  // one for each reason, for the process as a whole

  Loss& RowFor(std::uint16_t reason, std::uint32_t thread) noexcept {
    for (std::size_t i = 0; i < size_; ++i) {
      if (rows_[i].reason == reason && rows_[i].thread == thread) return rows_[i];
    }
    if (thread != 0 && size_ >= kRows - kReservedRows) return RowFor(reason, 0);
    if (size_ >= kRows) return rows_[kRows - 1];
    rows_[size_] = Loss{};
    rows_[size_].thread = thread;
    return rows_[size_++];
  }

  Loss rows_[kRows];
  std::size_t size_ = 0;
};

}  // namespace chokepoint::trace
