// NCCL's five calls, for any interface version: sorts events by type and hands them on.
// Must not record anything itself.
#pragma once

#include <cstdint>

#include "plugin/abi/profiler_abi.h"
#include "plugin/api_calls.h"
#include "plugin/copy_engine.h"
#include "plugin/groups.h"
#include "plugin/operations.h"
#include "plugin/plugin_start.h"
#include "plugin/profiler_decode.h"
#include "plugin/proxy.h"
#include "trace/recorder.h"

namespace chokepoint::plugin {

// One specialisation for each version, in profiler_exports.cc: kVersion, Descr, Args.
template <class Version>
class Profiler {
 public:
  using Descr = typename Version::Descr;
  using Args = typename Version::Args;

  // v1 to v3
  static ncclResult_t Init(void** context, int* mask) {
    return Enter(context, mask, {Version::kVersion, 0, nullptr, 0, 0, -1, 0}, nullptr,
                 __builtin_return_address(0));
  }
  static ncclResult_t InitV4(void** context, int* mask, const char* name, std::uint64_t hash,
                             int nodes, int ranks, int rank, ncclDebugLogger_t log) {
    return Enter(context, mask, {Version::kVersion, hash, name, nodes, ranks, rank, 0}, log,
                 __builtin_return_address(0));
  }
  // v5 and later: the mask's place is another
  static ncclResult_t InitV5(void** context, std::uint64_t id, int* mask, const char* name,
                             int nodes, int ranks, int rank, ncclDebugLogger_t log) {
    return Enter(context, mask, {Version::kVersion, id, name, nodes, ranks, rank, 0}, log,
                 __builtin_return_address(0));
  }

  // The kernels' callbacks are most of all: they come first, and nothing on their way needs the
  // stack.
  static ncclResult_t StartEvent(void* context, void** handle, Descr* descr) {
    if (__builtin_expect(trace::CountCall(), 0)) {
      const trace::TimedCall timed;
      return StartAny(context, handle, descr);
    }
    if constexpr (requires { descr->kernelCh; }) {  // v3
      if (__builtin_expect(handle != nullptr && descr != nullptr &&
                               descr->type == ncclProfileKernelCh && Active(),
                           1)) {
        *handle =
            StartKernel(Handle(descr->parentObj), descr->kernelCh.channelId, KernelTimer(*descr));
        return ncclSuccess;
      }
    }
    return StartAny(context, handle, descr);
  }

  static ncclResult_t StopEvent(void* raw) {
    if (__builtin_expect(trace::CountCall(), 0)) {
      const trace::TimedCall timed;
      return StopAny(Handle(raw));
    }
    const Handle handle(raw);
    if (__builtin_expect(handle.tag() == HandleTag::kKernelChannel && Active(), 1)) {
      StopKernel(handle);
      return ncclSuccess;
    }
    return StopAny(handle);
  }

  static ncclResult_t RecordEventState(void* raw, int state, Args* args) {
    if (__builtin_expect(trace::CountCall(), 0)) {
      const trace::TimedCall timed;
      return RecordAny(Handle(raw), state, args);
    }
    const Handle handle(raw);
    if (__builtin_expect(handle.tag() == HandleTag::kKernelChannel && Active(), 1)) {
      RecordKernelState(handle, state, args);
      return ncclSuccess;
    }
    return RecordAny(handle, state, args);
  }

  static ncclResult_t Finalize(void* context) {
    FinalizeCommunicator(context);
    return ncclSuccess;
  }

 private:
  static bool Active() noexcept {
    return __builtin_expect(g_active.load(std::memory_order_relaxed), 1) != 0;
  }

  static ncclResult_t Enter(void** context, int* mask, const NewCommunicator& communicator,
                            ncclDebugLogger_t log, const void* caller) noexcept {
    void* given = InitCommunicator({communicator, caller, log}, mask);
    if (context != nullptr) *context = given;
    return ncclSuccess;
  }

  __attribute__((noinline)) static ncclResult_t StartAny(void* context, void** handle,
                                                         const Descr* descr) noexcept {
    if (handle == nullptr) return ncclSuccess;
    *handle = descr == nullptr || !Active() ? nullptr : Start(context, *descr);
    return ncclSuccess;
  }

