// The one background thread: empties the rings into the trace file, and writes what the recorder
// knows about itself. Must not be needed for the job to go on: whatever fails here is counted and
// the rings are emptied all the same.
#include "trace/drain.h"

#include <new>

#include "trace/catalogue.h"
#include "trace/raw_io.h"
#include "trace/text.h"

namespace chokepoint::trace::internal {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kClockEveryNs = 10 * kSecond;
constexpr std::uint64_t kSnapshotEveryNs = kSecond;
constexpr std::uint64_t kSnapshotAgainNs = 5 * kSecond;
constexpr std::size_t kSnapshotsPerPass = 256;
constexpr std::size_t kBlockRecordBytes = 60 * 1024;

// why: a snapshot may be torn by its owner, who writes plain fields; it comes again, whole, when
// the operation ends.
__attribute__((no_sanitize("thread"))) void CopyWhileChanging(std::byte* to, const std::byte* from,
                                                              std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    const std::uint64_t word =
        __atomic_load_n(reinterpret_cast<const std::uint64_t*>(from + i), __ATOMIC_RELAXED);
    __builtin_memcpy(to + i, &word, sizeof(word));
  }
}

}  // namespace

// ---- Rings ----

void Drain::DrainRing(std::uint32_t index) noexcept {
  RingHeader* ring = state_.memory.ring(index);
  if (ring == nullptr) return;
  const std::uint64_t head =
      ring->head.load(std::memory_order_acquire);  // released by the producer
  std::uint64_t at = ring->tail.load(std::memory_order_relaxed);
  // While there is no file, the rings are the file; only what could not be kept is given up.
  const bool keep = !writer_.open() && !last_ && head - at <= ring->capacity_bytes / 2;
  if (keep || head - at > ring->capacity_bytes) return;
  while (at < head) {
    at = WriteRun(ring, at, head);
    at = PassMark(ring, at, head);
    ring->tail.store(at, std::memory_order_release);  // acquired by the producer
  }
}

// Writes records from `at` on as one block. Returns the position behind them.
std::uint64_t Drain::WriteRun(RingHeader* ring, std::uint64_t at, std::uint64_t head) noexcept {
  const std::uint64_t mask = ring->capacity_bytes - 1;
  const std::byte* data = RingMemory::DataOf(ring);
  std::uint64_t end = at;
  std::uint32_t count = 0;
  while (end < head && end - at + kMaxRecordBytes <= kBlockRecordBytes) {
    const std::byte* record = data + (end & mask);
    std::uint16_t kind = 0;
    std::memcpy(&kind, record, sizeof(kind));
    const std::size_t bytes = RecordBytes(kind);
    if (bytes == 0) break;  // a mark, or not a record
    if (state_.options.on_drained != nullptr) state_.options.on_drained(record);
    end += bytes;
    ++count;
    if ((end & mask) == 0) break;  // the ring's end: what follows is not adjacent
  }
  if (count == 0) return at;
  const std::uint32_t thread = ring->tail_thread.load(std::memory_order_relaxed);
  const RecordsHeader header{thread, ring->number, at, count, 0};
  if (!WriteRecords(BlockKind::kEvents, 0, header, data + (at & mask), end - at)) {
    const LossReason reason = writer_.open() ? LossReason::kWriteFailed : LossReason::kNotStarted;
    losses_.Add(reason, thread, count, end - at, NowTicks());
  }
  return end;
}

std::uint64_t Drain::PassMark(RingHeader* ring, std::uint64_t at, std::uint64_t head) noexcept {
  const std::uint64_t offset = at & (ring->capacity_bytes - 1);
  RingMarkRecord mark;
  if (at >= head) return at;
  std::memcpy(&mark, RingMemory::DataOf(ring) + offset, sizeof(mark));
  if (mark.kind != kPadKind) {
    if (RecordBytes(mark.kind) != 0) return at;
    losses_.Add(LossReason::kWriteFailed, mark.thread, 1, head - at,
                NowTicks());  // not a record at all
    return head;
  }
  if (mark.mark == static_cast<std::uint16_t>(RingMark::kOwner)) {
    ring->tail_thread.store(mark.thread, std::memory_order_relaxed);
    return at + sizeof(mark);
  }
  return at + ring->capacity_bytes - offset;
}

// ---- What the recorder knows about itself ----

