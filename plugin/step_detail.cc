// Steps wait in a table with eight records for each place on the board, in the same order as in the
// fold. Must not be asked about a step that the fold does not hold open.
#include "plugin/step_detail.h"

#include <sys/mman.h>

#include "trace/recorder.h"

namespace chokepoint::plugin {
namespace {

constexpr std::size_t kBytes = sizeof(trace::ProxyStep);
std::byte* g_steps = nullptr;

trace::ProxyStep* StepOf(std::uint64_t id, std::uint32_t step) noexcept {
  if (g_steps == nullptr) return nullptr;
  const std::size_t index = (id & (kBoardSlots - 1)) * kOpenSteps + step % kOpenSteps;
  return reinterpret_cast<trace::ProxyStep*>(g_steps + index * kBytes);
}

}  // namespace

bool StartStepsDetail() noexcept {
  if (g_steps != nullptr) return true;
  void* memory = mmap(nullptr, kBoardSlots * kOpenSteps * kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  g_steps = static_cast<std::byte*>(memory);
  return true;
}

void StartStepDetail(std::uint64_t id, std::uint32_t step, const trace::ProxyOperation& operation,
                     std::uint64_t now) noexcept {
  trace::ProxyStep* place = StepOf(id, step);
  if (place == nullptr) return;
  trace::ProxyStep record;
  record.channel = Load(operation.channel);
  record.flags = static_cast<std::uint8_t>(Load(operation.flags) & ~trace::kProxyOpen);
  record.operation = Load(operation.operation);
  record.peer = Load(operation.peer);
  record.step = step;
  record.start_ticks = now;
  StoreWords(reinterpret_cast<std::byte*>(place), record);
}

void NoteStepDetail(std::uint64_t id, std::uint32_t step, StepState state, std::uint64_t bytes,
                    std::uint64_t now) noexcept {
  trace::ProxyStep* place = StepOf(id, step);
  if (place == nullptr) return;
  const auto after = static_cast<float>(now - Load(place->start_ticks));
  switch (state) {
    case StepState::kPeerWait:
      if (Load(place->peer_wait_after_ticks) == 0) Store(place->peer_wait_after_ticks, after);
      break;
    case StepState::kWireWait:
      Store(place->wire_after_ticks, after);
      break;
    case StepState::kFlushWait:
      Store(place->flush_after_ticks, after);
      break;
    case StepState::kConsumeWait:
      Store(place->consume_after_ticks, after);
      break;
    case StepState::kGpuWait:
    case StepState::kClosed:
      break;
  }
  if (bytes != 0)
    Store(place->bytes, static_cast<std::uint32_t>(bytes < 0xffffffffu ? bytes : 0xffffffffu));
}

void EndStepDetail(std::uint64_t id, std::uint32_t step, std::uint64_t now) noexcept {
  trace::ProxyStep* place = StepOf(id, step);
  if (place == nullptr) return;
  auto record = LoadWords<trace::ProxyStep>(reinterpret_cast<std::byte*>(place));
  record.end_after_ticks = static_cast<float>(now - record.start_ticks);
  trace::Emit(record);
}

}  // namespace chokepoint::plugin
