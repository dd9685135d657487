// The structs that NCCL's host library and its device code share and that are the same in 2.23
// to 2.30. It must not contain anything that depends on NCCL's version: that is layout.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chokepoint::softgpu::emu {

enum Protocol { kProtoLL = 0, kProtoLL128 = 1, kProtoSimple = 2, kProtocols = 3 };

constexpr int kSteps = 8;  // slots of a connection's buffer and FIFO
constexpr int kConnectionsPerPeer = 2;
constexpr int kRingConnection = 0;  // rings, trees, PAT
constexpr int kP2pConnection = 1;

// ConnFifo::mode: the slot says where in the buffer its data are.
constexpr int kFifoOffset = 1;
// WorkBatch::work_type()
enum WorkType { kWorkP2p = 0, kWorkColl = 1, kWorkCollReg = 2, kWorkBcast = 3 };
// KernelArgs::storage_type
enum WorkStorage { kStoreArgs = 0, kStoreFifo = 1, kStorePersistent = 2 };

// One slot of the FIFO between a kernel and its proxy.
struct ConnFifo {
  int32_t mode;
  int32_t offset;
  int64_t size;  // -1: empty
  void* ptr;
};
static_assert(sizeof(ConnFifo) == 24);

// One direction of a connection to one peer.
struct ConnInfo {
  char* buffs[kProtocols];
  void* mhandles[kProtocols];
  uint64_t* tail;  // advanced by the sender
  uint64_t* head;  // advanced by the receiver
  int32_t flags;
  int32_t shared;
  int32_t step_size;
  int32_t padding;
  void** ptr_exchange;
  uint64_t* red_op_arg_exchange;
  ConnFifo* fifo;  // null: the peer is reached without a proxy
  uint64_t step;   // where the next operation begins
  uint64_t ll_last_cleaning;
  struct {
    int32_t type;
    int32_t version;
    void* handle;
    size_t size;
    int32_t needs_proxy_progress;
    int32_t padding;
  } net_device;
};
static_assert(sizeof(ConnInfo) == 152 && offsetof(ConnInfo, tail) == 48 &&
              offsetof(ConnInfo, flags) == 64 && offsetof(ConnInfo, fifo) == 96 &&
              offsetof(ConnInfo, step) == 104);

struct ChannelPeer {
  ConnInfo send[kConnectionsPerPeer];
  ConnInfo recv[kConnectionsPerPeer];
};
static_assert(sizeof(ChannelPeer) == 608);

// Protocol LL: two halves of data, each with a flag.
union LLLine {
  struct {
    uint32_t data1, flag1, data2, flag2;
  } parts;
  uint64_t words[2];
};
static_assert(sizeof(LLLine) == 16);

// What the profiler's kernel events come from: a ring of time stamps per channel.
constexpr int kProfilerSlots = 64;
struct ProfilerSlot {
  uint64_t counter;
  uint64_t timestamp;
};
struct DeviceProfiler {
  ProfilerSlot slots[kProfilerSlots];
};
static_assert(sizeof(DeviceProfiler) == 1024);

// The kernel's parameters; work batches follow.
struct KernelArgs {
  char* comm;
  uint64_t channel_mask;
  uint8_t storage_type;
  uint8_t padding[3];
  uint32_t work_mask;
  char* work_buffer;
};
static_assert(sizeof(KernelArgs) == 32 && offsetof(KernelArgs, work_mask) == 20);

// Works that one block runs with one device function.
struct WorkBatch {
  uint32_t bits;  // next_jump 14, next_extends 1, work_type 2, function_id 15
  uint32_t offset_base;
  uint64_t offset_bitset;

  uint32_t next_jump() const { return bits & 0x3fff; }
  bool next_extends() const { return ((bits >> 14) & 1) != 0; }
  int work_type() const { return static_cast<int>((bits >> 15) & 3); }
  int function_id() const { return static_cast<int>(bits >> 17); }
};
static_assert(sizeof(WorkBatch) == 16);

// A send and a receive, of which either may be absent.
struct P2pWork {
  char* send_address;
  char* recv_address;
  uint64_t send_bytes;
  uint64_t recv_bytes;
  int32_t send_rank;
  int32_t recv_rank;
  uint8_t p2p_channels;
  uint8_t channel_base;
  uint8_t send_channels;
  uint8_t recv_channels;
  uint8_t send_chunk_fp8;
  uint8_t recv_chunk_fp8;
  uint8_t bits;
  uint8_t padding;

  bool send_ll() const { return (bits & 0x01) != 0; }
  bool recv_ll() const { return (bits & 0x02) != 0; }
  bool registered() const {
    return (bits & 0x3c) != 0;
  }  // for direct access by peers or the network
  bool profiled() const { return (bits & 0x40) != 0; }
};
static_assert(sizeof(P2pWork) == 48);

// One of several grouped broadcasts (2.29, 2.30).
struct BroadcastWork {
  int32_t ring_depth;  // how far behind the root this rank is
  int32_t chunk_size;
  char* send_buffer;
  char* recv_buffer;
  uint64_t bytes;
  uint64_t bytes_done;
  uint8_t padding[8];
};
static_assert(sizeof(BroadcastWork) == 48);

}  // namespace chokepoint::softgpu::emu
