// The shape of PAT's trees, and the bookkeeping of messages.
// It must not move data.
#include "tests/softgpu/emu/pat_tree.h"

#include <algorithm>

#include "tests/softgpu/emu/pat.h"

namespace chokepoint::softgpu::emu {

PatTree::PatTree(Block& block, const CollWork& work, const Operation& operation,
                 const ChannelPart& part, bool downwards)
    : block_(block),
      work_(work),
      operation_(operation),
      part_(part),
      ranks_(block.grid->ranks),
      rank_(block.grid->rank) {
  ChooseShape();
  for (int exponent = 0; (1 << exponent) < ranks_; exponent++) {
    const int distance = 1 << exponent;
    const int above = (rank_ + distance) % ranks_;
    const int below = (rank_ - distance + ranks_) % ranks_;
    Connect(&recv_[exponent], downwards ? above : below, false);
    Connect(&send_[exponent], downwards ? below : above, true);
  }
}

void PatTree::ChooseShape() {
  int padded_ranks = 1;
  while (padded_ranks < ranks_) padded_ranks *= 2;
  const int64_t step_bytes = part_.chunk * operation_.element_bytes;
  const int64_t bytes = std::max<int64_t>(1, part_.count * operation_.element_bytes);
  while (step_bytes / (bytes * aggregates_) >= 2 && aggregates_ < ranks_ / 2) aggregates_ *= 2;
  per_message_ = aggregates_;
  for (int steps = kSteps; steps > 1 && aggregates_ < ranks_ / 2; steps /= 2) aggregates_ *= 2;
  depth_ = padded_ranks / aggregates_;
}

void PatTree::Connect(Peer* peer, int rank, bool send) {
  ChannelPeer* const channel_peer = block_.peers[rank];
  peer->rank = rank;
  peer->connection =
      send ? &channel_peer->send[kRingConnection] : &channel_peer->recv[kRingConnection];
  peer->buffer = peer->connection->buffs[kProtoSimple];
  peer->step_elements = peer->connection->step_size / operation_.element_bytes;
  peer->step = peer->connection->step;
  peer->counter.word = send ? peer->connection->head : peer->connection->tail;
  peer->counter.Refresh();
}

char* PatTree::SlotOf(const Peer& peer, int ahead, int64_t offset) const {
  const auto slot = static_cast<int64_t>((peer.step + static_cast<uint64_t>(ahead)) % kSteps);
  return peer.buffer + (slot * peer.step_elements + offset) * operation_.element_bytes;
}

bool PatTree::MarkFilled(Peer* peer, int ahead, int64_t offset, int64_t elements) {
  const int64_t message = static_cast<int64_t>(peer->step) + ahead;
  const int64_t up_to = message * peer->step_elements + offset + elements;
  const bool is_new = peer->filled_up_to < up_to;
  peer->filled_up_to = std::max(peer->filled_up_to, up_to);
  return is_new;
}

bool PatTree::MarkOwnFilled(int64_t up_to) {
  const bool is_new = own_filled_up_to_ < up_to;
  own_filled_up_to_ = std::max(own_filled_up_to_, up_to);
  return is_new;
}

bool PatTree::AwaitData(Peer& peer, int ahead) {
  const uint64_t wanted = peer.step + static_cast<uint64_t>(ahead) + 1;
  return WaitForCounter(block_, peer.counter, wanted, "PAT data (tail)", peer.rank);
}

bool PatTree::AwaitFreeSlot(Peer& peer, int ahead) {
  const uint64_t wanted = peer.step + static_cast<uint64_t>(ahead) + 1 - kSteps;
  return WaitForCounter(block_, peer.counter, wanted, "a free PAT slot (head)", peer.rank);
}

void PatTree::EndMessages(const PatMove& move, int64_t elements) {
  if (move.to != PatMove::kNobody && move.completes_to) {
    Peer& peer = send_[move.to];
    if (ConnFifo* const fifo = peer.connection->fifo) {
      const int64_t bytes = (move.to_offset + elements) * operation_.element_bytes;
      __atomic_store_n(&fifo[peer.step % kSteps].size, bytes, __ATOMIC_RELAXED);
    }
    peer.step++;
    peer.connection->step = peer.step;
    __atomic_store_n(peer.connection->tail, peer.step, __ATOMIC_RELEASE);
  }
  if (move.from != PatMove::kNobody && move.ends_from) {
    Peer& peer = recv_[move.from];
    peer.step++;
    peer.connection->step = peer.step;
    __atomic_store_n(peer.connection->head, peer.step, __ATOMIC_RELEASE);
  }
}

int64_t PatTree::PlaceOf(int shift, int64_t offset) const {
  return (rank_ + ranks_ + shift) % ranks_ * part_.total + offset;
}

bool PatTree::EndsMessage(int aggregate) const {
  return aggregate % per_message_ == per_message_ - 1;
}

int64_t PatTree::OffsetInMessage(int aggregate, int64_t elements) const {
  return aggregate % per_message_ * elements;
}

bool RunPat(Block& block, int collective, const CollWork& work, const Operation& operation,
            const ChannelPart& part) {
  if (collective != kAllGather && collective != kReduceScatter) return false;
  if (part.count == 0) return true;
  collective == kAllGather ? PatAllGather(block, work, operation, part)
                           : PatReduceScatter(block, work, operation, part);
  return true;
}

}  // namespace chokepoint::softgpu::emu
