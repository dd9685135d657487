// The fold, step by step. All fields are read and written as relaxed atomics (board.h).
// Must not assume that NCCL tells states in order, once, or at all.
#include "plugin/proxy_fold.h"

#include <bit>

namespace chokepoint::plugin {

std::atomic<std::uint64_t> g_ticks_per_4us{0};

namespace {

constexpr std::uint32_t kHandleBits = 0xfff;

std::uint32_t IndexOf(std::uint32_t step) noexcept { return step % kOpenSteps; }

// Which of the eight classes: below 4 us, below 16 us, ... each four times the one before.
std::size_t HistogramClass(std::uint64_t ticks, std::uint64_t ticks_per_4us) noexcept {
  const std::uint64_t quotient = ticks / ticks_per_4us;
  if (quotient == 0) return 0;
  const std::size_t log4 = static_cast<std::size_t>(std::bit_width(quotient) + 1) / 2;
  return log4 < 7 ? log4 : 7;
}

}  // namespace

int ProxyFold::Oldest() const noexcept {
  int oldest = -1;
  for (std::uint32_t i = 0; i < kOpenSteps; ++i) {
    if (Load(side_.state[i]) == 0) continue;
    if (oldest < 0 || Load(side_.step[i]) < Load(side_.step[oldest])) oldest = static_cast<int>(i);
  }
  return oldest;
}

float* ProxyFold::WaitOf(StepState state) noexcept {
  switch (state) {
    case StepState::kGpuWait:
      return &record_.gpu_wait_ticks;
    case StepState::kPeerWait:
      return &record_.peer_wait_ticks;
    case StepState::kWireWait:
      return &record_.wire_wait_ticks;
    case StepState::kFlushWait:
      return &record_.flush_wait_ticks;
    case StepState::kConsumeWait:
      return &record_.consume_wait_ticks;
    case StepState::kClosed:
      break;
  }
  // No step is open. On the receiving side that means that no buffer is free; before the first step
  // it means nothing.
  return !is_send() && Load(side_.steps_seen) != 0 ? &record_.gpu_wait_ticks : nullptr;
}

void ProxyFold::Attribute(std::uint64_t now) noexcept {
  const std::uint64_t mark = Load(side_.mark_ticks);
  Store(side_.mark_ticks, now);
  if (now <= mark) return;
  const int oldest = Oldest();
  const auto state =
      oldest < 0 ? StepState::kClosed : static_cast<StepState>(Load(side_.state[oldest]));
  if (float* wait = WaitOf(state)) Add(*wait, static_cast<float>(now - mark));
}

bool ProxyFold::Start(std::uint32_t step, std::uint64_t now) noexcept {
  const std::uint32_t i = IndexOf(step);
  if (Load(side_.state[i]) != 0 && Load(side_.step[i]) == step) {
    Refuse(step, now);
    return false;
  }
  Attribute(now);
  if (Load(side_.steps_seen) == 0) {
    Store(record_.first_after_ticks, static_cast<float>(now - Load(record_.start_ticks)));
  }
  Add(side_.steps_seen, 1);
  Store(side_.step[i], step);
  Store(side_.refused[i], 0);
  Store(side_.state[i],
        static_cast<std::uint8_t>(is_send() ? StepState::kGpuWait : StepState::kPeerWait));
  return true;
}

bool ProxyFold::IsOpen(std::uint32_t step) const noexcept {
  const std::uint32_t i = IndexOf(step);
  return Load(side_.state[i]) != 0 && ((Load(side_.step[i]) ^ step) & kHandleBits) == 0;
}

bool ProxyFold::Enter(std::uint32_t step, StepState state, std::uint64_t now) noexcept {
  const std::uint32_t i = IndexOf(step);
  const auto before = static_cast<StepState>(Load(side_.state[i]));
  if (state <= before) return false;
  Attribute(now);
  if (before == StepState::kWireWait) EndWire(i, now);
  if (state == StepState::kWireWait) Store(side_.wire_since[i], now);
  Store(side_.state[i], static_cast<std::uint8_t>(state));
  return true;
}

void ProxyFold::Refuse(std::uint32_t step, std::uint64_t now) noexcept {
  const std::uint32_t i = IndexOf(step);
  const auto state = static_cast<StepState>(Load(side_.state[i]));
  if (state > StepState::kPeerWait) return;  // it has been accepted since
  if (is_send() && Load(side_.refused[i]) == 0) {
    // The first offer: refused only if it is repeated.
    Store(side_.refused[i], 1);
    Enter(step, StepState::kPeerWait, now);
    return;
  }
  Add(record_.refusals, 1);
}

void ProxyFold::EndWire(std::uint32_t i, std::uint64_t now) noexcept {
  const std::uint64_t since = Load(side_.wire_since[i]);
  if (now < since) return;
  const std::uint64_t ticks = now - since;
  if (static_cast<float>(ticks) > Load(record_.longest_wire_wait_ticks)) {
    Store(record_.longest_wire_wait_ticks, static_cast<float>(ticks));
  }
  const std::uint64_t ticks_per_4us = g_ticks_per_4us.load(std::memory_order_relaxed);
  if (ticks_per_4us == 0) return;
  std::uint16_t& count = record_.wire_histogram[HistogramClass(ticks, ticks_per_4us)];
  if (Load(count) != 0xffff) Add(count, 1);
}

void ProxyFold::Stop(std::uint32_t step, std::uint64_t now) noexcept {
  const std::uint32_t i = IndexOf(step);
  Attribute(now);
  if (static_cast<StepState>(Load(side_.state[i])) == StepState::kWireWait) EndWire(i, now);
  Store(side_.state[i], static_cast<std::uint8_t>(StepState::kClosed));
  Add(record_.steps, 1);
  Store(record_.end_after_ticks, static_cast<float>(now - Load(record_.start_ticks)));
}

void ProxyFold::OfferOldest(std::uint64_t now) noexcept {
  int oldest = -1;
  for (std::uint32_t i = 0; i < kOpenSteps; ++i) {
    const auto state = static_cast<StepState>(Load(side_.state[i]));
    if (state != StepState::kGpuWait && state != StepState::kPeerWait) continue;
    if (oldest < 0 || Load(side_.step[i]) < Load(side_.step[oldest])) oldest = static_cast<int>(i);
  }
  if (oldest >= 0) Refuse(Load(side_.step[oldest]), now);
}

}  // namespace chokepoint::plugin
