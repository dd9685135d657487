// FakeRank: one rank of a communicator that plays whole operations the way NCCL of its interface
// version does. Must not assert: tests read the trace.
#pragma once

#include <cstdint>

#include "tests/fakes/fake_nccl.h"

namespace chokepoint::tests {

class FakeRank {
 public:
  FakeRank(FakeProfiler* profiler, const FakeCommunicator& communicator);

  FakeProfiler& profiler() { return *profiler_; }
  void* context() const { return context_; }
  int mask() const { return mask_; }
  bool asks_kernels() const { return (static_cast<unsigned>(mask_) & ncclProfileKernelCh) != 0; }
  int version() const { return profiler_->version(); }

  // The host's events of one operation: API call (v5 and later), group, operation, all stopped.
  // Returns the operation's handle. `event` needs type Coll or P2p and what belongs to it.
  void* HandOver(FakeEvent event);
  // Several operations in one group call and one launch group. At most 64.
  void HandOverGroup(const FakeEvent* events, int count, void** operations);
  // Kernels of channels 0 .. channels-1; each begins `start_ns` + channel and ends `end_ns` +
  // channel.
  void RunKernels(void* operation, int channels, std::uint64_t start_ns, std::uint64_t end_ns);
  void* StartKernel(void* operation, int channel, std::uint64_t start_ns);
  void StopKernel(void* kernel, std::uint64_t end_ns);

  void* StartProxy(void* operation, FakeEvent event);  // pid is filled in if 0
  void* StartStep(void* proxy, int step);
  void State(void* handle, int state) { profiler_->State(handle, state, nullptr); }
  void State(void* handle, int state, std::size_t bytes) {
    const FakeStateArgs args{.bytes = bytes};
    profiler_->State(handle, state, &args);
  }
  void Stop(void* handle) { profiler_->Stop(handle); }
  void Finalize() { profiler_->Finalize(context_); }

  static FakeEvent Collective(const char* function, std::uint64_t sequence, std::size_t count,
                              std::uint8_t channels = 1);
  static FakeEvent PointToPoint(const char* function, int peer, std::size_t count,
                                std::uint8_t channels = 1);
  static FakeEvent Proxy(bool send, int peer, int channel, int steps);

 private:
  FakeProfiler* profiler_;
  FakeCommunicator communicator_;
  void* context_ = nullptr;
  int mask_ = 0;
};

}  // namespace chokepoint::tests
