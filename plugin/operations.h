// Collectives and point-to-point operations, from the host's hand-over to the end of their kernels:
// one 64-byte record each. Must not read a clock in kernel callbacks, except when the operation
// ends.
//
// An operation is over when NCCL has stopped its event (handed it to the stream) and its kernels
// have stopped on all channels. NCCL may also never tell: then the reaper ends it (reaper.h), or
// the end of its communicator does.
#pragma once

#include <bit>
#include <cstdint>

#include "plugin/board.h"
#include "plugin/communicators.h"
#include "plugin/handles.h"
#include "plugin/kernel_detail.h"
#include "plugin/settings.h"
#include "trace/events.h"

namespace chokepoint::plugin {

// Behind an operation's 64 bytes in the place's record: so that a callback touches few lines of
// memory.
struct OperationSide {
  std::uint64_t started = 0;      // channels whose kernel has started, as bits
  std::uint64_t stopped = 0;      // and stopped
  std::uint64_t quiet_ticks = 0;  // when all that had started had stopped (point-to-point)
  Communicator* owner = nullptr;  // null: unknown
  std::uint32_t missing = 0;      // channels yet to stop; or one of the two below
  std::uint32_t enqueued = 0;     // NCCL has stopped the event
};
// Beside it: what the reaper saw last.
struct OperationWatch {
  std::uint64_t id = 0;  // of whom
  std::uint64_t stopped = 0;
  std::uint64_t ticks = 0;  // when that last changed
};
static_assert(sizeof(trace::Collective) + sizeof(OperationSide) <=
              sizeof(trace::BoardSlot::record));

inline OperationSide& OperationSideOf(trace::BoardSlot* slot) noexcept {
  return *reinterpret_cast<OperationSide*>(slot->record + sizeof(trace::Collective));
}
inline constexpr std::uint32_t kManyMissing = 1u << 20;  // nobody tells how many there will be
inline constexpr std::uint32_t kNoKernels = 1u << 30;    // kernel events were not asked for

// What comes with an operation and is not in its record.
struct OperationOrigin {
  const void* context = nullptr;
  Handle call;  // the API call, v5 and later
  Handle group;
  std::uint64_t sequence = 0;   // NCCL's
  bool knows_graphs = false;    // v5 and later: `call` tells whether this is a replay
  bool exact_channels = false;  // v4 and later: as many kernels as channels, for collectives
};

// What a descriptor says of a collective or point-to-point operation.
struct OperationTold {
  std::uint8_t function = 0;  // literals
  std::uint8_t algorithm = 0;
  std::uint8_t protocol = 0;
  std::uint8_t datatype = 0;
  std::uint8_t channels = 0;  // 0 = not told
  bool receive = false;       // point-to-point
  std::int32_t root_or_peer = 0;
  std::uint64_t count = 0;
};

// Both number the operation, put it on the board and return its handle, which is never null.
void* BeginCollective(const OperationOrigin& origin, const OperationTold& told) noexcept;
void* BeginPointToPoint(const OperationOrigin& origin, const OperationTold& told) noexcept;
// NCCL's stop: the operation is in the stream. A second one does nothing.
void EndEnqueue(Handle operation) noexcept;

// How an operation's story ends.
enum class Ending {
  kSeen,     // all kernels stopped: `ticks` is when that was seen, 0 = unknown
  kUnknown,  // handed over; nobody will tell the rest
  kAborted,  // its communicator ended first
};
// Emits and frees. False: somebody else did.
bool FinishOperation(trace::BoardSlot* slot, std::uint64_t id, Ending ending,
                     std::uint64_t ticks) noexcept;
// The last kernel stopped, or the event did after it.
void FinishIfComplete(trace::BoardSlot* slot, std::uint64_t id) noexcept;

inline bool IsOperation(trace::BoardSlot* slot) noexcept {
  const trace::EventKind kind = KindIn(slot);
  return kind == trace::EventKind::kCollective || kind == trace::EventKind::kPointToPoint;
}

// Collective and PointToPoint have all fields at the same place (point-to-point operations have no
// algorithm and protocol): the code in operations.cc writes both as a Collective.
static_assert(
    offsetof(trace::Collective, gpu_start_ns) == offsetof(trace::PointToPoint, gpu_start_ns) &&
    offsetof(trace::Collective, gpu_end_ns) == offsetof(trace::PointToPoint, gpu_end_ns) &&
    offsetof(trace::Collective, flags) == offsetof(trace::PointToPoint, flags) &&
    offsetof(trace::Collective, communicator) == offsetof(trace::PointToPoint, communicator) &&
    offsetof(trace::Collective, enqueue_ticks) == offsetof(trace::PointToPoint, enqueue_ticks) &&
    offsetof(trace::Collective, end_after_ticks) ==
        offsetof(trace::PointToPoint, end_after_ticks) &&
    offsetof(trace::Collective, arrival_before_ticks) ==
        offsetof(trace::PointToPoint, arrival_before_ticks));

// ---- Kernel channels: the hottest path, so it is here in full ----
// `gpu_ns` 0 = not told (v3).
inline void* StartKernel(Handle operation, std::uint8_t channel, std::uint64_t gpu_ns) noexcept {
  if (operation.tag() != HandleTag::kOperation) return nullptr;
  trace::BoardSlot* slot = Find(operation.id());
  if (slot == nullptr) return nullptr;
  OperationSide& side = OperationSideOf(slot);
  const std::uint64_t bit = std::uint64_t{1} << (channel & 63);
  Store(side.started, Load(side.started) | bit);
  if (gpu_ns != 0) {
    std::uint64_t& start_ns = RecordIn<trace::Collective>(slot).gpu_start_ns;
    const std::uint64_t before = Load(start_ns);
    if (before == 0 || gpu_ns < before) Store(start_ns, gpu_ns);
    if (__builtin_expect(g_settings.detail_kernels, 0))
      NoteKernelStart(operation.id(), channel, gpu_ns);
  }
  return Handle::Of(HandleTag::kKernelChannel, channel, operation.id()).raw();
}

inline void RecordKernelEnd(Handle kernel, std::uint64_t gpu_ns) noexcept {
  trace::BoardSlot* slot = Find(kernel.id());
  if (slot == nullptr || gpu_ns == 0) return;
  std::uint64_t& end_ns = RecordIn<trace::Collective>(slot).gpu_end_ns;
  if (gpu_ns > Load(end_ns)) Store(end_ns, gpu_ns);
  if (__builtin_expect(g_settings.detail_kernels, 0))
    EmitKernelChannel(kernel.id(), kernel.small(), gpu_ns);
}

inline void StopKernel(Handle kernel) noexcept {
  trace::BoardSlot* slot = Find(kernel.id());
  if (slot == nullptr) return;
  OperationSide& side = OperationSideOf(slot);
  const std::uint64_t bit = std::uint64_t{1} << (kernel.small() & 63);
  const std::uint64_t stopped = Load(side.stopped);
  if ((stopped & bit) != 0) return;  // twice
  Store(side.stopped, stopped | bit);
  const std::uint32_t missing = Load(side.missing) - 1;
  Store(side.missing, missing);
  if (missing == 0 || KindIn(slot) == trace::EventKind::kPointToPoint)
    FinishIfComplete(slot, kernel.id());
}

}  // namespace chokepoint::plugin