void Drain::WriteClock(std::uint64_t now_ns) noexcept {
  const ClockSample sample = SampleClock();
  if (clock_count_ == kClocks) {
    for (std::size_t i = 1; i < kClocks / 2; ++i) clocks_[i] = clocks_[2 * i];  // the first stays
    clock_count_ = kClocks / 2;
  }
  if (clock_count_ == 0) {
    clocks_[clock_count_++] = state_.start_clock;
    WriteRecord(BlockKind::kClock, &state_.start_clock, sizeof(sample));
  }
  clocks_[clock_count_++] = sample;
  next_clock_ns_ = now_ns + kClockEveryNs;
  WriteRecord(BlockKind::kClock, &sample, sizeof(sample));
  if (ticks_per_second_ == 0 && clock_count_ > 1) {
    ticks_per_second_ = TicksPerSecond(clocks_[0], sample);
    char number[24];
    if (ticks_per_second_ != 0) {
      AppendMeta("ticks_per_second",
                 Text(number, sizeof(number)).AddNumber(ticks_per_second_).text(), false);
    }
  }
}

void Drain::WriteCost() noexcept {
  Cost cost;
  cost.ticks = NowTicks();
  for (std::uint32_t i = 0; i < state_.memory.ring_count(); ++i) {
    const RingHeader* ring = state_.memory.ring(i);
    if (ring == nullptr) continue;
    cost.calls += ring->calls.load(std::memory_order_relaxed);
    cost.sampled_calls += ring->sampled_calls.load(std::memory_order_relaxed);
    cost.sampled_ticks += ring->sampled_ticks.load(std::memory_order_relaxed);
  }
  if (on_own_thread_) cost.drain_cpu_ns = ReadClockNs(CLOCK_THREAD_CPUTIME_ID);
  cost.written_bytes = written_in_lost_files_ + writer_.written_bytes();
  cost.write_ns = writer_.write_ns();
  WriteRecord(BlockKind::kCost, &cost, sizeof(cost));
}

void Drain::CollectLosses() noexcept {
  for (std::uint32_t i = 0; i < state_.memory.ring_count(); ++i) {
    RingHeader* ring = state_.memory.ring(i);
    if (ring == nullptr) continue;
    const std::uint64_t events = ring->dropped_events.load(std::memory_order_acquire);
    const std::uint64_t reported = ring->reported_events.load(std::memory_order_relaxed);
    if (events == reported) continue;
    const std::uint64_t bytes = ring->dropped_bytes.load(std::memory_order_relaxed);
    Loss loss;
    loss.reason = static_cast<std::uint16_t>(LossReason::kRingFull);
    loss.thread = ring->thread.load(std::memory_order_relaxed);
    loss.events = events - reported;
    loss.bytes = bytes - ring->reported_bytes.load(std::memory_order_relaxed);
    loss.first_ticks = reported == 0 ? ring->first_drop_ticks.load(std::memory_order_relaxed)
                                     : previous_pass_ticks_;
    loss.last_ticks = ring->last_drop_ticks.load(std::memory_order_relaxed);
    ring->reported_bytes.store(bytes, std::memory_order_relaxed);
    ring->reported_events.store(events, std::memory_order_relaxed);
    losses_.Add(loss);
  }
  RingFileHeader* header = state_.memory.header();
  for (std::size_t reason = 0; reason < kLossReasons; ++reason) {
    ProcessLoss& before = state_.losses[reason];
    const std::uint64_t events =
        header->lost_events[reason].exchange(0, std::memory_order_acq_rel) +
        before.events.exchange(0, std::memory_order_acq_rel);
    const std::uint64_t bytes = header->lost_bytes[reason].exchange(0, std::memory_order_acq_rel) +
                                before.bytes.exchange(0, std::memory_order_acq_rel);
    losses_.Add(static_cast<LossReason>(reason), 0, events, bytes, NowTicks());
  }
}

void Drain::WriteLosses() noexcept {
  CollectLosses();
  // A LOSS block may push older ones out of the circle, whose rows come back.
  constexpr int kMostBlocks = 8;
  for (int i = 0; i < kMostBlocks && losses_.size() != 0 && writer_.open(); ++i) {
    if (!WriteLossBlock()) return;
  }
}

bool Drain::WriteLossBlock() noexcept {
  std::size_t count = losses_.size();
  std::memcpy(scratch_, losses_.rows(), count * sizeof(Loss));
  losses_.Clear();
  const RecordsHeader header{0, kNotFromRing, 0, static_cast<std::uint32_t>(count), 0};
  if (WriteRecords(BlockKind::kLoss, 0, header, scratch_, count * sizeof(Loss))) return true;
  while (count > 0) {
    Loss loss;
    std::memcpy(&loss, scratch_ + --count * sizeof(loss), sizeof(loss));
    losses_.Add(loss);
  }
  return false;
}

