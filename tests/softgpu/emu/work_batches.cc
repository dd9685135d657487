// Follows the lists of batches and copies works out of the arguments, the FIFO or persistent
// memory. It must not keep pointers into them: the host writes there again.
#include "tests/softgpu/emu/work_batches.h"

namespace chokepoint::softgpu::emu {
namespace {

constexpr int kPieceBytes = 16;  // a work may wrap around in the FIFO between two such pieces

int WorkBytes(const Layout& layout, int work_type) {
  switch (work_type) {
    case kWorkP2p:
      return sizeof(P2pWork);
    case kWorkColl:
      return layout.coll.size;
    case kWorkCollReg:
      return layout.coll.registered_size;
    default:
      return sizeof(BroadcastWork);
  }
}

RawWork ReadWork(const Grid& grid, uint32_t offset, int bytes) {
  RawWork work(static_cast<size_t>(bytes) / sizeof(uint64_t));
  for (int done = 0; done < bytes; done += kPieceBytes) {
    const uint32_t from = offset + static_cast<uint32_t>(done);
    const KernelArgs& args = grid.kernel_args;
    const char* const source = args.storage_type == kStoreArgs
                                   ? grid.args + from
                                   : args.work_buffer + (from & args.work_mask);
    memcpy(reinterpret_cast<char*>(work.data()) + done, source, kPieceBytes);
  }
  return work;
}

}  // namespace

LoadedBatch LoadBatch(const Grid& grid, int index) {
  const auto* const batches = reinterpret_cast<const WorkBatch*>(grid.args + sizeof(KernelArgs));
  LoadedBatch loaded;
  for (;;) {
    const WorkBatch batch = batches[index];
    const int bytes = WorkBytes(*grid.layout, batch.work_type());
    uint32_t end = 0;  // number of the last work, plus 1
    for (uint64_t bits = batch.offset_bitset; bits != 0; bits &= bits - 1) {
      const auto number = static_cast<uint32_t>(__builtin_ctzll(bits));
      loaded.works.push_back(
          ReadWork(grid, batch.offset_base + number * static_cast<uint32_t>(bytes), bytes));
      end = number + 1;
    }
    loaded.consumed = batch.offset_base + end * static_cast<uint32_t>(bytes);
    const auto jump = static_cast<int>(batch.next_jump());
    if (!batch.next_extends()) {
      loaded.work_type = batch.work_type();
      loaded.function_id = batch.function_id();
      loaded.next = jump != 0 ? index + jump : -1;
      return loaded;
    }
    index += jump;
  }
}

bool IsProfiled(const Layout& layout, int work_type, const RawWork& work) {
  switch (work_type) {
    case kWorkP2p:
      return AsStructs<P2pWork>({work})[0].profiled();
    case kWorkColl:
    case kWorkCollReg:
      return DecodeColl(layout, work.data()).profiled;
    default:
      return false;
  }
}

}  // namespace chokepoint::softgpu::emu
