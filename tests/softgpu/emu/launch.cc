// A launch: decodes the kernel's parameters into a grid of blocks and runs each of them as a fiber.
// It must not know how a work is done.
#include <cstdio>
#include <thread>

#include "tests/softgpu/emu/block.h"
#include "tests/softgpu/emu/emulator.h"
#include "tests/softgpu/emu/emulator_settings.h"
#include "tests/softgpu/emu/one_rank.h"
#include "tests/softgpu/emu/run_block.h"

namespace chokepoint::softgpu::emu {
namespace {

// The parameter block's fixed part.
constexpr int kCommRank = 0, kCommRanks = 4, kCommBufferSizes = 16;
constexpr int kChannelPeers = 0, kChannelRing = 8;  // ring: previous, next, ranks
constexpr int kTreeUp = 4, kTreeDown = 8;

bool DecodeGrid(const void* args, Grid* grid) {
  const VersionTables& tables = GetVersionTables();
  const Layout& layout = tables.layout;
  grid->layout = &layout;
  grid->functions = &tables.functions;
  grid->args = static_cast<const char*>(args);
  grid->kernel_args = ReadAt<KernelArgs>(args, 0);
  char* const comm = grid->kernel_args.comm;
  grid->rank = ReadAt<int>(comm, kCommRank);
  grid->ranks = ReadAt<int>(comm, kCommRanks);
  for (int i = 0; i < kProtocols; i++) {
    grid->buffer_sizes[i] = ReadAt<int>(comm, kCommBufferSizes + 4 * i);
  }
  grid->p2p_chunk_size = ReadAt<int>(comm, layout.comm.p2p_chunk_size);
  grid->abort_flag = ReadAt<volatile uint32_t*>(comm, layout.comm.abort_flag);
  grid->channels = comm + layout.comm.channels;
  if (layout.comm.work_started != kAbsent) {
    grid->work_started = ReadAt<char*>(comm, layout.comm.work_started);
    grid->work_completed = ReadAt<char*>(comm, layout.comm.work_completed);
  }
  if (layout.comm.work_consumed != kAbsent && grid->kernel_args.storage_type == kStoreFifo) {
    grid->work_consumed = ReadAt<uint32_t*>(comm, layout.comm.work_consumed);
  }
  // The field behind the abort flag points to the channels, which follow the communicator: a check
  // of the layout.
  return ReadAt<char*>(comm, layout.comm.abort_flag + 8) == grid->channels;
}

Block DecodeBlock(const Grid& grid, int index, int channel_id) {
  const Layout& layout = *grid.layout;
  Block block{};
  block.grid = &grid;
  block.index = index;
  block.channel_id = channel_id;
  char* const channel = grid.channels + static_cast<ptrdiff_t>(channel_id) * layout.channel.size;
  block.channel = channel;
  block.peers = ReadAt<ChannelPeer**>(channel, kChannelPeers);
  block.ring_previous = ReadAt<int>(channel, kChannelRing);
  block.ring_next = ReadAt<int>(channel, kChannelRing + 4);
  block.ring_ranks = ReadAt<int*>(channel, kChannelRing + 8);
  block.ring_index = ReadAt<int>(channel, kChannelRing + layout.channel.ring_index);
  block.tree_up = ReadAt<int>(channel, layout.channel.tree + kTreeUp);
  for (int k = 0; k < 3; k++) {
    block.tree_down[k] = ReadAt<int>(channel, layout.channel.tree + kTreeDown + 4 * k);
  }
  return block;
}

// Every `stride`th block, from `first` on, on this thread.
void RunBlocks(const Grid& grid, std::vector<Block>& blocks, size_t first, size_t stride,
               const std::string& name) {
  Scheduler scheduler([&](FILE* out) {
    fprintf(out, "  kernel %s, rank %d of %d, channels %llx\n", name.c_str(), grid.rank, grid.ranks,
            static_cast<unsigned long long>(grid.kernel_args.channel_mask));
  });
  for (size_t i = first; i < blocks.size(); i += stride) {
    Block* const block = &blocks[i];
    scheduler.Spawn([block] { RunBlock(*block); })->channel = block->channel_id;
  }
  scheduler.Run();
}

void RunGrid(const Grid& grid, std::vector<Block>& blocks, const std::string& name) {
  const int setting = GetEmulatorSettings().threads;
  const size_t wanted = setting <= 0 ? blocks.size() : static_cast<size_t>(setting);
  const size_t stride = std::max<size_t>(1, std::min(wanted, blocks.size()));
  std::vector<std::thread> threads;
  for (size_t i = 1; i < stride; i++) {
    threads.emplace_back([&, i] { RunBlocks(grid, blocks, i, stride, name); });
  }
  RunBlocks(grid, blocks, 0, stride, name);
  for (std::thread& thread : threads) thread.join();
}

void RunCollectiveKernel(const std::string& name, const void* args, size_t args_bytes,
                         unsigned grid_size) {
  Grid grid{};
  if (args_bytes < sizeof(KernelArgs))
    return ReportNotRun("parameter buffer too small for " + name);
  if (!DecodeGrid(args, &grid)) {
    return ReportNotRun(name +
                        ": the communicator looks wrong (no channels pointer where it should "
                        "be): another NCCL version?");
  }
  std::vector<Block> blocks;
  uint64_t mask = grid.kernel_args.channel_mask;
  for (unsigned i = 0; i < grid_size && mask != 0; i++, mask &= mask - 1) {
    blocks.push_back(DecodeBlock(grid, static_cast<int>(i), __builtin_ctzll(mask)));
  }
  if (GetEmulatorSettings().debug >= 1) {
    fprintf(stderr, "nccl_emu: r%d/%d launch %s grid %u channels %llx storage %d\n", grid.rank,
            grid.ranks, name.c_str(), grid_size,
            static_cast<unsigned long long>(grid.kernel_args.channel_mask),
            grid.kernel_args.storage_type);
  }
  RunGrid(grid, blocks, name);
}

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

bool KnowsKernel(const std::string& name) {
  return (Contains(name, "ncclDevKernel_") && !Contains(name, "ncclSym")) || IsOneRankKernel(name);
}

void RunKernel(const std::string& name, const void* args, size_t args_bytes, unsigned grid) {
  if (IsOneRankKernel(name)) return RunOneRankKernel(name, args, args_bytes);
  if (!KnowsKernel(name)) return ReportNotRun("unknown kernel " + name);
  RunCollectiveKernel(name, args, args_bytes, grid);
}

}  // namespace chokepoint::softgpu::emu
