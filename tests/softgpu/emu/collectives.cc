// Ring and tree algorithms, and the choice of an algorithm.
// It must not differ from NCCL in the order of steps: the peers and proxies count them.
#include "tests/softgpu/emu/collectives.h"

#include <algorithm>
#include <cstring>

#include "tests/softgpu/emu/pat.h"
#include "tests/softgpu/emu/primitives.h"

namespace chokepoint::softgpu::emu {
namespace {

constexpr int kChunkSteps = kSteps / 2;  // of the bandwidth-bound ring collectives
constexpr int kSliceSteps = kSteps / 4;

int64_t GrainBytes(int protocol) {
  switch (protocol) {
    case kProtoLL:
      return 16;
    case kProtoLL128:
      return 1920;
    default:
      return 512;
  }
}

// The elements are dealt out in order: the first channel's share, equal middle ones, the last one.
ChannelPart PartOf(const Block& block, const CollWork& work, int protocol, int element_bytes) {
  const int64_t grain = GrainBytes(protocol) / element_bytes;
  const int64_t middles = work.channel_last - work.channel_first - 1;
  ChannelPart part{};
  part.total = work.first.count + work.middle.count * middles + work.last.count;
  const CollWork::Share* share = &work.middle;
  if (block.channel_id == work.channel_first) {
    share = &work.first;
  } else if (block.channel_id == work.channel_last) {
    share = &work.last;
    part.offset = work.first.count + middles * work.middle.count;
  } else {
    part.offset =
        work.first.count + (block.channel_id - work.channel_first - 1) * work.middle.count;
  }
  part.count = share->count;
  part.chunk = share->grains * grain;
  return part;
}

// Calls visit(offset, elements) for each chunk of the part.
template <class Visit>
void ForEachChunk(const Block& block, const ChannelPart& part, Visit visit) {
  for (int64_t done = 0; done < part.count && !block.aborted; done += part.chunk) {
    visit(part.offset + done, std::min(part.chunk, part.count - done));
  }
}

PrimitivesArgs RingArgs(const Block& block, const CollWork& work, const Operation& operation,
                        int chunk_steps, int slice_steps) {
  PrimitivesArgs args;
  args.recv_peers = {block.ring_previous};
  args.send_peers = {block.ring_next};
  args.input = work.send_buffer;
  args.output = work.recv_buffer;
  args.operation = operation;
  args.slices_per_chunk = chunk_steps / slice_steps;
  args.steps_per_slice = slice_steps;
  return args;
}

// Reduce-scatter and all-gather in one: each rank's part goes once around to be summed up, once to
// be spread.
void RingAllReduce(Block& block, int protocol, const CollWork& work, const Operation& operation) {
  const int ranks = block.grid->ranks;
  const int me = block.ring_index;
  const ChannelPart part = PartOf(block, work, protocol, operation.element_bytes);
  const auto primitives =
      MakePrimitives(block, protocol, RingArgs(block, work, operation, kChunkSteps, kSliceSteps));
  const int64_t loop = ranks * part.chunk;
  for (int64_t done = 0; done < part.count && !block.aborted; done += loop) {
    const int64_t left = part.count - done;
    const int64_t chunk =
        left < loop ? RoundUp(DivideUp(left, ranks), 16 / operation.element_bytes) : part.chunk;
    const auto at = [&](int index) { return part.offset + done + (index % ranks) * chunk; };
    const auto size = [&](int index) { return std::min(chunk, left - (index % ranks) * chunk); };
    const int last = me + ranks - 1;
    primitives->Send(at(last), size(last));
    for (int j = 2; j < ranks; j++) {
      const int index = me + ranks - j;
      primitives->RecvReduceSend(at(index), size(index));
    }
    primitives->RecvReduceCopySend(at(me), at(me), size(me));
    for (int j = 1; j < ranks - 1; j++) {
      const int index = me + ranks - j;
      primitives->RecvCopySend(at(index), size(index));
    }
    primitives->Recv(at(me + 1), size(me + 1));
  }
}

std::vector<int> Existing(const int* peers, int count) {
  std::vector<int> existing;
  for (int i = 0; i < count && peers[i] >= 0; i++) existing.push_back(peers[i]);
  return existing;
}

// Sums go up the tree and results down, both at the same time.
void TreeAllReduce(Block& block, int protocol, const CollWork& work, const Operation& operation) {
  const ChannelPart part = PartOf(block, work, protocol, operation.element_bytes);
  PrimitivesArgs args;
  args.input = work.send_buffer;
  args.output = work.recv_buffer;
  args.operation = operation;
  if (block.tree_up == -1) {
    args.recv_peers = args.send_peers = Existing(block.tree_down, 2);
    const auto root = MakePrimitives(block, protocol, args);
    ForEachChunk(block, part,
                 [&](int64_t at, int64_t size) { root->RecvReduceCopySend(at, at, size); });
    return;
  }
  const std::vector<int> children = Existing(block.tree_down, 3);
  const auto reduce_up = [&] {
    PrimitivesArgs up_args = args;
    up_args.recv_peers = children;
    up_args.send_peers = {block.tree_up};
    const auto up = MakePrimitives(block, protocol, up_args);
    ForEachChunk(block, part, [&](int64_t at, int64_t size) {
      children.empty() ? up->Send(at, size) : up->RecvReduceSend(at, size);
    });
  };
  const auto spread_down = [&] {
    PrimitivesArgs down_args = args;
    down_args.recv_peers = {block.tree_up};
    down_args.send_peers = children;
    const auto down = MakePrimitives(block, protocol, down_args);
    ForEachChunk(block, part, [&](int64_t at, int64_t size) {
      children.empty() ? down->Recv(at, size) : down->RecvCopySend(at, size);
    });
  };
  RunSideBySide({reduce_up, spread_down});
}

void RingAllGather(Block& block, int protocol, const CollWork& work, const Operation& operation) {
  const int ranks = block.grid->ranks;
  const ChannelPart part = PartOf(block, work, protocol, operation.element_bytes);
  const auto primitives =
      MakePrimitives(block, protocol, RingArgs(block, work, operation, kChunkSteps, kSliceSteps));
  ForEachChunk(block, part, [&](int64_t at, int64_t size) {
    const auto out = [&](int place) { return at + block.ring_ranks[place] * part.total; };
    const bool in_place = work.send_buffer + at == work.recv_buffer + out(0);
    in_place ? primitives->Send(at, size) : primitives->CopySend(at, out(0), size);
    for (int j = 1; j < ranks - 1; j++) primitives->RecvCopySend(out(ranks - j), size);
    primitives->Recv(out(1), size);
  });
}

void RingReduceScatter(Block& block, int protocol, const CollWork& work,
                       const Operation& operation) {
  const int ranks = block.grid->ranks;
  const ChannelPart part = PartOf(block, work, protocol, operation.element_bytes);
  const auto primitives =
      MakePrimitives(block, protocol, RingArgs(block, work, operation, kChunkSteps, kSliceSteps));
  ForEachChunk(block, part, [&](int64_t at, int64_t size) {
    const auto in = [&](int place) { return at + block.ring_ranks[place] * part.total; };
    primitives->Send(in(ranks - 1), size);
    for (int j = 2; j < ranks; j++) primitives->RecvReduceSend(in(ranks - j), size);
    primitives->RecvReduceCopy(in(0), at, size);
  });
}

void RingBroadcast(Block& block, int protocol, const CollWork& work, const Operation& operation) {
  const ChannelPart part = PartOf(block, work, protocol, operation.element_bytes);
  const auto primitives = MakePrimitives(block, protocol, RingArgs(block, work, operation, 1, 1));
  const bool is_root = block.ring_ranks[0] == work.root;
  const bool is_last = block.ring_ranks[1] == work.root;
  ForEachChunk(block, part, [&](int64_t at, int64_t size) {
    if (is_root && work.send_buffer == work.recv_buffer) {
      primitives->Send(at, size);
    } else if (is_root) {
      primitives->CopySend(at, at, size);
    } else if (is_last) {
      primitives->Recv(at, size);
    } else {
      primitives->RecvCopySend(at, size);
    }
  });
}

void RingReduce(Block& block, int protocol, const CollWork& work, const Operation& operation) {
  const ChannelPart part = PartOf(block, work, protocol, operation.element_bytes);
  const auto primitives = MakePrimitives(block, protocol, RingArgs(block, work, operation, 1, 1));
  const bool is_first = block.ring_ranks[block.grid->ranks - 1] == work.root;
  const bool is_root = block.grid->rank == work.root;
  ForEachChunk(block, part, [&](int64_t at, int64_t size) {
    if (is_first) {
      primitives->Send(at, size);
    } else if (is_root) {
      primitives->RecvReduceCopy(at, at, size);
    } else {
      primitives->RecvReduceSend(at, size);
    }
  });
}

Operation OperationOf(const Block& block, const Function& function, const CollWork& work) {
  Operation operation{function.reduction, function.type, work.red_op_arg, BytesOf(function.type)};
  const bool takes_argument = function.reduction == kMinMax || function.reduction == kPreMulSum ||
                              function.reduction == kSumPostDiv;
  if (work.arg_is_pointer && takes_argument) {
    const int bytes = function.reduction == kSumPostDiv ? 8 : operation.element_bytes;
    operation.argument = 0;
    memcpy(&operation.argument, reinterpret_cast<void*>(work.red_op_arg),
           static_cast<size_t>(bytes));
  }
  if (block.grid->layout->signed_post_div && function.reduction == kSumPostDiv) {
    operation.argument = operation.argument << 1 | (IsSigned(function.type) ? 1u : 0u);
  }
  return operation;
}

using AlgorithmFunction = void (*)(Block&, int protocol, const CollWork&, const Operation&);

// Null if it is not emulated.
AlgorithmFunction AlgorithmOf(const Function& function) {
  const bool ring = function.algorithm == kRing;
  switch (function.collective) {
    case kAllReduce:
      return ring ? RingAllReduce : function.algorithm == kTree ? TreeAllReduce : nullptr;
    case kAllGather:
      return ring ? RingAllGather : nullptr;
    case kReduceScatter:
      return ring ? RingReduceScatter : nullptr;
    case kBroadcast:
      return ring ? RingBroadcast : nullptr;
    case kReduce:
      return ring ? RingReduce : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

bool RunCollective(Block& block, const Function& function, const CollWork& work) {
  if (work.registered) return false;
  const Operation operation = OperationOf(block, function, work);
  if (function.algorithm == kPat) {
    const ChannelPart part = PartOf(block, work, kProtoSimple, operation.element_bytes);
    return RunPat(block, function.collective, work, operation, part);
  }
  const AlgorithmFunction algorithm = AlgorithmOf(function);
  if (algorithm == nullptr) return false;
  algorithm(block, function.protocol, work, operation);
  return true;
}

void RunBroadcastBatch(Block& block, int protocol, BroadcastWork* works, int count) {
  using Buffer = Move::Buffer;
  const Operation copy{kCopy, kU8, 0, 1};
  const auto primitives = MakePrimitives(block, protocol, RingArgs(block, {}, copy, 1, 1));
  for (bool left = true; left && !block.aborted;) {
    left = false;
    for (int i = 0; i < count; i++) {
      BroadcastWork& work = works[i];
      const auto size =
          static_cast<int64_t>(std::min(work.bytes, static_cast<uint64_t>(work.chunk_size)));
      if (size <= 0) continue;
      const bool is_root = work.ring_depth == 0;
      const bool is_last = work.ring_depth == block.grid->ranks - 1;
      const bool in_place = is_root && work.send_buffer == work.recv_buffer;
      const auto at = static_cast<int64_t>(work.bytes_done);
      primitives->SetBuffers(work.send_buffer, work.recv_buffer);
      primitives->Run({.receive = !is_root,
                       .send = !is_last,
                       .source = is_root ? Buffer::kInput : Buffer::kNone,
                       .destination = in_place ? Buffer::kNone : Buffer::kOutput,
                       .source_at = at,
                       .destination_at = at,
                       .elements = size});
      work.bytes -= static_cast<uint64_t>(size);
      work.bytes_done += static_cast<uint64_t>(size);
      left = left || work.bytes != 0;
    }
  }
}

}  // namespace chokepoint::softgpu::emu
