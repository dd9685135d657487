// The loop over a block's batches, with what the host watches: the profiler's counters and the
// FIFO's credits. It must not skip a work silently: peers would wait for ever.
#include "tests/softgpu/emu/run_block.h"

#include <algorithm>
#include <cstdio>

#include "tests/softgpu/emu/collectives.h"
#include "tests/softgpu/emu/emulator_settings.h"
#include "tests/softgpu/emu/point_to_point.h"
#include "tests/softgpu/emu/work_batches.h"

namespace chokepoint::softgpu::emu {
namespace {

// Marks works as started or completed in one of the two tables that the host polls: channel x
// (counter % slots).
void MarkWorks(const Block& block, char* table, const std::vector<bool>& profiled,
               uint64_t counter_before) {
  if (table == nullptr) return;
  if (!block.grid->layout->profiler_slots) {  // up to 2.26: a single counter per channel
    if (std::find(profiled.begin(), profiled.end(), true) == profiled.end()) return;
    __atomic_store_n(reinterpret_cast<uint64_t*>(table) + block.channel_id,
                     counter_before + profiled.size(), __ATOMIC_RELEASE);
    return;
  }
  DeviceProfiler* const profiler = reinterpret_cast<DeviceProfiler*>(table) + block.channel_id;
  for (size_t i = 0; i < profiled.size(); i++) {
    if (!profiled[i]) continue;
    const uint64_t counter = counter_before + 1 + i;
    ProfilerSlot& slot = profiler->slots[counter % kProfilerSlots];
    __atomic_store_n(&slot.timestamp, DeviceTimerNs(), __ATOMIC_RELAXED);
    __atomic_store_n(&slot.counter, counter, __ATOMIC_RELEASE);
  }
}

void PrintColl(const Block& block, const Function& function, const CollWork& work) {
  fprintf(stderr, "nccl_emu: r%d ch %d %s channels %d..%d counts %lld/%lld/%lld root %d\n",
          block.grid->rank, block.channel_id, function.name.c_str(), work.channel_first,
          work.channel_last, static_cast<long long>(work.first.count),
          static_cast<long long>(work.middle.count), static_cast<long long>(work.last.count),
          work.root);
}

uint64_t RunColls(Block& block, const Function& function, const LoadedBatch& batch) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < batch.works.size() && !block.aborted; i++) {
    const CollWork work = DecodeColl(*block.grid->layout, batch.works[i].data());
    if (GetEmulatorSettings().debug >= 2) PrintColl(block, function, work);
    const int64_t elements = work.first.count + work.middle.count + work.last.count;
    bytes += static_cast<uint64_t>(elements * BytesOf(function.type));
    if (!RunCollective(block, function, work)) {
      ReportNotRun("not implemented: " + function.name +
                   (work.registered ? " with registered buffers" : ""));
    }
  }
  return bytes;
}

uint64_t RunP2p(Block& block, const LoadedBatch& batch) {
  std::vector<P2pWork> works = AsStructs<P2pWork>(batch.works);
  uint64_t bytes = 0;
  for (const P2pWork& work : works) bytes += work.send_bytes;
  if (!RunP2pBatch(block, std::move(works))) {
    ReportNotRun("not implemented: send and receive with registered buffers");
  }
  return bytes;
}

uint64_t RunBroadcasts(Block& block, const Function& function, const LoadedBatch& batch) {
  std::vector<BroadcastWork> works = AsStructs<BroadcastWork>(batch.works);
  uint64_t bytes = 0;
  for (const BroadcastWork& work : works) bytes += work.bytes;
  RunBroadcastBatch(block, function.protocol, works.data(), static_cast<int>(works.size()));
  return bytes;
}

// Returns how many bytes the works are about.
uint64_t RunBatch(Block& block, const Function& function, const LoadedBatch& batch) {
  const bool is_coll = batch.work_type == kWorkColl || batch.work_type == kWorkCollReg;
  if (is_coll) return RunColls(block, function, batch);
  if (batch.work_type == kWorkP2p && function.collective == kSendRecv) return RunP2p(block, batch);
  if (batch.work_type == kWorkBcast && function.collective == kAllGatherV) {
    return RunBroadcasts(block, function, batch);
  }
  ReportNotRun("not implemented: work type of " + function.name);
  return 0;
}

const Function& FunctionOf(const Grid& grid, int id) {
  static const Function kUnknown{-1, kCopy, kU8, kRing, kProtoSimple, "unknown function"};
  const auto index = static_cast<size_t>(id);
  return index < grid.functions->size() ? (*grid.functions)[index] : kUnknown;
}

// Pretends that the kernel takes its time.
void Dawdle(Block& block, uint64_t begin_ns, uint64_t bytes) {
  const double ns_per_byte = GetEmulatorSettings().ns_per_byte;
  if (ns_per_byte <= 0) return;
  const uint64_t end_ns =
      begin_ns + static_cast<uint64_t>(static_cast<double>(bytes) * ns_per_byte);
  WaitInBlock(block, [end_ns] { return DeviceTimerNs() >= end_ns; });
}

}  // namespace

void RunBlock(Block& block) {
  const Grid& grid = *block.grid;
  const int counter_at = grid.layout->channel.work_counter;
  uint64_t no_counter = 0;
  uint64_t* const counter =
      counter_at != kAbsent ? reinterpret_cast<uint64_t*>(block.channel + counter_at) : &no_counter;
  uint64_t works_done = *counter;
  uint32_t consumed = 0;
  for (int next = block.index; next >= 0 && !block.aborted;) {
    const LoadedBatch batch = LoadBatch(grid, next);
    std::vector<bool> profiled;
    for (const RawWork& work : batch.works) {
      profiled.push_back(IsProfiled(*grid.layout, batch.work_type, work));
    }
    const Function& function = FunctionOf(grid, batch.function_id);
    Scheduler::Current()->self()->label = function.name.c_str();
    const uint64_t begin_ns = DeviceTimerNs();
    MarkWorks(block, grid.work_started, profiled, works_done);
    Dawdle(block, begin_ns, RunBatch(block, function, batch));
    MarkWorks(block, grid.work_completed, profiled, works_done);
    works_done += batch.works.size();
    consumed = batch.consumed;
    next = batch.next;
  }
  __atomic_store_n(counter, works_done, __ATOMIC_RELEASE);
  if (grid.work_consumed != nullptr) {  // the FIFO's credits, up to 2.26
    __atomic_store_n(grid.work_consumed + block.channel_id, consumed, __ATOMIC_RELEASE);
  }
}

}  // namespace chokepoint::softgpu::emu
