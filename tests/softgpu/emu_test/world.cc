// Builds the structs and plays the proxies.
// It must not use the emulator's own decoding: the offsets are written down here once more.
#include "tests/softgpu/emu_test/world.h"

#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/softgpu/emu/emulator.h"

namespace chokepoint::softgpu::emu {
namespace {

constexpr int kAlignment = 128;
// NCCL 2.28: communicator of 88 bytes, channels from 96 on.
constexpr int kChannelsAt = 96, kChannelBytes = 368, kMaxChannels = 64, kWorkCounterAt = 352;
constexpr char kKernelName[] = "_Z22ncclDevKernel_Generic24ncclDevKernelArgsStorageILm4096EE";

size_t Index(int i) { return static_cast<size_t>(i); }

char* Align(char* p, uintptr_t alignment) {
  return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(p) + alignment - 1) &
                                 ~(alignment - 1));
}

}  // namespace

ConnectionMemory::ConnectionMemory(uint64_t first_step) : tail(first_step), head(first_step) {
  for (ConnFifo& slot : fifo) slot = {0, -1, -1, nullptr};
  for (int p = 0; p < kProtocols; p++) storage_[p].resize(Index(kBufferSizes[p] + kAlignment));
}

char* ConnectionMemory::Buffer(int protocol) {
  return Align(storage_[protocol].data(), kAlignment);
}

Connection::Connection(int from, int to, uint64_t first_step)
    : from_(from), to_(to), sender_(first_step), receiver_(first_step), step_(first_step) {}

void Connection::Attach(ConnInfo* send, ConnInfo* recv) {
  const auto attach = [this](ConnInfo* info, ConnectionMemory* memory) {
    for (int p = 0; p < kProtocols; p++) info->buffs[p] = memory->Buffer(p);
    info->tail = &memory->tail;
    info->head = &memory->head;
    info->step_size = kBufferSizes[kProtoSimple] / kSteps;
    info->fifo = memory->fifo;
    info->step = step_;
  };
  attach(send, &sender_);
  attach(recv, &receiver_);
}

void Connection::Begin(int chunk_steps, int ranks) {
  const auto steps = static_cast<uint64_t>(chunk_steps);
  if (chunk_steps == 1 || to_ == (from_ + 1) % ranks) step_ = (step_ + steps - 1) / steps * steps;
}

// As a proxy sees that LL and LL128 lines are complete.
bool Connection::HasArrived(const char* data, int protocol, int64_t bytes) const {
  if (protocol == kProtoLL) {
    const auto* const lines = reinterpret_cast<const LLLine*>(data);
    const auto flag = static_cast<uint32_t>(step_ + 1);
    for (int64_t i = 0; i < bytes / 16; i++) {
      if (lines[i].parts.flag1 != flag || lines[i].parts.flag2 != flag) return false;
    }
  }
  if (protocol == kProtoLL128) {
    const auto* const words = reinterpret_cast<const uint64_t*>(data);
    for (int64_t i = 0; i < bytes / 128; i++) {
      if (words[i * 16 + 15] != step_ + 1) return false;
    }
  }
  return true;
}

bool Connection::Poll(int protocol, int slice_steps) {
  const uint64_t slot = step_ % kSteps;
  const auto slice = static_cast<uint64_t>(slice_steps);
  const int64_t size = __atomic_load_n(&sender_.fifo[slot].size, __ATOMIC_ACQUIRE);
  if (size == -1) return false;
  if (protocol != kProtoLL && __atomic_load_n(&sender_.tail, __ATOMIC_ACQUIRE) <= step_)
    return false;
  if (__atomic_load_n(&receiver_.head, __ATOMIC_ACQUIRE) + kSteps < step_ + slice) return false;
  const int64_t step_bytes = kBufferSizes[protocol] / kSteps;
  const int64_t at = static_cast<int64_t>(slot) * step_bytes;
  if (size > step_bytes * slice_steps) {
    fprintf(stderr, "a slice of %lld bytes is too large\n", static_cast<long long>(size));
    abort();
  }
  const char* const data = sender_.Buffer(protocol) + at;
  if (!HasArrived(data, protocol, size)) return false;
  memcpy(receiver_.Buffer(protocol) + at, data, static_cast<size_t>(size));
  __atomic_store_n(&receiver_.fifo[slot].size, -1, __ATOMIC_SEQ_CST);
  __atomic_store_n(&receiver_.tail, step_ + slice, __ATOMIC_SEQ_CST);
  __atomic_store_n(&sender_.fifo[slot].size, -1, __ATOMIC_SEQ_CST);
  step_ += slice;
  __atomic_store_n(&sender_.head, step_, __ATOMIC_SEQ_CST);
  return true;
}

char* MockRank::Comm() { return Align(comm_storage.data(), 16); }

