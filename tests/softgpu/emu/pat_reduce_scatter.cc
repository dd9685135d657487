// PAT's ReduceScatter: partial sums go from the leaves to the root of the trees.
// It must not change the order of moves: it decides which message a piece is in.
#include <algorithm>

#include "tests/softgpu/emu/pat.h"
#include "tests/softgpu/emu/pat_tree.h"

namespace chokepoint::softgpu::emu {
namespace {

class ReduceScatter : private PatTree {
 public:
  ReduceScatter(Block& block, const CollWork& work, const Operation& operation,
                const ChannelPart& part)
      : PatTree(block, work, operation, part, /*downwards=*/false) {}

  void Run() {
    ForEachChunk([this](int64_t at, int64_t elements) {
      at_ = at;
      elements_ = elements;
      RunChunk();
    });
  }

 private:
  // First within the aggregates, from the deepest position up, then between the aggregates, then
  // one's own result.
  void RunChunk() {
    for (int position = depth_ - 1; position >= 1; position--) {
      if ((position & 1) != 0) SendLeaves(position);
      if (position > 1) ForwardInner(position);
    }
    for (int scale = 1; scale < aggregates_; scale *= 2) {
      MergeOdd(scale);
      MergeEven(scale);
    }
    PatMove own;
    own.from = 0;
    own.from_offset = OffsetInMessage(aggregates_ - 1, elements_);
    own.ends_from = true;
    own.data_at = PlaceOf(0, at_);
    Move(own);
  }

  // Adds what has come to one's own data, or to what has been summed up so far in the place where
  // it goes.
  void Move(const PatMove& move) {
    if (block_.aborted) return;
    void* sources[2];
    int count = 0;
    if (move.from != PatMove::kNobody) {
      Peer& peer = recv_[move.from];
      if (!AwaitData(peer, 0)) return;
      sources[count++] = SlotOf(peer, 0, move.from_offset);
    }
    void* destination;
    bool is_new;
    if (move.to != PatMove::kNobody) {
      Peer& peer = send_[move.to];
      if (!AwaitFreeSlot(peer, move.ahead)) return;
      destination = SlotOf(peer, move.ahead, move.to_offset);
      is_new = MarkFilled(&peer, move.ahead, move.to_offset, elements_);
    } else {
      destination = work_.recv_buffer + at_ * operation_.element_bytes;
      is_new = MarkOwnFilled(at_ + elements_);
    }
    sources[count++] =
        is_new ? work_.send_buffer + move.data_at * operation_.element_bytes : destination;
    ReduceCopy(operation_, {.pre = false,
                            .post = false,
                            .sources = count,
                            .source = sources,
                            .destinations = 1,
                            .destination = &destination,
                            .elements = elements_});
    EndMessages(move, elements_);
  }

  // The order of the aggregates: bits mirrored and inverted.
  static int Mirrored(int index, int count) {
    int mirrored = 0;
    for (int bit = 1, weight = count / 2; bit < count; bit *= 2, weight /= 2) {
      if ((index & bit) == 0) mirrored += weight;
    }
    return mirrored;
  }
  static bool GoesToNewPeer(int index, int count) {
    return __builtin_popcount(static_cast<unsigned>(index ^ (count - 1)) + 1) == 1;
  }

  // Leaves only have their own data.
  void SendLeaves(int position) {
    for (int a = 0; a < aggregates_; a++) {
      const int shift = Mirrored(a, aggregates_) * depth_ + position;
      if (shift >= ranks_) continue;
      PatMove move;
      move.to = 0;
      move.to_offset = OffsetInMessage(a, elements_);
      move.completes_to = EndsMessage(a) || a == aggregates_ - 1;
      move.data_at = PlaceOf(shift, at_);
      Move(move);
    }
  }

  // What came over the lowest bit of a shift goes on towards its parent.
  void ForwardInner(int position) {
    int skipped = 0;
    int ahead = 0;
    for (int a = 0; a < aggregates_; a++) {
      const int shift = Mirrored(a, aggregates_) * depth_ + position;
      const int bit = LowestBit(shift);
      const int parent = shift - (1 << bit);
      const bool exists = shift < ranks_;
      const bool starts_here = !exists && parent < ranks_;  // nobody below: one's own data
      const bool is_last = EndsMessage(a) || a == aggregates_ - 1;
      PatMove move;
      move.ahead = ahead;
      move.from = bit;
      move.ends_from = is_last;
      move.from_offset = move.to_offset = OffsetInMessage(a, elements_);
      move.data_at = PlaceOf(parent, at_);
      move.completes_to = bit == 0 && is_last;
      move.to = parent != 0 ? LowestBit(parent) : PatMove::kNobody;
      if (move.to != PatMove::kNobody && position == (1 << bit)) {
        if (GoesToNewPeer(a, aggregates_)) {
          skipped = a;
          move.ahead = ahead = 0;
        }
        move.to_offset = OffsetInMessage(a - skipped, elements_);
      }
      if (starts_here) {
        move.from = PatMove::kNobody;
        move.ends_from = false;
      }
      const bool moves = exists || starts_here;
      if (bit > 0 && EndsMessage(a - skipped) && moves) ahead++;
      if (moves) Move(move);
    }
  }

  void MergeOdd(int scale) {
    const int count = aggregates_ / (2 * scale);
    for (int a = 0; a < count; a++) {
      const int parent = (2 * Mirrored(a, count) + 1) * scale * depth_;
      const bool exists = parent + 1 < ranks_;
      PatMove move;
      move.completes_to = a == count - 1 || EndsMessage(a);
      move.to_offset = OffsetInMessage(a, elements_);
      move.data_at = PlaceOf(parent, at_);
      move.to = LowestBit(parent);
      if (exists) {
        const int from_aggregate = a + aggregates_ - aggregates_ / scale;
        move.from = 0;
        move.ends_from = EndsMessage(from_aggregate);
        move.from_offset = OffsetInMessage(from_aggregate, elements_);
      }
      if (exists || parent < ranks_) Move(move);
    }
  }

  void MergeEven(int scale) {
    const int count = aggregates_ / (2 * scale);
    int skipped = 0;
    int ahead = 0;
    for (int a = 0; a < count; a++) {
      const int shift = (2 * Mirrored(a, count) + 1) * scale * depth_;
      const int bit = LowestBit(shift);
      const int parent = shift - (1 << bit);
      const bool exists = shift < ranks_;
      const bool starts_here = !exists && parent < ranks_;
      PatMove move;
      move.ahead = ahead;
      move.from = starts_here ? PatMove::kNobody : bit;
      move.ends_from = !starts_here && (a == count - 1 || EndsMessage(a));
      move.from_offset = OffsetInMessage(a, elements_);
      move.data_at = PlaceOf(parent, at_);
      move.to = parent != 0 ? LowestBit(parent) : PatMove::kNobody;
      if (GoesToNewPeer(a, count)) {
        skipped = a;
        move.ahead = ahead = 0;
      }
      const bool moves = exists || starts_here;
      if (EndsMessage(a - skipped) && moves) ahead++;
      if (move.to != PatMove::kNobody) move.to_offset = OffsetInMessage(a - skipped, elements_);
      if (moves) Move(move);
    }
  }

  int64_t at_ = 0;  // the chunk under way
  int64_t elements_ = 0;
};

}  // namespace

void PatReduceScatter(Block& block, const CollWork& work, const Operation& operation,
                      const ChannelPart& part) {
  ReduceScatter(block, work, operation, part).Run();
}

}  // namespace chokepoint::softgpu::emu
