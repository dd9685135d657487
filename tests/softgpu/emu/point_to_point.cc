// A channel's part of sends and receives: each side of each work is a fiber of its own.
// It must not serialise them: a send may wait for a receive of the same batch.
#include "tests/softgpu/emu/point_to_point.h"

#include <algorithm>
#include <cstring>

#include "tests/softgpu/emu/primitives.h"

namespace chokepoint::softgpu::emu {
namespace {

constexpr int64_t kPartGranularity = 4096;
const Operation kCopyBytes{kCopy, kU8, 0, 1};

// Chunk sizes come as floats of 8 bits: 3 bits below the leading one.
int64_t DecodeChunk(uint8_t bits) {
  const int exponent = bits >> 3;
  const int64_t mantissa = bits & 7;
  return exponent == 0 ? mantissa : (mantissa | 8) << (exponent - 1);
}

// Moves at least one step, even for 0 bytes: the peer waits for it.
template <class Step>
void ForEachChunk(const Block& block, int64_t bytes, int64_t chunk, Step step) {
  int64_t done = 0;
  do {
    const int64_t size = std::min(chunk, bytes - done);
    step(done, size);
    done += size;
  } while (done < bytes && !block.aborted);
}

void SendSide(Block& block, const P2pWork& work) {
  PrimitivesArgs args;
  args.send_peers = {work.send_rank};
  args.input = work.send_address;
  args.operation = kCopyBytes;
  args.connection = kP2pConnection;
  args.step_elements = block.grid->p2p_chunk_size;
  const auto primitives = MakePrimitives(block, work.send_ll() ? kProtoLL : kProtoSimple, args);
  ForEachChunk(block, static_cast<int64_t>(work.send_bytes), DecodeChunk(work.send_chunk_fp8),
               [&](int64_t at, int64_t size) { primitives->Send(at, size); });
}

void RecvSide(Block& block, const P2pWork& work) {
  PrimitivesArgs args;
  args.recv_peers = {work.recv_rank};
  args.output = work.recv_address;
  args.operation = kCopyBytes;
  args.connection = kP2pConnection;
  args.step_elements = block.grid->p2p_chunk_size;
  const auto primitives = MakePrimitives(block, work.recv_ll() ? kProtoLL : kProtoSimple, args);
  ForEachChunk(block, static_cast<int64_t>(work.recv_bytes), DecodeChunk(work.recv_chunk_fp8),
               [&](int64_t at, int64_t size) { primitives->Recv(at, size); });
}

int ReverseBits(int value, int bits) {
  int reversed = 0;
  for (int i = 0; i < bits; i++) reversed |= ((value >> i) & 1) << (bits - 1 - i);
  return reversed;
}

// Which part of the message this channel moves.
int PartOf(const Block& block, const P2pWork& work) {
  const int place = (block.channel_id - work.channel_base) & (work.p2p_channels - 1);
  if (!block.grid->layout->p2p_bit_reversed) return place;
  int bits = 0;
  while ((1 << bits) < work.p2p_channels) bits++;
  return ReverseBits(place, bits);
}

// Narrows a buffer down to one of its parts.
void Cut(int part, int parts, char** address, uint64_t* bytes) {
  if (parts == 0) return;
  const auto all = static_cast<int64_t>(*bytes);
  const int64_t size = RoundUp(DivideUp(all, parts), kPartGranularity);
  const int64_t begin = std::min(part * size, all);
  const int64_t end = std::min((part + 1) * size, all);
  *address += begin;
  *bytes = static_cast<uint64_t>(end - begin);
}

}  // namespace

bool RunP2pBatch(Block& block, std::vector<P2pWork> works) {
  for (const P2pWork& work : works) {
    if (work.registered()) return false;
  }
  std::vector<std::function<void()>> sides;
  for (P2pWork& work : works) {
    const int part = PartOf(block, work);
    Cut(part, work.send_channels, &work.send_address, &work.send_bytes);
    Cut(part, work.recv_channels, &work.recv_address, &work.recv_bytes);
    if (work.send_rank == block.grid->rank) {  // to oneself
      if (work.send_address != work.recv_address && work.send_bytes != 0) {
        memmove(work.recv_address, work.send_address, work.send_bytes);
      }
      continue;
    }
    if (part < work.send_channels) sides.push_back([&block, &work] { SendSide(block, work); });
    if (part < work.recv_channels) sides.push_back([&block, &work] { RecvSide(block, work); });
  }
  if (!sides.empty()) RunSideBySide(std::move(sides));
  return true;
}

}  // namespace chokepoint::softgpu::emu
