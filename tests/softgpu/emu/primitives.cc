// What the three protocols have in common, and the choice between them.
// It must not touch data.
#include "tests/softgpu/emu/primitives.h"

namespace chokepoint::softgpu::emu {

using Buffer = Move::Buffer;

Primitives::Primitives(Block& block, int protocol, const PrimitivesArgs& args)
    : block_(block),
      operation_(args.operation),
      element_bytes_(args.operation.element_bytes),
      input_(args.input),
      output_(args.output) {
  for (const int rank : args.recv_peers) {
    recv_.push_back(Connect(rank, false, protocol, args.connection));
  }
  for (const int rank : args.send_peers) {
    send_.push_back(Connect(rank, true, protocol, args.connection));
  }
}

Primitives::Peer Primitives::Connect(int rank, bool send, int protocol, int connection) const {
  Peer peer{};
  ChannelPeer* const channel_peer = block_.peers[rank];
  peer.rank = rank;
  peer.connection = send ? &channel_peer->send[connection] : &channel_peer->recv[connection];
  peer.buffer = peer.connection->buffs[protocol];
  peer.step = peer.connection->step;
  peer.counter.word = send ? peer.connection->head : peer.connection->tail;
  return peer;
}

void Primitives::StoreSteps() {
  for (const Peer& peer : recv_) peer.connection->step = peer.step;
  for (const Peer& peer : send_) peer.connection->step = peer.step;
}

char* Primitives::UserBuffer(Move::Buffer buffer, int64_t at) const {
  if (buffer == Buffer::kNone) return nullptr;
  return (buffer == Buffer::kInput ? input_ : output_) + at * element_bytes_;
}

bool Primitives::AwaitFreeSlots(Peer& peer, int steps) {
  const uint64_t wanted = peer.step + static_cast<uint64_t>(steps) - kSteps;
  return WaitForCounter(block_, peer.counter, wanted, "a free slot (head)", peer.rank);
}

bool Primitives::AwaitTail(Peer& peer, int steps) {
  const uint64_t wanted = peer.step + static_cast<uint64_t>(steps);
  return WaitForCounter(block_, peer.counter, wanted, "data (tail)", peer.rank);
}

void Primitives::Send(int64_t in, int64_t elements) {
  Run({.send = true, .source = Buffer::kInput, .source_at = in, .elements = elements});
}

void Primitives::Recv(int64_t out, int64_t elements) {
  Run({.receive = true,
       .destination = Buffer::kOutput,
       .destination_at = out,
       .elements = elements});
}

void Primitives::CopySend(int64_t in, int64_t out, int64_t elements) {
  Run({.send = true,
       .source = Buffer::kInput,
       .destination = Buffer::kOutput,
       .source_at = in,
       .destination_at = out,
       .elements = elements});
}

void Primitives::RecvReduceSend(int64_t in, int64_t elements) {
  Run({.receive = true,
       .send = true,
       .source = Buffer::kInput,
       .source_at = in,
       .elements = elements});
}

void Primitives::RecvReduceCopy(int64_t in, int64_t out, int64_t elements) {
  Run({.receive = true,
       .source = Buffer::kInput,
       .destination = Buffer::kOutput,
       .source_at = in,
       .destination_at = out,
       .elements = elements,
       .is_result = true});
}

void Primitives::RecvReduceCopySend(int64_t in, int64_t out, int64_t elements) {
  Run({.receive = true,
       .send = true,
       .source = Buffer::kInput,
       .destination = Buffer::kOutput,
       .source_at = in,
       .destination_at = out,
       .elements = elements,
       .is_result = true});
}

void Primitives::RecvCopySend(int64_t out, int64_t elements) {
  Run({.receive = true,
       .send = true,
       .destination = Buffer::kOutput,
       .destination_at = out,
       .elements = elements});
}

std::unique_ptr<Primitives> MakePrimitives(Block& block, int protocol, const PrimitivesArgs& args) {
  switch (protocol) {
    case kProtoLL:
      return MakeLLPrimitives(block, args);
    case kProtoLL128:
      return MakeLL128Primitives(block, args);
    default:
      return MakeSimplePrimitives(block, args);
  }
}

}  // namespace chokepoint::softgpu::emu
