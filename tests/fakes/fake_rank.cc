// The order of events, by interface version.
// Must not skip a stop that NCCL makes; tests that want less call the profiler themselves.
#include "tests/fakes/fake_rank.h"

#include <unistd.h>

namespace chokepoint::tests {

FakeRank::FakeRank(FakeProfiler* profiler, const FakeCommunicator& communicator)
    : profiler_(profiler), communicator_(communicator) {
  profiler_->Init(&context_, &mask_, communicator_);
}

void* FakeRank::HandOver(FakeEvent event) {
  void* operation = nullptr;
  HandOverGroup(&event, 1, &operation);
  return operation;
}

void FakeRank::HandOverGroup(const FakeEvent* events, int count, void** operations) {
  const bool api = version() >= 5;
  void* group_call = nullptr;
  void* calls[64] = {};
  if (api) {
    FakeEvent call{.type = ncclProfileGroupApi};
    call.graph_captured = events[0].graph_captured;
    call.group_depth = events[0].group_depth;
    group_call = profiler_->Start(context_, call);
    profiler_->State(group_call, 23, nullptr);
    for (int i = 0; i < count; ++i) {
      FakeEvent one = events[i];
      one.type = events[i].type == ncclProfileColl ? ncclProfileCollApi : ncclProfileP2pApi;
      one.parent = group_call;
      calls[i] = profiler_->Start(context_, one);
      profiler_->Stop(calls[i]);
    }
    profiler_->State(group_call, 24, nullptr);
  }
  void* group = profiler_->Start(context_, FakeEvent{.type = ncclProfileGroup});
  for (int i = 0; i < count; ++i) {
    FakeEvent one = events[i];
    one.parent = api ? calls[i] : group;
    one.group = group;
    one.rank = communicator_.rank;
    one.communicator_name = communicator_.name;
    one.communicator_hash = communicator_.id;
    operations[i] = profiler_->Start(context_, one);
  }
  for (int i = 0; i < count; ++i) profiler_->Stop(operations[i]);
  profiler_->Stop(group);
  if (api) profiler_->Stop(group_call);
}

void* FakeRank::StartKernel(void* operation, int channel, std::uint64_t start_ns) {
  FakeEvent event{.type = ncclProfileKernelCh, .parent = operation};
  event.channel = static_cast<std::uint8_t>(channel);
  event.timer_ns = start_ns;
  return profiler_->Start(context_, event);
}

void FakeRank::StopKernel(void* kernel, std::uint64_t end_ns) {
  const FakeStateArgs args{.timer_ns = end_ns};
  profiler_->State(kernel, ncclProfilerKernelChStop, &args);
  profiler_->Stop(kernel);
}

void FakeRank::RunKernels(void* operation, int channels, std::uint64_t start_ns,
                          std::uint64_t end_ns) {
  void* kernels[64] = {};
  for (int i = 0; i < channels; ++i)
    kernels[i] = StartKernel(operation, i, start_ns + static_cast<std::uint64_t>(i));
  for (int i = 0; i < channels; ++i) StopKernel(kernels[i], end_ns + static_cast<std::uint64_t>(i));
}

void* FakeRank::StartProxy(void* operation, FakeEvent event) {
  event.parent = operation;
  event.rank = communicator_.rank;
  if (event.pid == 0) event.pid = getpid();
  return profiler_->Start(context_, event);
}

void* FakeRank::StartStep(void* proxy, int step) {
  FakeEvent event{.type = ncclProfileProxyStep, .parent = proxy, .rank = communicator_.rank};
  event.step = step;
  return profiler_->Start(context_, event);
}

FakeEvent FakeRank::Collective(const char* function, std::uint64_t sequence, std::size_t count,
                               std::uint8_t channels) {
  FakeEvent event{.type = ncclProfileColl};
  event.function = function;
  event.sequence = sequence;
  event.count = count;
  event.channels = channels;
  return event;
}

FakeEvent FakeRank::PointToPoint(const char* function, int peer, std::size_t count,
                                 std::uint8_t channels) {
  FakeEvent event{.type = ncclProfileP2p};
  event.function = function;
  event.peer = peer;
  event.count = count;
  event.channels = channels;
  return event;
}

FakeEvent FakeRank::Proxy(bool send, int peer, int channel, int steps) {
  FakeEvent event{.type = ncclProfileProxyOp};
  event.send = send;
  event.peer = peer;
  event.channel = static_cast<std::uint8_t>(channel);
  event.steps = steps;
  event.chunk_bytes = 131072;
  return event;
}

}  // namespace chokepoint::tests
