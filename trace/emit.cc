// Emit's slow side: a thread's first record, the ring's end, a full ring.
// Must not wait, allocate or touch a file.
#include "trace/raw_io.h"
#include "trace/recorder_state.h"

namespace chokepoint::trace::internal {

constinit thread_local ThreadRing t_ring __attribute__((tls_model("initial-exec")));

namespace {

constexpr std::uint32_t kMostRefusals = 1024;

// Says in the ring itself that what follows is another thread's. False when there is no room to say
// it.
bool HandOver(RingHeader* ring, std::uint32_t tid) noexcept {
  const std::uint64_t head = ring->head.load(std::memory_order_acquire);
  const std::uint64_t tail = ring->tail.load(std::memory_order_acquire);
  RingMarkRecord mark;
  if (head - tail + sizeof(mark) > ring->capacity_bytes) return false;
  mark.mark = static_cast<std::uint16_t>(RingMark::kOwner);
  mark.thread = tid;
  // Positions are multiples of 8, so a mark always fits before the end.
  std::memcpy(RingMemory::DataOf(ring) + (head & (ring->capacity_bytes - 1)), &mark, sizeof(mark));
  ring->head.store(head + sizeof(mark), std::memory_order_release);
  return true;
}

// A ring whose thread has ended and that has at most `used_bytes` not yet drained.
RingHeader* TakeRing(std::uint32_t tid, std::uint64_t used_bytes) noexcept {
  const RingMemory& memory = g_recorder.memory;
  const std::uint32_t pid = raw::ProcessId();
  const std::uint32_t count = memory.ring_count();
  for (std::uint32_t i = 0; i < count; ++i) {
    RingHeader* ring = memory.ring(i);
    if (ring == nullptr) continue;
    std::uint32_t owner = ring->thread.load(std::memory_order_acquire);
    // Our own number here is that of a thread that ended before the kernel gave its number to us.
    if (owner == 0 || (owner != tid && raw::ThreadAlive(pid, owner))) continue;
    if (ring->head.load(std::memory_order_acquire) - ring->tail.load(std::memory_order_acquire) >
        used_bytes) {
      continue;
    }
    // 0 = being handed over: nobody else takes it, also when the two numbers are equal.
    if (!ring->thread.compare_exchange_strong(owner, 0, std::memory_order_acq_rel)) continue;
    const bool taken = HandOver(ring, tid);
    ring->thread.store(taken ? tid : owner, std::memory_order_release);
    if (taken) return ring;
  }
  return nullptr;
}

bool AcquireRing() noexcept {
  // A vfork child runs in its parent's memory under a number that dies with it: not an owner.
  if (raw::ProcessId() != g_recorder.memory.header()->pid) return false;
  const std::uint32_t tid = raw::ThreadId();
  const std::uint64_t ring_bytes = g_recorder.options.ring_bytes;
  RingHeader* ring = TakeRing(tid, ring_bytes / 8);
  if (ring == nullptr) ring = g_recorder.memory.AddRing(tid);
  if (ring == nullptr) ring = TakeRing(tid, ring_bytes);
  if (ring == nullptr) return false;
  t_ring.data = RingMemory::DataOf(ring);
  t_ring.cached_tail = ring->tail.load(std::memory_order_acquire);
  t_ring.refused = 0;
  t_ring.header = ring;
  return true;
}

// Is asked again at the 1st, 2nd, 4th, 8th ... refused record only: a search costs a system call
// for each ring.
bool WorthAsking() noexcept {
  const std::uint32_t refused = t_ring.refused;
  return (refused & (refused - 1)) == 0 || refused % kMostRefusals == 0;
}

void CountDrop(RingHeader* ring, std::size_t bytes) noexcept {
  constexpr std::uint64_t kTickEvery = 64;  // a tick read costs more than a drop
  const std::uint64_t events = ring->dropped_events.load(std::memory_order_relaxed);
  if (events % kTickEvery == 0) {
    const std::uint64_t now = NowTicks();
    if (events == 0) ring->first_drop_ticks.store(now, std::memory_order_relaxed);
    ring->last_drop_ticks.store(now, std::memory_order_relaxed);
  }
  ring->dropped_bytes.store(ring->dropped_bytes.load(std::memory_order_relaxed) + bytes,
                            std::memory_order_relaxed);
  ring->dropped_events.store(events + 1, std::memory_order_release);
}

bool PushSlow(const void* record, std::size_t bytes) noexcept {
  ThreadRing& own = t_ring;
  RingHeader* ring = own.header;
  own.cached_tail = ring->tail.load(std::memory_order_acquire);  // released by the drain
  std::uint64_t head = ring->head.load(std::memory_order_relaxed);
  const std::uint64_t capacity = ring->capacity_bytes;
  const std::uint64_t offset = head & (capacity - 1);
  const std::uint64_t pad = offset + bytes > capacity ? capacity - offset : 0;
  const std::uint64_t used = head - own.cached_tail;
  if (used + pad + bytes > capacity / 2 &&
      !g_recorder.half_full.exchange(true, std::memory_order_acq_rel)) {
    WakeDrain();
  }
  if (used + pad + bytes > capacity) {
    CountDrop(ring, bytes);
    return false;
  }
  if (pad != 0) {
    const RingMarkRecord mark;
    std::memcpy(own.data + offset, &mark, sizeof(mark));
    head += pad;
  }
  std::memcpy(own.data + (head & (capacity - 1)), record, bytes);
  ring->head.store(head + bytes, std::memory_order_release);  // acquired by the drain
  return true;
}

}  // namespace

void CountLoss(LossReason reason, std::uint64_t events, std::uint64_t bytes) noexcept {
  const auto index = static_cast<std::size_t>(reason);
  if (HasMemory(CurrentPhase())) {
    RingFileHeader* header = g_recorder.memory.header();
    header->lost_bytes[index].fetch_add(bytes, std::memory_order_relaxed);
    header->lost_events[index].fetch_add(events, std::memory_order_release);
    return;
  }
  g_recorder.losses[index].bytes.fetch_add(bytes, std::memory_order_relaxed);
  g_recorder.losses[index].events.fetch_add(events, std::memory_order_release);
}

bool EmitSlow(const void* record, std::size_t bytes) noexcept {
  RecorderState& state = g_recorder;
  Phase phase = CurrentPhase();
  if (phase == Phase::kForked || phase == Phase::kStarting) {
    Start(state.rank, state.ranks);
    phase = CurrentPhase();
  }
  if (t_ring.header != nullptr) return PushSlow(record, bytes);
  if (phase != Phase::kRecording) {
    if (phase != Phase::kDisabled) CountLoss(LossReason::kNotStarted, 1, bytes);
    return false;
  }
  ++t_ring.refused;
  if (WorthAsking() && AcquireRing()) return EmitBytes(record, bytes);
  CountLoss(LossReason::kNoRing, 1, bytes);
  return false;
}

}  // namespace chokepoint::trace::internal
