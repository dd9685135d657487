// The record structs and the EventKind enumeration, generated from events.def, and the enumerations that its fields use.
// Must not hold anything that is not a plain value: these bytes go to disk as they are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chokepoint::trace {

// Names of the field types of events.def.
namespace field {
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using f32 = float;
using f64 = double;
}  // namespace field

enum class EventKind : std::uint16_t {
#define EVENT(id, name, doc) k##name = id,
#define FIELD(type, name, unit, doc)
#define ARRAY(type, length, name, unit, doc)
#define END_EVENT(name)
#include "trace/events.def"
#undef EVENT
#undef FIELD
#undef ARRAY
#undef END_EVENT
};

#define EVENT(id, name, doc)                                         \
  struct name {                                                      \
    static constexpr EventKind kKind = static_cast<EventKind>(id);   \
    field::u16 kind = id;
#define FIELD(type, name, unit, doc) field::type name{};
#define ARRAY(type, length, name, unit, doc) field::type name[length]{};
#define END_EVENT(name)                                              \
  };                                                                 \
  static_assert(sizeof(name) % 8 == 0 && alignof(name) <= 8);
#include "trace/events.def"
#undef EVENT
#undef FIELD
#undef ARRAY
#undef END_EVENT

inline constexpr std::size_t kMaxRecordBytes = 256;
inline constexpr std::uint16_t kPadKind = 0;  // in rings only: skip to the ring's end

static_assert(sizeof(Collective) == 64 && sizeof(PointToPoint) == 64, "the hot path's budget");

// Loss.reason. The first column is the number in the file: never renumber.
#define CHOKEPOINT_LOSS_REASONS(X)                                              \
  X(1, kRingFull, "ring full", "the program was faster than the recorder")     \
  X(2, kNoRing, "no ring", "no memory for another thread's ring")              \
  X(3, kBoardFull, "too many open", "too many operations open at once")        \
  X(4, kWriteFailed, "write failed", "the trace file could not be written")    \
  X(5, kSizeLimit, "size limit", "CHOKEPOINT_MAX_MB: old records given up")    \
  X(6, kNamesFull, "names full", "no room for another name: shown as unknown") \
  X(7, kNotStarted, "not started", "no trace file could be created")

enum class LossReason : std::uint16_t {
#define X(number, name, title, doc) name = number,
  CHOKEPOINT_LOSS_REASONS(X)
#undef X
};

// Collective.flags and PointToPoint.flags.
enum OperationFlag : std::uint8_t {
  kOperationHasArrival = 1,    // arrival_before_ticks is valid
  kOperationHasHostEnd = 2,    // end_after_ticks is valid
  kOperationHasGpuTime = 4,    // gpu_start_ns and gpu_end_ns are valid
  kOperationOwnSequence = 8,   // sequence is counted by us: graph replay or point-to-point
  kOperationReplay = 16,       // replay of a captured CUDA graph
  kOperationOpen = 32,         // not known to have ended when this was written
  kOperationAborted = 64,      // its communicator ended first
  kOperationExpectsKernel = 128,  // kernel events were asked for: without them the end is unknown
};

// ProxyOperation.flags and ProxyStep.flags.
enum ProxyFlag : std::uint8_t {
  kProxySend = 1,
  kProxyForeign = 2,      // belongs to another process (PXN): owner_pid says whose
  kProxyOpen = 4,         // not ended when this was written
  kProxyAborted = 8,      // its communicator ended first
  kProxyNoBytes = 16,     // bytes are not told by this NCCL version
};

// Communicator.flags.
enum CommunicatorFlag : std::uint8_t { kCommunicatorOpen = 1 };

// ApiCall.call and .flags.
enum class ApiKind : std::uint8_t { kGroup = 1, kCollective = 2, kPointToPoint = 3, kKernelLaunch = 4 };
enum ApiFlag : std::uint8_t { kApiGraphCaptured = 1, kApiOpen = 2 };

// CopyEngine.part.
enum class CopyEnginePart : std::uint8_t { kCollective = 1, kSynchronisation = 2, kBatch = 3 };

}  // namespace chokepoint::trace
