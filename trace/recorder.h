// The one door into the trace for code inside the guest: Emit a record, name a string, hold an
// operation open on a board. Must not block, allocate, throw, log or change errno, in any function
// here except Start, which opens files.
//
// One recorder per shared library and process. Everything is safe from any thread, at any time,
// before Start, after Stop and in forked children; it then does nothing, or drops and counts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/clock.h"
#include "trace/events.h"
#include "trace/format.h"
#include "trace/ring.h"

namespace chokepoint::trace {

struct RecorderOptions {
  Writer writer = Writer::kNccl;
  std::size_t ring_bytes = 1 << 20;  // per recording thread; power of two
  std::size_t max_rings = 64;        // threads that can record at once
  std::size_t board_slots = 0;  // operations that can be open at once; power of two; 0 = no board
  std::size_t names_bytes = 512 * 1024;  // of all names together
  // Called on the drain thread for each record that was drained, and at the end of the bounded part
  // of the file to write totals with Emit-like `write(record, size, argument)`. Both may be null.
  void (*on_drained)(const void* record) noexcept = nullptr;
  void (*write_summary)(void (*write)(const void* record, std::size_t bytes, void* argument),
                        void* argument) noexcept = nullptr;
  // Called on the drain thread before each drain: last chance to close operations that nobody will
  // close.
  void (*before_drain)() noexcept = nullptr;
};

// Remembers the options; creates nothing. Called from a constructor. Returns false under
// CHOKEPOINT_DISABLE=1.
bool Configure(const RecorderOptions& options) noexcept;

// Creates the rings, the drain thread and the trace file if that has not been done in this process.
// Cheap when already started. Not for hot paths. `rank`, `ranks`: if known, else -1. A failure is
// remembered and counted; recording goes on as far as it can.
bool Start(int rank, int ranks) noexcept;

// True when records are taken.
bool Recording() noexcept;

// Drains everything and writes END; later records are dropped and counted. For exit paths: bounded
// by `deadline_ms`.
void Stop(int deadline_ms) noexcept;

// Drains everything now (exec, tests). Bounded by `deadline_ms`. False when time ran out.
bool Flush(int deadline_ms) noexcept;

// Before exec: drains everything and removes the ring file, which nobody would remove afterwards.
// When exec fails recording goes on, but a killed process then loses what was not drained.
void FlushForExec(int deadline_ms) noexcept;

// In a child made by clone or _Fork, which run no handlers of pthread_atfork (fork does): the
// parent's rings are let go. Cheap.
void AfterForkInChild() noexcept;

// Path of the trace file, "" while there is none. The memory stays valid for ever.
const char* TracePath() noexcept;

// Adds a META pair (appended to the file by the drain thread). Copies both. For facts learnt late:
// NCCL version, GPU.
void AddMeta(const char* key, const char* value) noexcept;

namespace internal {
struct ThreadRing {
  RingHeader* header = nullptr;  // null: this thread has no ring yet, or none can be had
  std::byte* data = nullptr;
  std::uint64_t cached_tail = 0;
  std::uint32_t refused = 0;  // records dropped for want of a ring: it is not asked for each time
};
extern constinit thread_local ThreadRing t_ring __attribute__((tls_model("initial-exec")));
bool EmitSlow(const void* record,
              std::size_t bytes) noexcept;  // first record of a thread, wrap, full
}  // namespace internal

// Copies `record` (bytes: a multiple of 8, at most kMaxRecordBytes) into this thread's ring. False:
// dropped and counted.
inline bool EmitBytes(const void* record, std::size_t bytes) noexcept {
  internal::ThreadRing& ring = internal::t_ring;
  if (__builtin_expect(ring.header != nullptr, 1)) {
    const std::uint64_t head = ring.header->head.load(std::memory_order_relaxed);
    const std::uint64_t capacity = ring.header->capacity_bytes;
    const std::uint64_t offset = head & (capacity - 1);
    if (__builtin_expect(
            head - ring.cached_tail + bytes <= capacity / 2 && offset + bytes <= capacity, 1)) {
      std::memcpy(ring.data + offset, record, bytes);
      ring.header->head.store(head + bytes,
                              std::memory_order_release);  // acquired by the drain thread
      return true;
    }
  }
  return internal::EmitSlow(record,
                            bytes);  // also refreshes cached_tail, wakes the drain when half full
}

template <class Event>
inline bool Emit(const Event& event) noexcept {
  return EmitBytes(&event, sizeof(Event));
}

// ---- Names ----
// An id for `text` (copied, cut at 1,000 bytes; NUL-terminated). 0 when null or no room. The same
// text gives the same id.
std::uint32_t InternName(const char* text) noexcept;
// The same for strings that live for ever and are few (NCCL's literals): looked up by address
// first. Ids 1..255; 0 = none.
std::uint8_t InternLiteral(const char* text) noexcept;

// ---- Boards: operations that are open now ----
// A board slot is a record being assembled in the ring file's memory: when the process is killed,
// the report still sees it. A slot is named by a number that is never used twice: `id %
// board_slots` is its place, so a stale id is recognised.
struct alignas(64) BoardSlot {
  std::atomic<std::uint64_t> id;  // 0 = free; kBoardClaimed while somebody fills it
  std::atomic<std::uint64_t>
      opened_ticks;  // for the drain's snapshots of long-open operations; 0 = not to be snapshot
  alignas(
      8) std::byte record[112];  // an event, flags say open; its `kind` 0 = nothing to salvage yet
  std::byte side[128];           // the owner library's own bookkeeping: not salvaged
};
static_assert(sizeof(BoardSlot) == 256);
inline constexpr std::uint64_t kBoardClaimed = ~std::uint64_t{0};

// The board: `board_slots` slots, zeroed; null before Start or when there is no memory. Slots are
// claimed by compare-and-swap.
BoardSlot* Board() noexcept;
std::size_t BoardSlots() noexcept;
// Counts an operation that found no slot.
void CountBoardFull() noexcept;

// ---- Cost accounting ----
// First line of each callback: counts the call. True for one in 1,024: time that one, with a
// TimedCall.
inline bool CountCall() noexcept {
  RingHeader* header = internal::t_ring.header;
  if (__builtin_expect(header == nullptr, 0)) return false;
  const std::uint64_t calls = header->calls.load(std::memory_order_relaxed);
  header->calls.store(calls + 1, std::memory_order_relaxed);
  return (calls & 1023) == 0;
}

class TimedCall {
 public:
  TimedCall() noexcept : header_(internal::t_ring.header), start_ticks_(NowTicks()) {}
  ~TimedCall() {
    header_->sampled_calls.fetch_add(1, std::memory_order_relaxed);
    header_->sampled_ticks.fetch_add(NowTicks() - start_ticks_, std::memory_order_relaxed);
  }
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;

 private:
  RingHeader* header_;  // of the call's begin: the call may be the one in which the ring changes
  std::uint64_t start_ticks_;
};

// Both in one object, where a callback has room for it.
class CostProbe {
 public:
  CostProbe() noexcept {
    if (__builtin_expect(CountCall(), 0)) {
      header_ = internal::t_ring.header;
      start_ticks_ = NowTicks();
    }
  }
  ~CostProbe() {
    if (__builtin_expect(header_ != nullptr, 0)) Finish();
  }
  CostProbe(const CostProbe&) = delete;
  CostProbe& operator=(const CostProbe&) = delete;

 private:
  void Finish() noexcept {
    header_->sampled_calls.fetch_add(1, std::memory_order_relaxed);
    header_->sampled_ticks.fetch_add(NowTicks() - start_ticks_, std::memory_order_relaxed);
  }
  RingHeader* header_ = nullptr;
  std::uint64_t start_ticks_ = 0;
};

}  // namespace chokepoint::trace