World::World(int ranks, int channels, uint64_t first_step)
    : ranks_(ranks), channels_(channels), all_(Index(ranks)) {
  for (int rank = 0; rank < ranks; rank++) {
    FillComm(rank);
    for (int channel = 0; channel < channels; channel++) FillChannel(rank, channel);
  }
  Connect(first_step);
}

void World::FillComm(int rank) {
  MockRank& mock = all_[Index(rank)];
  mock.comm_storage.resize(kChannelsAt + kMaxChannels * kChannelBytes + 16);
  mock.started.resize(kMaxChannels);
  mock.completed.resize(kMaxChannels);
  for (int i = 0; i < ranks_; i++) mock.ring_ranks.push_back((rank + i) % ranks_);
  mock.peers.resize(Index(channels_));
  char* const comm = mock.Comm();
  Poke(comm, 0, rank);
  Poke(comm, 4, ranks_);
  Poke(comm, 8, rank);  // a node each
  Poke(comm, 12, ranks_);
  for (int p = 0; p < kProtocols; p++) Poke(comm, 16 + 4 * p, kBufferSizes[p]);
  Poke(comm, 28, kP2pChunkBytes);
  Poke(comm, 48, &mock.abort_flag);
  Poke(comm, 56, comm + kChannelsAt);
  Poke(comm, 72, mock.started.data());
  Poke(comm, 80, mock.completed.data());
}

void World::FillChannel(int rank, int channel) {
  MockRank& mock = all_[Index(rank)];
  std::vector<ChannelPeer*>& peers = mock.peers[Index(channel)];
  for (int peer = 0; peer < ranks_; peer++) {
    mock.peer_storage.push_back(std::make_unique<ChannelPeer>());
    peers.push_back(mock.peer_storage.back().get());
  }
  const auto child = [&](int which) {
    const int at = 2 * rank + 1 + which;
    return at < ranks_ ? at : -1;
  };
  char* const at = mock.Comm() + kChannelsAt + channel * kChannelBytes;
  Poke(at, 0, peers.data());
  Poke(at, 8, (rank + ranks_ - 1) % ranks_);
  Poke(at, 12, (rank + 1) % ranks_);
  Poke(at, 16, mock.ring_ranks.data());
  Poke(at, 24, rank);
  Poke(at, 32, 1);  // tree: depth, up, three down
  Poke(at, 36, rank == 0 ? -1 : (rank - 1) / 2);
  Poke(at, 40, child(0));
  Poke(at, 44, child(1));
  Poke(at, 48, -1);
}

void World::Connect(uint64_t first_step) {
  for (int channel = 0; channel < channels_; channel++) {
    for (int from = 0; from < ranks_; from++) {
      for (int to = 0; to < ranks_; to++) {
        if (from == to) continue;
        ChannelPeer* const sender = all_[Index(from)].peers[Index(channel)][Index(to)];
        ChannelPeer* const receiver = all_[Index(to)].peers[Index(channel)][Index(from)];
        for (int which = 0; which < kConnectionsPerPeer; which++) {
          connections_[which].push_back(std::make_unique<Connection>(from, to, first_step));
          connections_[which].back()->Attach(&sender->send[which], &receiver->recv[which]);
        }
      }
    }
  }
}

void World::Run(const Traffic& traffic, const std::function<std::vector<char>(int)>& make) {
  auto& connections = connections_[traffic.connection];
  for (auto& connection : connections) connection->Begin(traffic.chunk_steps, ranks_);
  std::atomic<int> left{ranks_};
  std::vector<std::thread> kernels;
  for (int rank = 0; rank < ranks_; rank++) {
    kernels.emplace_back([&, rank] {
      const std::vector<char> args = make(rank);
      RunKernel(kKernelName, args.data(), args.size(), static_cast<unsigned>(channels_));
      left--;
    });
  }
  std::thread proxy([&] {
    while (left > 0) {
      bool moved = false;
      for (auto& connection : connections) {
        moved = connection->Poll(traffic.protocol, traffic.slice_steps) || moved;
      }
      if (!moved) sched_yield();
    }
  });
  for (std::thread& kernel : kernels) kernel.join();
  proxy.join();
}

bool World::ProfilerIsUpToDate() {
  for (MockRank& mock : all_) {
    for (int channel = 0; channel < channels_; channel++) {
      uint64_t counter = 0;
      memcpy(&counter, mock.Comm() + kChannelsAt + channel * kChannelBytes + kWorkCounterAt,
             sizeof counter);
      const ProfilerSlot& start = mock.started[Index(channel)].slots[counter % kProfilerSlots];
      const ProfilerSlot& end = mock.completed[Index(channel)].slots[counter % kProfilerSlots];
      if (counter == 0 || start.counter != counter || end.counter != counter) return false;
      if (end.timestamp < start.timestamp) return false;
    }
  }
  return true;
}

}  // namespace chokepoint::softgpu::emu
