// The record structs and the EventKind enumeration, generated from events.def, and the enumerations
// that its fields use. Must not hold anything that is not a plain value: these bytes go to disk as
// they are.
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

#define EVENT(id, name, doc)                                       \
  struct name {                                                    \
    static constexpr EventKind kKind = static_cast<EventKind>(id); \
    field::u16 kind = id;
#define FIELD(type, name, unit, doc) field::type name{};
#define ARRAY(type, length, name, unit, doc) field::type name[length]{};
#define END_EVENT(name) \
  }                     \
  ;                     \
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
#define CHOKEPOINT_LOSS_REASONS(X)                                             \
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
  kOperationHasArrival = 1,       // arrival_before_ticks is valid
  kOperationHasHostEnd = 2,       // end_after_ticks is valid
  kOperationHasGpuTime = 4,       // gpu_start_ns and gpu_end_ns are valid
  kOperationOwnSequence = 8,      // sequence is counted by us: graph replay or point-to-point
  kOperationReplay = 16,          // replay of a captured CUDA graph
  kOperationOpen = 32,            // not known to have ended when this was written
  kOperationAborted = 64,         // its communicator ended first
  kOperationExpectsKernel = 128,  // kernel events were asked for: without them the end is unknown
};

// ProxyOperation.flags and ProxyStep.flags.
enum ProxyFlag : std::uint8_t {
  kProxySend = 1,
  kProxyForeign = 2,   // belongs to another process (PXN): owner_pid says whose
  kProxyOpen = 4,      // not ended when this was written
  kProxyAborted = 8,   // its communicator ended first
  kProxyNoBytes = 16,  // bytes are not told by this NCCL version
};

// Communicator.flags.
enum CommunicatorFlag : std::uint8_t { kCommunicatorOpen = 1 };

// ApiCall.call and .flags.
enum class ApiKind : std::uint8_t {
  kGroup = 1,
  kCollective = 2,
  kPointToPoint = 3,
  kKernelLaunch = 4
};
enum ApiFlag : std::uint8_t { kApiGraphCaptured = 1, kApiOpen = 2 };

// CopyEngine.part.
enum class CopyEnginePart : std::uint8_t { kCollective = 1, kSynchronisation = 2, kBatch = 3 };

// FileObject.file_class. By path; the report looks at behaviour too.
enum class FileClass : std::uint8_t {
  kOther = 0,
  kCheckpoint = 1,
  kMarker = 2,
  kDataset = 3,
  kLog = 4,
  kSwap = 5,
  kCode = 6
};

// FileObject.flags.
enum FileFlag : std::uint8_t {
  kFileFolded = 1,     // many files of one directory
  kFileInherited = 2,  // the descriptor was there before this program
  kFileDirectory = 4,
  kFileOverflow = 8,    // all files for which no number was left
  kFileAnonymous = 16,  // memfd_create, O_TMPFILE
};

// FileCall.call, FileWindow.call, FileRename.call. stdio calls are recorded at the stdio layer
// only.
enum class FileCallKind : std::uint8_t {
  kNone = 0,
  kOpen = 1,
  kClose = 2,
  kRead = 3,
  kWrite = 4,
  kStdioRead = 5,
  kStdioWrite = 6,
  kStdioFlush = 7,
  kSync = 8,
  kAllocate = 9,
  kAsyncRead = 10,
  kAsyncWrite = 11,
  kRename = 12,
  kLink = 13,
  kUnlink = 14,
  kMap = 15,
};

// FileCall.flags and FileWindow.flags.
enum FileCallFlag : std::uint8_t {
  kFileCallDirect = 1,      // O_DIRECT
  kFileCallPositioned = 2,  // the caller gave the offset
  kFileCallCopy = 4,  // sendfile, copy_file_range, splice: bytes did not pass through the program
  kFileCallRequested = 8,  // bytes are those asked for: the result was not seen
  kFileCallEarly = 16,     // before recording began: bytes and calls are exact, times are not known
  kFileCallUntimed = 32,   // bytes and calls only
  kFileCallCoarse = 128,   // times are known to some milliseconds only
  kFileCallWritable = 64,  // the descriptor may write
};

// FileCall.detail of kSync and kAllocate.
enum class FileCallDetail : std::uint32_t {
  kFsync = 1,
  kFdatasync = 2,
  kSyncRange = 3,
  kSyncFs = 4,
  kMsync = 5,
  kTruncate = 16,
  kAllocate = 17,
};

// IoCoverage.gaps.
enum IoGap : std::uint16_t {
  kGapMapped = 1,          // files were mapped: reads are page faults
  kGapIoUring = 2,         // io_uring was set up: requests may be invisible
  kGapRawCalls = 4,        // system calls were made by number
  kGapHighDescriptor = 8,  // descriptors beyond the table
  kGapThreads = 16,        // more threads than could be followed
  kGapEarly = 32,          // the kernel's counters began before recording (exec keeps them)
  kGapSignal = 64,  // calls inside a signal handler that interrupted the recorder: bytes only
};

// ProcessLink.origin.
enum class ProcessOrigin : std::uint16_t { kExec = 1, kFork = 2, kClone = 3 };

}  // namespace chokepoint::trace
