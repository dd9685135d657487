// Calls a profiler table the way NCCL does, for benchmarks: descriptors on the stack, nothing in
// between. Must not be slower than NCCL's own side: everything is inline.
#pragma once

#include <dlfcn.h>

#include <string>

#include "plugin/abi/profiler_abi.h"

namespace chokepoint::bench {

inline void IgnoreLog(ncclDebugLogLevel, unsigned long, const char*, int, const char*, ...) {}

template <class TableT, class DescrT, class ArgsT, int kNumber>
struct ProfilerCalls {
  using Descr = DescrT;
  using Args = ArgsT;
  static constexpr int kVersion = kNumber;
  static constexpr bool kHasApi = kNumber >= 5;
  static constexpr bool kHasKernels = kNumber >= 4;

  const TableT* table = nullptr;
  void* context = nullptr;
  int mask = 0;

  bool Open(const char* library) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return false;
    table = static_cast<const TableT*>(
        dlsym(handle, ("ncclProfiler_v" + std::to_string(kNumber)).c_str()));
    if (table == nullptr) return false;
    if constexpr (kNumber <= 3)
      table->init(&context, &mask);
    else if constexpr (kNumber == 4)
      table->init(&context, &mask, nullptr, 1, 1, 2, 0, &IgnoreLog);
    else
      table->init(&context, 1, &mask, nullptr, 1, 2, 0, &IgnoreLog);
    return true;
  }

  template <class Fill>
  void* Start(std::uint64_t type, void* parent, Fill fill) const {
    Descr descr;
    descr.type = static_cast<decltype(descr.type)>(type);
    descr.parentObj = parent;
    descr.rank = 0;
    fill(descr);
    void* handle = nullptr;
    table->startEvent(context, &handle, &descr);
    return handle;
  }
  void Stop(void* handle) const { table->stopEvent(handle); }
  void State(void* handle, int state, Args* args) const {
    table->recordEventState(handle, state, args);
  }

  void* StartCollective(void* call, void* group, std::uint64_t sequence,
                        std::uint8_t channels) const {
    return Start(ncclProfileColl, kHasApi ? call : group, [&](Descr& descr) {
      if constexpr (kNumber == 1) {
        descr.coll.func = 4;
        descr.coll.datatype = 7;
        descr.coll.algo = 1;
        descr.coll.proto = 2;
      } else {
        descr.coll.func = "AllReduce";
        descr.coll.datatype = "ncclFloat32";
        descr.coll.algo = "RING";
        descr.coll.proto = "SIMPLE";
      }
      descr.coll.seqNumber = sequence;
      descr.coll.count = 1 << 20;
      descr.coll.root = 0;
      if constexpr (requires { descr.coll.commHash; }) {
        descr.coll.commHash = 1;
        descr.coll.name = nullptr;
      }
      if constexpr (requires { descr.coll.nChannels; })
        descr.coll.nChannels = channels;
      else
        descr.coll.nMaxChannels = channels;
      if constexpr (requires { descr.coll.parentGroup; }) descr.coll.parentGroup = group;
    });
  }

  // The host's callbacks of one collective: the API call (v5 and later), the group, the collective.
  // 5 callbacks, or 4.
  void* HandOver(std::uint64_t sequence, std::uint8_t channels) const {
    void* call = nullptr;
    if constexpr (kHasApi) {
      call = Start(ncclProfileCollApi, nullptr, [](Descr& descr) {
        descr.collApi.func = "AllReduce";
        descr.collApi.datatype = "ncclFloat32";
        descr.collApi.count = 1 << 20;
        descr.collApi.graphCaptured = false;
      });
    }
    void* group = Start(ncclProfileGroup, nullptr, [](Descr&) {});
    void* operation = StartCollective(call, group, sequence, channels);
    Stop(operation);
    Stop(group);
    return operation;
  }
  static constexpr int kHandOverCallbacks = kHasApi ? 5 : 4;

  // 3 callbacks per channel.
  void RunKernels(void* operation, std::uint8_t channels, std::uint64_t now_ns) const {
    if constexpr (kHasKernels) {
      void* kernels[64];
      for (std::uint8_t i = 0; i < channels; ++i) {
        kernels[i] = Start(ncclProfileKernelCh, operation, [&](Descr& descr) {
          descr.kernelCh.channelId = i;
          descr.kernelCh.pTimer = now_ns;
        });
      }
      for (std::uint8_t i = 0; i < channels; ++i) {
        Args args;
        args.kernelCh.pTimer = now_ns + 100;
        State(kernels[i], ncclProfilerKernelChStop, &args);
        Stop(kernels[i]);
      }
    }
  }
};

#define CHOKEPOINT_CALLS(n)                                                              \
  using Calls##n = ProfilerCalls<ncclProfiler_v##n##_t, ncclProfilerEventDescr_v##n##_t, \
                                 ncclProfilerEventStateArgs_v##n##_t, n>;
CHOKEPOINT_CALLS(1)
CHOKEPOINT_CALLS(2)
CHOKEPOINT_CALLS(3)
CHOKEPOINT_CALLS(4)
CHOKEPOINT_CALLS(5)
CHOKEPOINT_CALLS(6)
CHOKEPOINT_CALLS(7)
#undef CHOKEPOINT_CALLS

}  // namespace chokepoint::bench