  __attribute__((noinline)) static ncclResult_t StopAny(Handle handle) noexcept {
    if (!Active()) return ncclSuccess;
    switch (handle.tag()) {
      case HandleTag::kKernelChannel:
        StopKernel(handle);
        break;
      case HandleTag::kProxyStep:
        StopProxyStep(handle);
        break;
      case HandleTag::kProxyOperation:
        StopProxyOperation(handle);
        break;
      case HandleTag::kOperation:
        EndEnqueue(handle);
        break;
      case HandleTag::kGroup:
        EndGroup(handle);
        break;
      case HandleTag::kGroupApi:
        SetGroupDepth(0);
        [[fallthrough]];
      case HandleTag::kCollectiveApi:
      case HandleTag::kPointToPointApi:
      case HandleTag::kKernelLaunch:
        StopApi(handle);
        break;
      case HandleTag::kCopyEngine:
        StopCopyEngine(handle);
        break;
      case HandleTag::kContext:
      case HandleTag::kNone:
        break;
    }
    return ncclSuccess;
  }

  __attribute__((noinline)) static ncclResult_t RecordAny(Handle handle, int state,
                                                          const Args* args) noexcept {
    if (!Active()) return ncclSuccess;
    if (handle.tag() == HandleTag::kKernelChannel) {
      RecordKernelState(handle, state, args);
    } else if (handle.tag() == HandleTag::kProxyStep) {
      RecordStepState(handle, state, args);
    } else if (handle.tag() == HandleTag::kProxyOperation) {
      RecordProxyState(handle, state, args);
    }
    return ncclSuccess;
  }

  static void* Start(void* context, const Descr& descr) noexcept {
    if constexpr (requires { descr.kernelCh; }) {  // v3
      if (__builtin_expect(descr.type == ncclProfileKernelCh, 1))
        return StartKernel(Handle(descr.parentObj), descr.kernelCh.channelId, KernelTimer(descr));
    }
    switch (descr.type) {
      case ncclProfileGroup:
        return BeginGroup();
      case ncclProfileColl:
        return StartCollective(context, descr);
      case ncclProfileP2p:
        return StartPointToPoint(context, descr);
      case ncclProfileProxyOp:
        return StartProxyOperation(DecodeProxy(context, descr));
      case ncclProfileProxyStep:
        return StartProxyStep(Handle(descr.parentObj), descr.proxyStep.step);
      default:
        break;
    }
    if constexpr (requires { descr.kernelCh; }) {  // v3
      if (descr.type == ncclProfileKernelCh)
        return StartKernel(Handle(descr.parentObj), descr.kernelCh.channelId, KernelTimer(descr));
    }
    if constexpr (requires { descr.groupApi; }) {  // v5
      if (void* call = StartApiCall(context, descr)) return call;
    }
    if constexpr (requires { descr.ceColl; }) {  // v6
      if (void* copy = StartCopy(context, descr)) return copy;
    }
    return nullptr;  // not asked for: ProxyCtrl, NetPlugin, KernelPhase, and what is to come
  }

  static void* StartCollective(void* context, const Descr& descr) noexcept {
    if constexpr (requires { descr.coll.commHash; })  // up to v3 told with each event
      LearnCommunicator(FindCommunicator(context), descr.coll.name, descr.coll.commHash,
                        descr.rank);
    return BeginCollective(DecodeOrigin(context, descr, descr.coll), DecodeCollective(descr.coll));
  }

  static void* StartPointToPoint(void* context, const Descr& descr) noexcept {
    if constexpr (requires { descr.p2p.commHash; })
      LearnCommunicator(FindCommunicator(context), descr.p2p.name, descr.p2p.commHash, descr.rank);
    return BeginPointToPoint(DecodeOrigin(context, descr, descr.p2p),
                             DecodePointToPoint(descr.p2p));
  }

  static void* StartApiCall(void* context, const Descr& descr) noexcept {
    if (__builtin_expect(g_settings.detail_api, 0)) return StartApiCallInDetail(context, descr);
    switch (descr.type) {
      case ncclProfileCollApi:
        return StartApi(HandleTag::kCollectiveApi, descr.collApi.graphCaptured);
      case ncclProfileP2pApi:
        return StartApi(HandleTag::kPointToPointApi, descr.p2pApi.graphCaptured);
      case ncclProfileGroupApi:
        SetGroupDepth(descr.groupApi.groupDepth);
        return StartApi(HandleTag::kGroupApi, descr.groupApi.graphCaptured);
      case ncclProfileKernelLaunch:
        return StartApi(HandleTag::kKernelLaunch, false);
      default:
        return nullptr;
    }
  }

