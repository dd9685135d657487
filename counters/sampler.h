// Calls every reader of counters when it is due, measures what that costs, and slows down when it
// costs too much. Must not be called from the program's own threads, except for the notes at the
// end: they only leave a mark.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "counters/ethtool.h"
#include "counters/host.h"
#include "counters/leader.h"
#include "counters/netstat.h"
#include "counters/nic.h"
#include "counters/nvml.h"
#include "counters/process.h"
#include "counters/rdma.h"
#include "counters/sink.h"
#include "counters/storage.h"
#include "counters/sysfs.h"
#include "counters/tcp_sockets.h"
#include "counters/threads.h"

namespace chokepoint::counters {

struct SamplerOptions {
  const char* root = "";  // prefix of /proc and /sys: recorded trees in tests
  const char* leader_directory = "/dev/shm";
  const char* leader_scope =
      "";               // one leader per host and scope; StartSampler: "" is the trace's folder
  int local_rank = -1;  // decides who leads where no lock can be had
  bool host = true;     // take part in the election and record the host when elected
  bool tcp = true;      // follow this process's TCP sockets
  bool rdma = true;     // follow RDMA ports
  bool gpu = true;      // follow the GPUs of this process
  const char* nvml_library =
      nullptr;  // a stub's path in tests; null: NVIDIA's, if the program uses it
  const char* visible_devices = nullptr;  // CUDA_VISIBLE_DEVICES; null = not set
  bool own_thread = false;  // the calling thread does nothing else: its CPU time is the cost
  std::uint32_t interval_ms = 1000;
  Sink sink;
};

// Contract: Init, Tick and Finish on one thread; the Note functions on any, at any time.
class Sampler {
 public:
  void Init(const SamplerOptions& options) noexcept;
  // Does what is due at `now_ns` (CLOCK_MONOTONIC). Returns when it wants to be called again.
  std::uint64_t Tick(std::uint64_t now_ns) noexcept;
  // The last samples, the cost, and the end of leadership.
  void Finish(std::uint64_t now_ns) noexcept;
  // In a forked child: closes the inherited descriptors. The object is not used again.
  void ForgetAfterFork() noexcept;

  // An operation was slow: sockets are read at once. Wake the sampling thread after it.
  void NoteSlowOperation() noexcept { slow_operation_.store(true, std::memory_order_release); }
  // Communicators were made: there are new sockets.
  void NoteNewConnections() noexcept { new_connections_.store(true, std::memory_order_release); }
  // A thread that matters.
  void NotePinnedThread(std::uint32_t tid) noexcept;
  // An address of another rank.
  void NotePeer(const Address& address) noexcept;
  bool HasUrgentNote() const noexcept { return slow_operation_.load(std::memory_order_acquire); }

  const HostLeader& leader() const noexcept { return leader_; }
  std::uint64_t cpu_ns() const noexcept { return cost_.cpu_ns; }

 private:
  // A list that any thread appends to and the sampling thread reads.
  template <class Item, std::size_t kMost>
  struct NoteList {
    Item items[kMost];
    std::atomic<std::uint32_t> taken{0};
    std::atomic<bool> ready[kMost] = {};
    void Append(const Item& item) noexcept {
      const std::uint32_t place = taken.load(std::memory_order_relaxed) < kMost
                                      ? taken.fetch_add(1, std::memory_order_relaxed)
                                      : static_cast<std::uint32_t>(kMost);
      if (place >= kMost) return;
      items[place] = item;
      ready[place].store(true, std::memory_order_release);
    }
    std::uint32_t read = 0;
    bool Next(Item* item) noexcept {
      if (read >= kMost || !ready[read].load(std::memory_order_acquire)) return false;
      *item = items[read++];
      return true;
    }
  };

  Round MakeRound(std::uint64_t now_ns) noexcept;
  void TakeNotes(std::uint64_t now_ticks) noexcept;
  void SampleProcess(const Round& round) noexcept;
  void SampleHost(const Round& round) noexcept;
  void SampleGpu(const Round& round) noexcept;
  void Elect(const Round& round) noexcept;
  void RecordRole(std::uint64_t now_ticks, bool ending) noexcept;
  void RecordCost(const Round& round) noexcept;
  void RecordFacts() noexcept;
  void RepeatIdentities() noexcept;
  void KeepBudget(std::uint64_t now_ns) noexcept;
  void BeginTick(std::uint64_t now_ns) noexcept;
  void EndTick() noexcept;

  SamplerOptions options_;
  SysTree tree_;
  CgroupPaths cgroup_;
  HostLeader leader_;
  bool was_leader_ = false;
  std::uint64_t network_namespace_ = 0;

  TcpSockets tcp_;
  ProcessReader process_;
  ThreadReader threads_;
  CpuReader cpu_;
  SoftnetReader softnet_;
  MemoryReader memory_;
  PressureReader pressure_;
  DiskReader disk_;
  MountReader mount_;
  NetstatReader netstat_;
  NicReader nic_;
  EthtoolReader ethtool_;
  RdmaReader rdma_;
  NvmlReader gpu_;

  std::atomic<bool> slow_operation_{false};
  std::atomic<bool> new_connections_{false};
  NoteList<std::uint32_t, 64> pinned_;
  NoteList<Address, 256> peers_;

  std::uint32_t interval_ms_ = 1000;
  std::uint64_t start_ns_ = 0;
  std::uint64_t due_ns_ = 0;
  std::uint64_t quarter_ = 0;  // ticks since the start: four an interval
  std::uint64_t process_rounds_ = 0;
  std::uint64_t gpu_rounds_ = 0;
  int rounds_to_queue_pairs_ = 30;  // when the ports in use are looked for; -1 = not
  std::uint64_t host_rounds_ = 0;   // since this process leads
  trace::SamplerCost cost_;
  std::uint64_t tick_start_ns_ = 0;
  std::uint64_t tick_cpu_ns_ = 0;
  std::uint64_t window_start_ns_ = 0;
  std::uint64_t window_cpu_ns_ = 0;
  int slow_in_a_row_ = 0;
  int good_windows_ = 0;

  char buffer_[512 * 1024];
};

}  // namespace chokepoint::counters
