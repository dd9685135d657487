// A world for the emulator without NCCL: ranks in one process with the device structs of NCCL 2.28,
// and a thread that plays all proxies of the network transport. It must not know what the kernels
// compute.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "tests/softgpu/emu/device_structs.h"

namespace chokepoint::softgpu::emu {

// Small buffers, so that messages take many steps.
constexpr int kBufferSizes[kProtocols] = {8 * 64 * 16, 8 * 32 * 128, 8 * 8192};
constexpr int kP2pChunkBytes = 4096;
constexpr int kMockVersion = 22809;

template <class T>
void Poke(void* base, int64_t offset, T value) {
  memcpy(static_cast<char*>(base) + offset, &value, sizeof value);
}

// One side's memory of a connection.
struct ConnectionMemory {
  explicit ConnectionMemory(uint64_t first_step);
  char* Buffer(int protocol);

  alignas(128) uint64_t tail;
  ConnFifo fifo[kSteps];
  alignas(128) uint64_t head;

 private:
  std::vector<char> storage_[kProtocols];
};

// One direction between two ranks on a channel, with the proxies' work.
class Connection {
 public:
  Connection(int from, int to, uint64_t first_step);
  void Attach(ConnInfo* send, ConnInfo* recv);
  // Begins an operation: chunks of that many steps. Only rings have chunks of several steps.
  void Begin(int chunk_steps, int ranks);
  // Moves a slice if there is one; false if nothing could be done.
  bool Poll(int protocol, int slice_steps);

 private:
  bool HasArrived(const char* data, int protocol, int64_t bytes) const;

  const int from_;
  const int to_;
  ConnectionMemory sender_;
  ConnectionMemory receiver_;
  uint64_t step_;
};

struct MockRank {
  std::vector<char> comm_storage;
  std::vector<std::vector<ChannelPeer*>> peers;  // by channel, rank
  std::vector<std::unique_ptr<ChannelPeer>> peer_storage;
  std::vector<int> ring_ranks;
  std::vector<DeviceProfiler> started;
  std::vector<DeviceProfiler> completed;
  uint32_t abort_flag = 0;
  char* Comm();
};

// What a kernel's transfers look like to the proxies.
struct Traffic {
  int connection;
  int protocol;
  int slice_steps;
  int chunk_steps;
};

class World {
 public:
  World(int ranks, int channels, uint64_t first_step);

  // Runs one kernel on each rank, with the parameters that make(rank) gives.
  void Run(const Traffic& traffic, const std::function<std::vector<char>(int)>& make);
  // Whether the profiler's counters of all channels have reached the work counter.
  bool ProfilerIsUpToDate();

  int ranks() const { return ranks_; }
  int channels() const { return channels_; }
  char* Comm(int rank) { return all_[static_cast<size_t>(rank)].Comm(); }

 private:
  void FillComm(int rank);
  void FillChannel(int rank, int channel);
  void Connect(uint64_t first_step);

  const int ranks_;
  const int channels_;
  std::vector<MockRank> all_;
  std::vector<std::unique_ptr<Connection>> connections_[kConnectionsPerPeer];
};

}  // namespace chokepoint::softgpu::emu
