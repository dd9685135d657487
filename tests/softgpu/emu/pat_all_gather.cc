// PAT's AllGather: one's own data go from the root of the trees to the leaves.
// It must not change the order of moves: it decides which message a piece is in.
#include <algorithm>
#include <cstring>

#include "tests/softgpu/emu/pat.h"
#include "tests/softgpu/emu/pat_tree.h"

namespace chokepoint::softgpu::emu {
namespace {

class AllGather : private PatTree {
 public:
  AllGather(Block& block, const CollWork& work, const Operation& operation, const ChannelPart& part)
      : PatTree(block, work, operation, part, /*downwards=*/true) {}

  void Run() {
    ForEachChunk([this](int64_t at, int64_t elements) {
      at_ = at;
      elements_ = elements;
      RunChunk();
    });
  }

 private:
  // First between the aggregates, the farthest first, then within them.
  void RunChunk() {
    for (int scale = aggregates_ / 2; scale >= 1; scale /= 2) Spread(scale);
    for (int bit = depth_ / 2; bit >= 1; bit /= 2) Walk(bit, bit);
  }

  // Depth first, large distances first.
  void Walk(int position, int bit) {
    ForwardInner(position);
    if ((position & 1) != 0) TakeLeaves(position);
    for (int lower = bit / 2; lower >= 1; lower /= 2) Walk(position | lower, lower);
  }

  // Copies a piece to the peer that wants it, and into the result if it is new here.
  void Move(const PatMove& move) {
    if (block_.aborted) return;
    const auto bytes = static_cast<size_t>(elements_ * operation_.element_bytes);
    char* source;
    bool is_new;
    if (move.from != PatMove::kNobody) {
      Peer& peer = recv_[move.from];
      if (!AwaitData(peer, move.ahead)) return;
      source = SlotOf(peer, move.ahead, move.from_offset);
      is_new = MarkFilled(&peer, move.ahead, move.from_offset, elements_);
    } else {
      source = work_.send_buffer + at_ * operation_.element_bytes;
      is_new = MarkOwnFilled(at_ + elements_);
    }
    if (move.to != PatMove::kNobody) {
      Peer& peer = send_[move.to];
      if (!AwaitFreeSlot(peer, 0)) return;
      memcpy(SlotOf(peer, 0, move.to_offset), source, bytes);
    }
    char* const result = work_.recv_buffer + move.data_at * operation_.element_bytes;
    if (is_new && result != source) memcpy(result, source, bytes);
    EndMessages(move, elements_);
  }

  void Spread(int scale) {
    for (int a = 0; a < aggregates_ / (2 * scale); a++) {
      const int shift = (2 * a + 1) * scale * depth_;
      if (shift >= ranks_) continue;
      const int bit = LowestBit(shift);
      const int parent = shift - (1 << bit);
      PatMove move;
      move.completes_to = EndsMessage(a) || (2 * (a + 1) + 1) * scale * depth_ >= ranks_;
      move.to = bit;
      move.to_offset = OffsetInMessage(a, elements_);
      move.ahead = a / per_message_;
      move.data_at = PlaceOf(parent, at_);
      if (parent != 0) {
        move.from = LowestBit(parent);
        const int from_aggregate = (a * 2 * scale * depth_) >> (move.from + 1);
        move.from_offset = OffsetInMessage(from_aggregate, elements_);
        move.ahead = from_aggregate / per_message_;
      }
      Move(move);
    }
  }

  // What came from the parent of a shift goes on over the shift's lowest bit.
  void ForwardInner(int position) {
    for (int a = 0; a < aggregates_; a++) {
      const int shift = a * depth_ + position;
      const int bit = LowestBit(shift);
      const int parent = shift - (1 << bit);
      const bool exists = shift < ranks_;
      const bool ends_here = !exists && parent < ranks_ && bit == 0;  // nobody below, but take it
      if (!exists && !ends_here) continue;
      PatMove move;
      move.to = ends_here ? PatMove::kNobody : bit;
      move.data_at = PlaceOf(parent, at_);
      move.to_offset = move.from_offset = OffsetInMessage(a, elements_);
      move.completes_to = !ends_here && (EndsMessage(a) || shift + depth_ >= ranks_);
      move.ahead = bit == 0 ? 0 : a / per_message_;
      if (parent != 0) ReceiveFromParent(&move, a, shift, position);
      Move(move);
    }
  }

  void ReceiveFromParent(PatMove* move, int aggregate, int shift, int position) {
    const int bit = LowestBit(shift);
    move->from = LowestBit(shift - (1 << bit));
    bool is_last = EndsMessage(aggregate) || shift + depth_ - 1 >= ranks_;
    if (position == (1 << bit)) {  // the parent is the first of the aggregate
      const int from_aggregate = (aggregate * depth_) >> (move->from + 1);
      const int next_shift = ((from_aggregate + 1) * 2 + 1) << move->from;
      move->from_offset = OffsetInMessage(from_aggregate, elements_);
      move->ahead = bit == 0 ? 0 : from_aggregate / per_message_;
      is_last = EndsMessage(from_aggregate) || next_shift >= ranks_;
    }
    move->ends_from = bit == 0 && is_last;
  }

  void TakeLeaves(int position) {
    for (int a = 0; a < aggregates_; a++) {
      const int shift = a * depth_ + position;
      if (shift >= ranks_) continue;
      PatMove move;
      move.from = 0;
      move.from_offset = OffsetInMessage(a, elements_);
      move.data_at = PlaceOf(shift, at_);
      move.ends_from = EndsMessage(a) || shift + depth_ >= ranks_;
      Move(move);
    }
  }

  int64_t at_ = 0;  // the chunk under way
  int64_t elements_ = 0;
};

}  // namespace

void PatAllGather(Block& block, const CollWork& work, const Operation& operation,
                  const ChannelPart& part) {
  AllGather(block, work, operation, part).Run();
}

}  // namespace chokepoint::softgpu::emu
