// What both PAT collectives stand on: the tree over shifts, the peers, and their messages.
// It must not know in which direction data go.
//
// Rank r works on shifts s = (other rank) - r. A shift is a node of a binomial tree; the edge
// towards its parent clears the lowest set bit of s and runs over the peer at that distance. A
// shift is aggregate * depth + position; some aggregates share one message, which is one step of
// the FIFO. ReduceScatter walks from the leaves to the root, AllGather from the root to the leaves.
// The number of messages per peer has to be what the host computes for its proxies: the same
// aggregates, depth and message boundaries.
#pragma once

#include <cstdint>

#include "tests/softgpu/emu/arithmetic.h"
#include "tests/softgpu/emu/block.h"
#include "tests/softgpu/emu/collectives.h"

namespace chokepoint::softgpu::emu {

// One piece on its way from a peer (or not) to a peer (or not). Peers are named by the exponent of
// their distance.
struct PatMove {
  static constexpr int kNobody = -1;
  int from = kNobody;
  int to = kNobody;
  int64_t from_offset = 0;  // elements within the message
  int64_t to_offset = 0;
  int ahead =
      0;  // how many messages ahead of the current one (sent: ReduceScatter, received: AllGather)
  bool ends_from = false;     // the received message has been used up
  bool completes_to = false;  // the sent message is complete
  int64_t data_at = 0;        // the piece in the user's larger buffer
};

// The exponent of the distance between a shift and its parent.
inline int LowestBit(int shift) { return __builtin_ctz(static_cast<unsigned>(shift)); }

class PatTree {
 protected:
  // `downwards`: from the root to the leaves.
  PatTree(Block& block, const CollWork& work, const Operation& operation, const ChannelPart& part,
          bool downwards);

  static constexpr int kMaxExponents = 32;

  // One direction to the peer at a distance.
  struct Peer {
    int rank = -1;
    ConnInfo* connection = nullptr;
    char* buffer = nullptr;
    int64_t step_elements = 0;
    uint64_t step = 0;
    PeerCounter counter;
    int64_t filled_up_to = 0;  // elements ever put there, to tell new places from partial sums
  };

  char* SlotOf(const Peer& peer, int ahead, int64_t offset) const;
  // Whether the places up to `offset` + `elements` of a message are touched for the first time.
  static bool MarkFilled(Peer* peer, int ahead, int64_t offset, int64_t elements);
  bool MarkOwnFilled(int64_t up_to);
  bool AwaitData(Peer& peer, int ahead);
  bool AwaitFreeSlot(Peer& peer, int ahead);
  // Sends and gives back the messages that a move has completed.
  void EndMessages(const PatMove& move, int64_t elements);

  // Where the data for the rank at this shift are in the user's larger buffer.
  int64_t PlaceOf(int shift, int64_t offset) const;
  bool EndsMessage(int aggregate) const;  // the last aggregate that fits into a message
  int64_t OffsetInMessage(int aggregate, int64_t elements) const;

  // Calls visit(offset, elements) for each chunk.
  template <class Visit>
  void ForEachChunk(Visit visit) {
    for (int64_t at = part_.offset; at < part_.offset + part_.count && !block_.aborted;
         at += part_.chunk) {
      visit(at, std::min(part_.chunk, part_.offset + part_.count - at));
    }
  }

  Block& block_;
  const CollWork& work_;
  const Operation& operation_;
  const ChannelPart part_;
  const int ranks_;
  const int rank_;
  int aggregates_ = 1;
  int depth_ = 1;        // positions per aggregate
  int per_message_ = 1;  // aggregates that share a message
  Peer recv_[kMaxExponents];
  Peer send_[kMaxExponents];

 private:
  void ChooseShape();
  void Connect(Peer* peer, int rank, bool send);

  int64_t own_filled_up_to_ = 0;
};

}  // namespace chokepoint::softgpu::emu
