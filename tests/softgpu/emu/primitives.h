// NCCL's primitives, what its algorithms are made of: receive, reduce, copy and send up to a chunk
// at a time. One object serves a group of peers; there is an implementation per protocol. It must
// not know the algorithms.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/softgpu/emu/arithmetic.h"
#include "tests/softgpu/emu/block.h"

namespace chokepoint::softgpu::emu {

struct PrimitivesArgs {
  std::vector<int> recv_peers;
  std::vector<int> send_peers;
  char* input = nullptr;
  char* output = nullptr;
  Operation operation{};
  int connection = kRingConnection;
  // Protocol Simple only:
  int slices_per_chunk = 1;
  int steps_per_slice = 1;
  int64_t step_elements = 0;  // 0: from the buffer's size
};

// From the user's buffers and the peers, to the user's buffers and the peers. Positions are in
// elements.
struct Move {
  enum class Buffer { kNone, kInput, kOutput };
  bool receive = false;
  bool send = false;
  Buffer source = Buffer::kNone;
  Buffer destination = Buffer::kNone;
  int64_t source_at = 0;
  int64_t destination_at = 0;
  int64_t elements = 0;
  bool is_result = false;  // what is stored is final: an average is divided now
};

class Primitives {
 public:
  virtual ~Primitives() = default;
  Primitives(const Primitives&) = delete;
  Primitives& operator=(const Primitives&) = delete;

  // Does nothing once the launch is aborted.
  virtual void Run(const Move& move) = 0;

  void SetBuffers(char* input, char* output) {
    input_ = input;
    output_ = output;
  }

  // The moves that algorithms make. `in` and `out` are positions in the user's buffers.
  void Send(int64_t in, int64_t elements);
  void Recv(int64_t out, int64_t elements);
  void CopySend(int64_t in, int64_t out, int64_t elements);
  void RecvReduceSend(int64_t in, int64_t elements);
  void RecvReduceCopy(int64_t in, int64_t out, int64_t elements);
  void RecvReduceCopySend(int64_t in, int64_t out, int64_t elements);
  void RecvCopySend(int64_t out, int64_t elements);

 protected:
  // One direction to one peer.
  struct Peer {
    int rank;
    ConnInfo* connection;
    char* buffer;
    uint64_t step;        // of the next slot
    PeerCounter counter;  // the receiver's head or the sender's tail
  };

  Primitives(Block& block, int protocol, const PrimitivesArgs& args);
  // Leaves the steps for the next operation on these connections. For the destructors of
  // implementations.
  void StoreSteps();
  char* UserBuffer(Move::Buffer buffer, int64_t at) const;
  // Waits for `steps` free slots at a peer; false if aborted.
  bool AwaitFreeSlots(Peer& peer, int steps);
  // Waits until the peer has sent `steps` more slots; false if aborted.
  bool AwaitTail(Peer& peer, int steps);

  Block& block_;
  const Operation operation_;
  const int element_bytes_;
  std::vector<Peer> recv_;
  std::vector<Peer> send_;

 private:
  Peer Connect(int rank, bool send, int protocol, int connection) const;

  char* input_;
  char* output_;
};

std::unique_ptr<Primitives> MakePrimitives(Block& block, int protocol, const PrimitivesArgs& args);

// The implementations, each in a file of its own.
std::unique_ptr<Primitives> MakeSimplePrimitives(Block& block, const PrimitivesArgs& args);
std::unique_ptr<Primitives> MakeLLPrimitives(Block& block, const PrimitivesArgs& args);
std::unique_ptr<Primitives> MakeLL128Primitives(Block& block, const PrimitivesArgs& args);

}  // namespace chokepoint::softgpu::emu
