// Empties the rings into the trace file, pass by pass.
// Must not be used by two threads at once: drain_thread.cc sees to that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/loss_ledger.h"
#include "trace/recorder_state.h"
#include "trace/writer.h"

namespace chokepoint::trace::internal {

class Drain {
 public:
  explicit Drain(RecorderState& state) noexcept : state_(state) {}
  // Writes what is there. `last`: also END, and closes.
  void Pass(bool last) noexcept;
  // In a forked child: lets go of the parent's file.
  void Forget() noexcept;
  // Costs are those of the calling thread from now on.
  void OwnThread() noexcept { on_own_thread_ = true; }

 private:
  static constexpr std::size_t kScratchBytes = 60 * 1024;
  static constexpr std::size_t kClocks = 128;
  static constexpr std::size_t kClocksPerBlock = 64;
  static constexpr std::uint32_t kMostFiles = 8;  // when somebody deletes them
  struct Snapshot {
    std::uint64_t id;
    std::uint64_t again_ns;
  };

  bool Prepare() noexcept;
  bool FileReady() noexcept;
  bool OpenFile() noexcept;
  bool BeginFile(const CreatedFile& created) noexcept;
  bool WriteRecords(BlockKind kind, std::uint16_t flags, const RecordsHeader& header,
                    const void* records, std::size_t bytes) noexcept;
  bool WriteRecord(BlockKind kind, const void* record, std::size_t bytes) noexcept;
  bool WriteBytes(BlockKind kind, const void* payload, std::size_t bytes) noexcept;
  void WriteText() noexcept;
  bool WriteNextText() noexcept;
  bool WriteText(BlockKind kind, const void* text, std::size_t bytes, std::uint64_t next,
                 std::uint64_t* position, std::uint64_t* permanent) noexcept;
  static std::size_t WholePairs(const char* text, std::size_t limit) noexcept;
  void Restate() noexcept;
  void WriteSummary() noexcept;
  void Gather(const void* record, std::size_t bytes) noexcept;
  void FlushGathered(std::uint16_t flags) noexcept;
  void DrainRing(std::uint32_t index) noexcept;
  std::uint64_t WriteRun(RingHeader* ring, std::uint64_t at, std::uint64_t head) noexcept;
  std::uint64_t PassMark(RingHeader* ring, std::uint64_t at, std::uint64_t head) noexcept;
  void WriteClock(std::uint64_t now_ns) noexcept;
  void WriteCost() noexcept;
  void CollectLosses() noexcept;
  void WriteLosses() noexcept;
  bool WriteLossBlock() noexcept;
  void WriteSnapshots(std::uint64_t now_ns) noexcept;
  void Finish() noexcept;

  RecorderState& state_;
  TraceWriter writer_;
  LossLedger losses_;
  bool prepared_ = false;
  bool last_ = false;
  bool restating_ = false;
  bool on_own_thread_ = false;
  std::byte* scratch_ = nullptr;
  Snapshot* snapshots_ = nullptr;
  std::size_t next_snapshot_ = 0;

  CreatedFile created_[2];  // the path in use stays readable for ever
  std::uint32_t created_count_ = 0;
  std::uint64_t open_again_ns_ = 0, open_wait_ns_ = 0;
  std::uint64_t written_in_lost_files_ = 0;

  std::uint64_t schema_written_ = 0;
  std::uint64_t meta_position_ = 0, meta_permanent_ = 0;
  std::uint64_t names_position_ = 0, names_permanent_ = 0;
  std::uint32_t wraps_seen_ = 0;
  std::size_t gathered_bytes_ = 0;
  std::uint32_t gathered_records_ = 0;
  std::uint16_t gathered_flags_ = 0;

  ClockSample clocks_[kClocks];
  std::size_t clock_count_ = 0;
  std::uint64_t ticks_per_second_ = 0;
  std::uint64_t previous_pass_ticks_ = 0;
  std::uint64_t next_clock_ns_ = 0, next_cost_ns_ = 0, next_snapshot_ns_ = 0;
};

}  // namespace chokepoint::trace::internal
