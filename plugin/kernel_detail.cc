// Start times wait in a table with a row for each place on the board.
// Must not confuse operations: a row is only read while its operation holds the place.
#include "plugin/kernel_detail.h"

#include <sys/mman.h>

#include "plugin/board.h"
#include "trace/events.h"

namespace chokepoint::plugin {
namespace {

constexpr std::size_t kChannels = 64;
std::atomic<std::uint64_t>* g_starts = nullptr;

std::atomic<std::uint64_t>* StartOf(std::uint64_t operation, std::uint32_t channel) noexcept {
  if (g_starts == nullptr) return nullptr;
  return &g_starts[(operation & (kBoardSlots - 1)) * kChannels + (channel & (kChannels - 1))];
}

}  // namespace

bool StartKernelDetail() noexcept {
  if (g_starts != nullptr) return true;
  void* memory = mmap(nullptr, kBoardSlots * kChannels * sizeof(std::uint64_t),
                      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  g_starts = static_cast<std::atomic<std::uint64_t>*>(memory);
  return true;
}

void NoteKernelStart(std::uint64_t operation, std::uint32_t channel,
                     std::uint64_t gpu_ns) noexcept {
  if (auto* start = StartOf(operation, channel)) start->store(gpu_ns, std::memory_order_relaxed);
}

void EmitKernelChannel(std::uint64_t operation, std::uint32_t channel,
                       std::uint64_t gpu_ns) noexcept {
  auto* start = StartOf(operation, channel);
  if (start == nullptr) return;
  const std::uint64_t start_ns = start->exchange(0, std::memory_order_relaxed);
  if (start_ns == 0) return;
  trace::KernelChannel record;
  record.channel = static_cast<std::uint8_t>(channel);
  record.operation = static_cast<std::uint32_t>(operation);
  record.gpu_start_ns = start_ns;
  record.gpu_end_ns = gpu_ns;
  record.stop_ticks = trace::NowTicks();
  trace::Emit(record);
}

}  // namespace chokepoint::plugin
