// Open calls wait in a small table, found by their handle: it holds the tick, so it is as good as
// unique. Must not wait: when the neighbourhood of a handle is full, the call goes unrecorded.
#include "plugin/api_calls.h"

#include <atomic>

#include "plugin/board.h"

namespace chokepoint::plugin {
namespace {

struct alignas(64) OpenCall {
  std::atomic<std::uint64_t> key{0};  // bits of the handle; 0 = free
  alignas(8) std::byte record[sizeof(trace::ApiCall)];
};
constexpr std::uint64_t kClaimed = ~std::uint64_t{0};
constexpr std::size_t kTable = 1024;
constexpr std::size_t kNeighbours = 16;
OpenCall g_calls[kTable];

OpenCall* Neighbour(std::uint64_t key, std::size_t i) noexcept {
  return &g_calls[((key * 0x9e3779b97f4a7c15u >> 40) + i) & (kTable - 1)];
}

void Close(OpenCall* call, std::uint64_t key, std::uint8_t more_flags) noexcept {
  if (!call->key.compare_exchange_strong(key, kClaimed, std::memory_order_acq_rel)) return;
  auto record = LoadWords<trace::ApiCall>(call->record);
  call->key.store(0, std::memory_order_release);
  record.flags |= more_flags;
  record.end_after_ticks = static_cast<float>(trace::NowTicks() - record.start_ticks);
  trace::Emit(record);
}

}  // namespace

void* StartApiInDetail(HandleTag tag, bool graph_captured, trace::ApiCall* record) noexcept {
  record->start_ticks = trace::NowTicks();
  if (graph_captured) record->flags |= trace::kApiGraphCaptured;
  const Handle handle = Handle::OfCall(tag, graph_captured, record->start_ticks);
  for (std::size_t i = 0; i < kNeighbours; ++i) {
    OpenCall* call = Neighbour(handle.bits(), i);
    std::uint64_t expected = 0;
    if (call->key.load(std::memory_order_relaxed) != 0 ||
        !call->key.compare_exchange_strong(expected, kClaimed, std::memory_order_acquire)) {
      continue;
    }
    StoreWords(call->record, *record);
    call->key.store(handle.bits(), std::memory_order_release);
    break;
  }
  return handle.raw();
}

void StopApiInDetail(Handle call) noexcept {
  if (!call.is_call()) return;
  for (std::size_t i = 0; i < kNeighbours; ++i) {
    OpenCall* open = Neighbour(call.bits(), i);
    if (open->key.load(std::memory_order_acquire) == call.bits())
      return Close(open, call.bits(), 0);
  }
}

void AbandonApiCalls(std::uint32_t communicator) noexcept {
  if (!g_settings.detail_api) return;
  for (OpenCall& call : g_calls) {
    const std::uint64_t key = call.key.load(std::memory_order_acquire);
    if (key == 0 || key == kClaimed) continue;
    if (LoadWords<trace::ApiCall>(call.record).communicator == communicator)
      Close(&call, key, trace::kApiOpen);
  }
}

}  // namespace chokepoint::plugin
