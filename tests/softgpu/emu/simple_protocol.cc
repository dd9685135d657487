// Protocol Simple: data in slots of a buffer, announced by advancing the tail, given back by
// advancing the head. It must not look at the data to know whether they are there.
#include <algorithm>

#include "tests/softgpu/emu/primitives.h"

namespace chokepoint::softgpu::emu {
namespace {

constexpr int kMaxPointers = 8;  // one's own buffer and up to three peers

class SimplePrimitives final : public Primitives {
 public:
  SimplePrimitives(Block& block, const PrimitivesArgs& args)
      : Primitives(block, kProtoSimple, args),
        slices_per_chunk_(args.slices_per_chunk),
        steps_per_slice_(args.steps_per_slice),
        step_elements_(args.step_elements != 0
                           ? args.step_elements
                           : block.grid->buffer_sizes[kProtoSimple] / kSteps / element_bytes_) {
    const int chunk_steps = slices_per_chunk_ * steps_per_slice_;
    for (Peer& peer : recv_) {
      RoundUpStep(peer, chunk_steps);
      // Gives back the slots that rounding up has skipped.
      __atomic_store_n(peer.connection->head, peer.step, __ATOMIC_RELEASE);
    }
    for (Peer& peer : send_) RoundUpStep(peer, chunk_steps);
  }
  ~SimplePrimitives() override { StoreSteps(); }

  void Run(const Move& move) override {
    const int64_t elements = std::max<int64_t>(move.elements, 0);
    const int64_t slice = std::max(DivideUp(elements, 16 * slices_per_chunk_) * 16,
                                   step_elements_ * steps_per_slice_ / 32);
    int64_t done = 0;
    for (int s = 0; s < slices_per_chunk_ && !block_.aborted; s++) {
      const int64_t part = std::min(slice, elements - done);
      RunSlice(move, done, part);
      done += part;
    }
  }

 private:
  struct Pointers {
    void* at[kMaxPointers];
    int count = 0;
    void Add(void* pointer) { at[count++] = pointer; }
  };

  static void RoundUpStep(Peer& peer, int steps) {
    peer.step = static_cast<uint64_t>(RoundUp(static_cast<int64_t>(peer.step), steps));
    peer.counter.Refresh();
  }

  // Where the next slot's data are. With shared buffers the proxy says so in the FIFO.
  static char* SlotOf(const Peer& peer) {
    const uint64_t slot = peer.step % kSteps;
    ConnFifo* const fifo = peer.connection->fifo;
    if (fifo != nullptr && __atomic_load_n(&fifo[slot].mode, __ATOMIC_RELAXED) == kFifoOffset) {
      return peer.buffer + __atomic_load_n(&fifo[slot].offset, __ATOMIC_RELAXED);
    }
    return peer.buffer + static_cast<int64_t>(slot) * peer.connection->step_size;
  }

  void AnnounceSize(const Peer& peer, int64_t elements) const {
    ConnFifo* const fifo = peer.connection->fifo;
    if (fifo == nullptr) return;
    __atomic_store_n(&fifo[peer.step % kSteps].size, elements * element_bytes_, __ATOMIC_RELAXED);
  }

  void Advance(Peer& peer, uint64_t* counter) const {
    peer.step += static_cast<uint64_t>(steps_per_slice_);
    __atomic_store_n(counter, peer.step, __ATOMIC_RELEASE);
  }

  void RunSlice(const Move& move, int64_t offset, int64_t elements) {
    Pointers sources;
    Pointers destinations;
    if (move.source != Move::Buffer::kNone) {
      sources.Add(UserBuffer(move.source, move.source_at + offset));
    }
    if (move.destination != Move::Buffer::kNone) {
      destinations.Add(UserBuffer(move.destination, move.destination_at + offset));
    }
    if (move.receive) {
      for (Peer& peer : recv_) {
        if (!AwaitTail(peer, steps_per_slice_)) return;
        sources.Add(SlotOf(peer));
      }
    }
    if (move.send) {
      for (Peer& peer : send_) {
        if (!AwaitFreeSlots(peer, steps_per_slice_)) return;
        AnnounceSize(peer, elements);
        destinations.Add(SlotOf(peer));
      }
    }
    ReduceCopy(operation_, {.pre = move.source == Move::Buffer::kInput,
                            .post = move.is_result,
                            .sources = sources.count,
                            .source = sources.at,
                            .destinations = destinations.count,
                            .destination = destinations.at,
                            .elements = elements});
    if (move.receive) {
      for (Peer& peer : recv_) Advance(peer, peer.connection->head);
    }
    if (move.send) {
      for (Peer& peer : send_) Advance(peer, peer.connection->tail);
    }
  }

  const int slices_per_chunk_;
  const int steps_per_slice_;
  const int64_t step_elements_;
};

}  // namespace

std::unique_ptr<Primitives> MakeSimplePrimitives(Block& block, const PrimitivesArgs& args) {
  return std::make_unique<SimplePrimitives>(block, args);
}

}  // namespace chokepoint::softgpu::emu
