// A single-producer single-consumer byte ring of records in memory that outlives the process.
// Must not wait, allocate or write over unread records.
//
// Contract:
// - One thread pushes, one thread (the drain) reads. A record is visible as a whole or not at all.
// - Full means drop: Push returns false and counts. New records are dropped, old ones stay.
// - Records never wrap: a pad (kind 0) fills the rest before the end.
// - When the owner has ended, another thread goes on in the same ring: a mark (kind 0 too) says
// from where.
// - Positions are bytes since creation, never wrapped; slot = position % capacity. So a salvaged
// ring says which records the file has.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "trace/events.h"

namespace chokepoint::trace {

// In the ring file, followed by `capacity_bytes` of records. One cache line for each side.
struct alignas(64) RingHeader {
  // Written by the owner at start, then constant.
  std::atomic<std::uint32_t> thread;  // Linux thread id of the owner; 0 = changing hands
  std::uint32_t number;
  std::uint64_t capacity_bytes;  // power of two
  // Producer's line.
  alignas(64) std::atomic<std::uint64_t> head;  // released after the record's bytes; acquired by
                                                // the consumer
  std::atomic<std::uint64_t> dropped_events;
  std::atomic<std::uint64_t> dropped_bytes;
  std::atomic<std::uint64_t> first_drop_ticks;
  std::atomic<std::uint64_t> last_drop_ticks;
  std::atomic<std::uint64_t> calls;  // cost accounting: see recorder.h
  std::atomic<std::uint64_t> sampled_calls;
  std::atomic<std::uint64_t> sampled_ticks;
  // Consumer's line.
  // Released after the records are on their way to the file; acquired by the producer.
  alignas(64) std::atomic<std::uint64_t> tail;
  std::atomic<std::uint64_t> reported_events;  // of dropped_events: what the drain has noted
  std::atomic<std::uint64_t> reported_bytes;
  // Whose records begin at tail: rings are handed on when a thread has ended.
  std::atomic<std::uint32_t> tail_thread;
};
static_assert(sizeof(RingHeader) == 192);

}  // namespace chokepoint::trace