// Operations that have been open for long, so that a hang is in the file even if the machine goes
// down.
void Drain::WriteSnapshots(std::uint64_t now_ns) noexcept {
  const std::size_t slots = state_.memory.header()->board_slots;
  if (slots == 0 || snapshots_ == nullptr) return;
  const auto* board =
      reinterpret_cast<const BoardSlot*>(state_.memory.At(state_.memory.header()->board_offset));
  const std::uint64_t now_ticks = NowTicks();
  std::size_t left = last_ ? slots : kSnapshotsPerPass;
  gathered_flags_ = kBlockSnapshot;
  for (std::size_t i = 0; i < slots && left > 0; ++i) {
    const std::size_t place = (next_snapshot_ + i) % slots;
    const BoardSlot& slot = board[place];
    const std::uint64_t id = slot.id.load(std::memory_order_acquire);
    const std::uint64_t opened = slot.opened_ticks.load(std::memory_order_relaxed);
    if (id == 0 || id == kBoardClaimed || (opened == 0 && !last_)) continue;
    Snapshot& before = snapshots_[place];
    const bool recent = now_ticks - opened < ticks_per_second_ || ticks_per_second_ == 0;
    const bool again_later = before.id == id && now_ns < before.again_ns;
    if (!last_ && (recent || again_later)) continue;
    alignas(8) std::byte record[sizeof(slot.record)];
    CopyWhileChanging(record, slot.record, sizeof(record));
    std::uint16_t kind = 0;
    std::memcpy(&kind, record, sizeof(kind));
    const std::size_t bytes = RecordBytes(kind);
    if (bytes == 0 || bytes > sizeof(record) || slot.id.load(std::memory_order_acquire) != id)
      continue;
    Gather(record, bytes);
    before = {id, now_ns + kSnapshotAgainNs};
    if (--left == 0) next_snapshot_ = place + 1;
  }
  FlushGathered(kBlockSnapshot);
  gathered_flags_ = 0;
}

// ---- One pass ----

bool Drain::Prepare() noexcept {
  if (prepared_) return scratch_ != nullptr;
  prepared_ = true;
  const std::size_t slots = state_.options.board_slots;
  scratch_ =
      static_cast<std::byte*>(raw::MapAnonymous(kScratchBytes + 4096 + slots * sizeof(Snapshot)));
  if (scratch_ != nullptr)
    snapshots_ = reinterpret_cast<Snapshot*>(scratch_ + kScratchBytes + 4096);
  return scratch_ != nullptr;
}

void Drain::Pass(bool last) noexcept {
  if (!Prepare()) return;
  const std::uint64_t pass_ticks = NowTicks();
  const std::uint64_t now_ns = ReadClockNs(CLOCK_MONOTONIC);
  last_ = last;
  state_.half_full.store(false, std::memory_order_release);
  if (state_.options.before_drain != nullptr) state_.options.before_drain();
  if (last) {
    open_again_ns_ = 0;
    writer_.RetryNow();
  }
  const bool ready = FileReady();
  if (!ready) writer_.Close();
  if (clock_count_ < 3 || now_ns >= next_clock_ns_ || last) WriteClock(now_ns);
  for (std::uint32_t i = 0; i < state_.memory.ring_count(); ++i) DrainRing(i);
  if (ready) WriteText();
  if (ready && (now_ns >= next_snapshot_ns_ || last)) {
    WriteSnapshots(now_ns);
    next_snapshot_ns_ = now_ns + kSnapshotEveryNs;
  }
  WriteLosses();
  if (ready && (now_ns >= next_cost_ns_ || last)) {
    WriteCost();
    next_cost_ns_ = now_ns + kClockEveryNs;
  }
  previous_pass_ticks_ = pass_ticks;
  if (last) Finish();
}

void Drain::Finish() noexcept {
  if (writer_.wraps() != 0) WriteSummary();
  WriteLosses();  // of what the last blocks have pushed out
  WriteText();
  WriteBytes(BlockKind::kEnd, nullptr, 0);
  writer_.Close();
  state_.memory.RemoveFile();
}

void Drain::Forget() noexcept { writer_.Close(); }

}  // namespace chokepoint::trace::internal