  template <class Call>
  static void* StartCallInDetail(HandleTag tag, trace::ApiKind kind, const Call& call,
                                 trace::ApiCall* record) noexcept {
    record->call = static_cast<std::uint8_t>(kind);
    record->function = LiteralId(call.func);
    record->datatype = LiteralId(call.datatype);
    record->count = call.count;
    return StartApiInDetail(tag, call.graphCaptured, record);
  }

  static void* StartApiCallInDetail(void* context, const Descr& descr) noexcept {
    trace::ApiCall record;
    record.communicator = NumberOf(FindCommunicator(context));
    switch (descr.type) {
      case ncclProfileCollApi:
        return StartCallInDetail(HandleTag::kCollectiveApi, trace::ApiKind::kCollective,
                                 descr.collApi, &record);
      case ncclProfileP2pApi:
        return StartCallInDetail(HandleTag::kPointToPointApi, trace::ApiKind::kPointToPoint,
                                 descr.p2pApi, &record);
      case ncclProfileGroupApi:
        SetGroupDepth(descr.groupApi.groupDepth);
        record.call = static_cast<std::uint8_t>(trace::ApiKind::kGroup);
        record.depth = static_cast<std::uint16_t>(descr.groupApi.groupDepth);
        return StartApiInDetail(HandleTag::kGroupApi, descr.groupApi.graphCaptured, &record);
      case ncclProfileKernelLaunch:
        record.call = static_cast<std::uint8_t>(trace::ApiKind::kKernelLaunch);
        return StartApiInDetail(HandleTag::kKernelLaunch, false, &record);
      default:
        return nullptr;
    }
  }

  static void* StartCopy(void* context, const Descr& descr) noexcept {
    trace::CopyEngine record;
    switch (descr.type) {
      case ncclProfileCeColl:
        record.part = static_cast<std::uint8_t>(trace::CopyEnginePart::kCollective);
        record.function = LiteralId(descr.ceColl.func);
        record.sequence = static_cast<std::uint32_t>(descr.ceColl.seqNumber);
        record.bytes = descr.ceColl.count;
        break;
      case ncclProfileCeSync:
        record.part = static_cast<std::uint8_t>(trace::CopyEnginePart::kSynchronisation);
        record.parts = static_cast<std::uint32_t>(descr.ceCollSync.nRanks);
        break;
      case ncclProfileCeBatch:
        record.part = static_cast<std::uint8_t>(trace::CopyEnginePart::kBatch);
        record.bytes = descr.ceCollBatch.totalBytes;
        record.parts = static_cast<std::uint32_t>(descr.ceCollBatch.numOps);
        break;
      default:
        return nullptr;
    }
    return StartCopyEngine(context, Handle(descr.parentObj), &record);
  }

  static void RecordKernelState(Handle kernel, int state, const Args* args) noexcept {
    if constexpr (requires { args->kernelCh; }) {  // v4
      if (state == ncclProfilerKernelChStop && args != nullptr)
        RecordKernelEnd(kernel, args->kernelCh.pTimer);
    }
  }

  static void RecordStepState(Handle step, int state, const Args* args) noexcept {
    std::uint64_t bytes = 0;
    bool has_bytes = false;
    if constexpr (requires { args->proxyStep; }) {  // v4
      has_bytes = args != nullptr;
      if (has_bytes &&
          (state == ncclProfilerProxyStepSendWait || state == ncclProfilerProxyStepRecvFlushWait))
        bytes = args->proxyStep.transSize;
    }
    RecordProxyStepState(step, state, bytes, has_bytes);
  }

  static void RecordProxyState(Handle operation, int state, const Args* args) noexcept {
    if constexpr (requires { args->proxyOp; }) {  // up to v3
      if (args != nullptr && state >= 0 && state <= ncclProfilerProxyOpRecvDone)
        RecordProxyOperationState(operation, state, args->proxyOp.transSize, args->proxyOp.steps);
    }
  }
};

}  // namespace chokepoint::plugin
