// The layouts of NCCL's profiler interface, pinned: every offset and size, as compiled from NCCL's
// own headers. Must not be edited to make a failing build pass: NCCL's binaries decide.
#include "plugin/abi/profiler_abi.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

namespace {

// A field's offset and size. why a macro: offsetof takes names, not values.
#define PIN(type, field, offset, size)                                \
  static_assert(offsetof(type, field) == (offset), #type "." #field); \
  static_assert(sizeof(static_cast<type*>(nullptr)->field) == (size), #type "." #field)

static_assert(sizeof(ncclProfilerEventDescr_v1_t) == 120 &&
              alignof(ncclProfilerEventDescr_v1_t) == 8);
PIN(ncclProfilerEventDescr_v1_t, type, 0, 1);
PIN(ncclProfilerEventDescr_v1_t, parentObj, 8, 8);
PIN(ncclProfilerEventDescr_v1_t, rank, 16, 4);
PIN(ncclProfilerEventDescr_v1_t, coll.name, 24, 8);
PIN(ncclProfilerEventDescr_v1_t, coll.commHash, 32, 8);
PIN(ncclProfilerEventDescr_v1_t, coll.seqNumber, 40, 8);
PIN(ncclProfilerEventDescr_v1_t, coll.func, 48, 1);
PIN(ncclProfilerEventDescr_v1_t, coll.sendBuff, 56, 8);
PIN(ncclProfilerEventDescr_v1_t, coll.recvBuff, 64, 8);
PIN(ncclProfilerEventDescr_v1_t, coll.count, 72, 8);
PIN(ncclProfilerEventDescr_v1_t, coll.root, 80, 4);
PIN(ncclProfilerEventDescr_v1_t, coll.datatype, 84, 1);
PIN(ncclProfilerEventDescr_v1_t, coll.op, 88, 4);
PIN(ncclProfilerEventDescr_v1_t, coll.trafficBytes, 96, 8);
PIN(ncclProfilerEventDescr_v1_t, coll.nMaxChannels, 104, 1);
PIN(ncclProfilerEventDescr_v1_t, coll.nWarps, 105, 1);
PIN(ncclProfilerEventDescr_v1_t, coll.algo, 106, 1);
PIN(ncclProfilerEventDescr_v1_t, coll.proto, 107, 1);
PIN(ncclProfilerEventDescr_v1_t, coll.isCollnet, 108, 4);
PIN(ncclProfilerEventDescr_v1_t, coll.isNvls, 112, 4);
PIN(ncclProfilerEventDescr_v1_t, p2p.name, 24, 8);
PIN(ncclProfilerEventDescr_v1_t, p2p.commHash, 32, 8);
PIN(ncclProfilerEventDescr_v1_t, p2p.func, 40, 1);
PIN(ncclProfilerEventDescr_v1_t, p2p.buff, 48, 8);
PIN(ncclProfilerEventDescr_v1_t, p2p.datatype, 56, 1);
PIN(ncclProfilerEventDescr_v1_t, p2p.count, 64, 8);
PIN(ncclProfilerEventDescr_v1_t, p2p.peer, 72, 4);
PIN(ncclProfilerEventDescr_v1_t, proxyOp.pid, 24, 4);
PIN(ncclProfilerEventDescr_v1_t, proxyOp.channelId, 28, 1);
PIN(ncclProfilerEventDescr_v1_t, proxyOp.peer, 32, 4);
PIN(ncclProfilerEventDescr_v1_t, proxyOp.nSteps, 36, 4);
PIN(ncclProfilerEventDescr_v1_t, proxyOp.chunkSize, 40, 4);
PIN(ncclProfilerEventDescr_v1_t, proxyOp.isSend, 44, 4);
PIN(ncclProfilerEventDescr_v1_t, proxyStep.step, 24, 4);

static_assert(sizeof(ncclProfilerEventDescr_v2_t) == 128 &&
              alignof(ncclProfilerEventDescr_v2_t) == 8);
PIN(ncclProfilerEventDescr_v2_t, type, 0, 1);
PIN(ncclProfilerEventDescr_v2_t, parentObj, 8, 8);
PIN(ncclProfilerEventDescr_v2_t, rank, 16, 4);
PIN(ncclProfilerEventDescr_v2_t, coll.name, 24, 8);
PIN(ncclProfilerEventDescr_v2_t, coll.commHash, 32, 8);
PIN(ncclProfilerEventDescr_v2_t, coll.seqNumber, 40, 8);
PIN(ncclProfilerEventDescr_v2_t, coll.func, 48, 8);
PIN(ncclProfilerEventDescr_v2_t, coll.sendBuff, 56, 8);
PIN(ncclProfilerEventDescr_v2_t, coll.recvBuff, 64, 8);
PIN(ncclProfilerEventDescr_v2_t, coll.count, 72, 8);
PIN(ncclProfilerEventDescr_v2_t, coll.root, 80, 4);
PIN(ncclProfilerEventDescr_v2_t, coll.datatype, 88, 8);
PIN(ncclProfilerEventDescr_v2_t, coll.trafficBytes, 96, 8);
PIN(ncclProfilerEventDescr_v2_t, coll.nMaxChannels, 104, 1);
PIN(ncclProfilerEventDescr_v2_t, coll.nWarps, 105, 1);
PIN(ncclProfilerEventDescr_v2_t, coll.algo, 112, 8);
PIN(ncclProfilerEventDescr_v2_t, coll.proto, 120, 8);
PIN(ncclProfilerEventDescr_v2_t, p2p.name, 24, 8);
PIN(ncclProfilerEventDescr_v2_t, p2p.commHash, 32, 8);
PIN(ncclProfilerEventDescr_v2_t, p2p.func, 40, 8);
PIN(ncclProfilerEventDescr_v2_t, p2p.buff, 48, 8);
PIN(ncclProfilerEventDescr_v2_t, p2p.datatype, 56, 8);
PIN(ncclProfilerEventDescr_v2_t, p2p.count, 64, 8);
PIN(ncclProfilerEventDescr_v2_t, p2p.peer, 72, 4);
PIN(ncclProfilerEventDescr_v2_t, proxyOp.pid, 24, 4);
PIN(ncclProfilerEventDescr_v2_t, proxyOp.channelId, 28, 1);
PIN(ncclProfilerEventDescr_v2_t, proxyOp.peer, 32, 4);
PIN(ncclProfilerEventDescr_v2_t, proxyOp.nSteps, 36, 4);
PIN(ncclProfilerEventDescr_v2_t, proxyOp.chunkSize, 40, 4);
PIN(ncclProfilerEventDescr_v2_t, proxyOp.isSend, 44, 4);
PIN(ncclProfilerEventDescr_v2_t, proxyStep.step, 24, 4);

static_assert(sizeof(ncclProfilerEventDescr_v3_t) == 120 &&
              alignof(ncclProfilerEventDescr_v3_t) == 8);
PIN(ncclProfilerEventDescr_v3_t, type, 0, 1);
PIN(ncclProfilerEventDescr_v3_t, parentObj, 8, 8);
PIN(ncclProfilerEventDescr_v3_t, rank, 16, 4);
PIN(ncclProfilerEventDescr_v3_t, coll.name, 24, 8);
PIN(ncclProfilerEventDescr_v3_t, coll.commHash, 32, 8);
PIN(ncclProfilerEventDescr_v3_t, coll.seqNumber, 40, 8);
PIN(ncclProfilerEventDescr_v3_t, coll.func, 48, 8);
PIN(ncclProfilerEventDescr_v3_t, coll.sendBuff, 56, 8);
PIN(ncclProfilerEventDescr_v3_t, coll.recvBuff, 64, 8);
PIN(ncclProfilerEventDescr_v3_t, coll.count, 72, 8);
PIN(ncclProfilerEventDescr_v3_t, coll.root, 80, 4);
PIN(ncclProfilerEventDescr_v3_t, coll.datatype, 88, 8);
PIN(ncclProfilerEventDescr_v3_t, coll.nMaxChannels, 96, 1);
PIN(ncclProfilerEventDescr_v3_t, coll.nWarps, 97, 1);
PIN(ncclProfilerEventDescr_v3_t, coll.algo, 104, 8);
PIN(ncclProfilerEventDescr_v3_t, coll.proto, 112, 8);
PIN(ncclProfilerEventDescr_v3_t, p2p.name, 24, 8);
PIN(ncclProfilerEventDescr_v3_t, p2p.commHash, 32, 8);
PIN(ncclProfilerEventDescr_v3_t, p2p.func, 40, 8);
PIN(ncclProfilerEventDescr_v3_t, p2p.buff, 48, 8);
PIN(ncclProfilerEventDescr_v3_t, p2p.datatype, 56, 8);
PIN(ncclProfilerEventDescr_v3_t, p2p.count, 64, 8);
PIN(ncclProfilerEventDescr_v3_t, p2p.peer, 72, 4);
PIN(ncclProfilerEventDescr_v3_t, proxyOp.pid, 24, 4);
PIN(ncclProfilerEventDescr_v3_t, proxyOp.channelId, 28, 1);
PIN(ncclProfilerEventDescr_v3_t, proxyOp.peer, 32, 4);
PIN(ncclProfilerEventDescr_v3_t, proxyOp.nSteps, 36, 4);
PIN(ncclProfilerEventDescr_v3_t, proxyOp.chunkSize, 40, 4);
PIN(ncclProfilerEventDescr_v3_t, proxyOp.isSend, 44, 4);
PIN(ncclProfilerEventDescr_v3_t, proxyStep.step, 24, 4);
PIN(ncclProfilerEventDescr_v3_t, kernelCh.channelId, 24, 1);
PIN(ncclProfilerEventDescr_v3_t, netPlugin.id, 24, 8);
PIN(ncclProfilerEventDescr_v3_t, netPlugin.data, 32, 8);

static_assert(sizeof(ncclProfilerEventDescr_v4_t) == 104 &&
              alignof(ncclProfilerEventDescr_v4_t) == 8);
PIN(ncclProfilerEventDescr_v4_t, type, 0, 1);
PIN(ncclProfilerEventDescr_v4_t, parentObj, 8, 8);
PIN(ncclProfilerEventDescr_v4_t, rank, 16, 4);
PIN(ncclProfilerEventDescr_v4_t, coll.seqNumber, 24, 8);
PIN(ncclProfilerEventDescr_v4_t, coll.func, 32, 8);
PIN(ncclProfilerEventDescr_v4_t, coll.sendBuff, 40, 8);
PIN(ncclProfilerEventDescr_v4_t, coll.recvBuff, 48, 8);
PIN(ncclProfilerEventDescr_v4_t, coll.count, 56, 8);
PIN(ncclProfilerEventDescr_v4_t, coll.root, 64, 4);
PIN(ncclProfilerEventDescr_v4_t, coll.datatype, 72, 8);
PIN(ncclProfilerEventDescr_v4_t, coll.nChannels, 80, 1);
PIN(ncclProfilerEventDescr_v4_t, coll.nWarps, 81, 1);
PIN(ncclProfilerEventDescr_v4_t, coll.algo, 88, 8);
PIN(ncclProfilerEventDescr_v4_t, coll.proto, 96, 8);
PIN(ncclProfilerEventDescr_v4_t, p2p.func, 24, 8);
PIN(ncclProfilerEventDescr_v4_t, p2p.buff, 32, 8);
PIN(ncclProfilerEventDescr_v4_t, p2p.datatype, 40, 8);
PIN(ncclProfilerEventDescr_v4_t, p2p.count, 48, 8);
PIN(ncclProfilerEventDescr_v4_t, p2p.peer, 56, 4);
PIN(ncclProfilerEventDescr_v4_t, p2p.nChannels, 60, 1);
PIN(ncclProfilerEventDescr_v4_t, proxyOp.pid, 24, 4);
PIN(ncclProfilerEventDescr_v4_t, proxyOp.channelId, 28, 1);
PIN(ncclProfilerEventDescr_v4_t, proxyOp.peer, 32, 4);
PIN(ncclProfilerEventDescr_v4_t, proxyOp.nSteps, 36, 4);
PIN(ncclProfilerEventDescr_v4_t, proxyOp.chunkSize, 40, 4);
PIN(ncclProfilerEventDescr_v4_t, proxyOp.isSend, 44, 4);
PIN(ncclProfilerEventDescr_v4_t, proxyStep.step, 24, 4);
PIN(ncclProfilerEventDescr_v4_t, kernelCh.channelId, 24, 1);
PIN(ncclProfilerEventDescr_v4_t, kernelCh.pTimer, 32, 8);
PIN(ncclProfilerEventDescr_v4_t, netPlugin.id, 24, 8);
PIN(ncclProfilerEventDescr_v4_t, netPlugin.data, 32, 8);

// Versions 5 to 7 agree in these.
#define PIN_V5(Descr)                        \
  PIN(Descr, type, 0, 8);                    \
  PIN(Descr, parentObj, 8, 8);               \
  PIN(Descr, rank, 16, 4);                   \
  PIN(Descr, groupApi.graphCaptured, 24, 1); \
  PIN(Descr, groupApi.groupDepth, 28, 4);    \
  PIN(Descr, collApi.func, 24, 8);           \
  PIN(Descr, collApi.count, 32, 8);          \
  PIN(Descr, collApi.datatype, 40, 8);       \
  PIN(Descr, collApi.root, 48, 4);           \
  PIN(Descr, collApi.stream, 56, 8);         \
  PIN(Descr, collApi.graphCaptured, 64, 1);  \
  PIN(Descr, p2pApi.func, 24, 8);            \
  PIN(Descr, p2pApi.count, 32, 8);           \
  PIN(Descr, p2pApi.datatype, 40, 8);        \
  PIN(Descr, p2pApi.stream, 48, 8);          \
  PIN(Descr, p2pApi.graphCaptured, 56, 1);   \
  PIN(Descr, kernelLaunch.stream, 24, 8);    \
  PIN(Descr, coll.seqNumber, 24, 8);         \
  PIN(Descr, coll.func, 32, 8);              \
  PIN(Descr, coll.sendBuff, 40, 8);          \
  PIN(Descr, coll.recvBuff, 48, 8);          \
  PIN(Descr, coll.count, 56, 8);             \
  PIN(Descr, coll.root, 64, 4);              \
  PIN(Descr, coll.datatype, 72, 8);          \
  PIN(Descr, coll.nChannels, 80, 1);         \
  PIN(Descr, coll.nWarps, 81, 1);            \
  PIN(Descr, coll.algo, 88, 8);              \
  PIN(Descr, coll.proto, 96, 8);             \
  PIN(Descr, coll.parentGroup, 104, 8);      \
  PIN(Descr, p2p.func, 24, 8);               \
  PIN(Descr, p2p.buff, 32, 8);               \
  PIN(Descr, p2p.datatype, 40, 8);           \
  PIN(Descr, p2p.count, 48, 8);              \
  PIN(Descr, p2p.peer, 56, 4);               \
  PIN(Descr, p2p.nChannels, 60, 1);          \
  PIN(Descr, p2p.parentGroup, 64, 8);        \
  PIN(Descr, proxyOp.pid, 24, 4);            \
  PIN(Descr, proxyOp.channelId, 28, 1);      \
  PIN(Descr, proxyOp.peer, 32, 4);           \
  PIN(Descr, proxyOp.nSteps, 36, 4);         \
  PIN(Descr, proxyOp.chunkSize, 40, 4);      \
  PIN(Descr, proxyOp.isSend, 44, 4);         \
  PIN(Descr, proxyStep.step, 24, 4);         \
  PIN(Descr, kernelCh.channelId, 24, 1);     \
  PIN(Descr, kernelCh.pTimer, 32, 8);        \
  PIN(Descr, netPlugin.id, 24, 8);           \
  PIN(Descr, netPlugin.data, 32, 8)

static_assert(sizeof(ncclProfilerEventDescr_v5_t) == 112 &&
              alignof(ncclProfilerEventDescr_v5_t) == 8);
PIN_V5(ncclProfilerEventDescr_v5_t);

static_assert(sizeof(ncclProfilerEventDescr_v6_t) == 112 &&
              alignof(ncclProfilerEventDescr_v6_t) == 8);
PIN_V5(ncclProfilerEventDescr_v6_t);
PIN(ncclProfilerEventDescr_v6_t, ceColl.seqNumber, 24, 8);
PIN(ncclProfilerEventDescr_v6_t, ceColl.func, 32, 8);
PIN(ncclProfilerEventDescr_v6_t, ceColl.sendBuff, 40, 8);
PIN(ncclProfilerEventDescr_v6_t, ceColl.recvBuff, 48, 8);
PIN(ncclProfilerEventDescr_v6_t, ceColl.count, 56, 8);
PIN(ncclProfilerEventDescr_v6_t, ceColl.root, 64, 4);
PIN(ncclProfilerEventDescr_v6_t, ceColl.datatype, 72, 8);
PIN(ncclProfilerEventDescr_v6_t, ceColl.syncStrategy, 80, 8);
PIN(ncclProfilerEventDescr_v6_t, ceColl.intraBatchSync, 88, 1);
PIN(ncclProfilerEventDescr_v6_t, ceColl.batchSize, 92, 4);
PIN(ncclProfilerEventDescr_v6_t, ceColl.numBatches, 96, 4);
PIN(ncclProfilerEventDescr_v6_t, ceColl.ceSeqNum, 100, 4);
PIN(ncclProfilerEventDescr_v6_t, ceColl.stream, 104, 8);
PIN(ncclProfilerEventDescr_v6_t, ceCollSync.isComplete, 24, 1);
PIN(ncclProfilerEventDescr_v6_t, ceCollSync.nRanks, 28, 4);
PIN(ncclProfilerEventDescr_v6_t, ceCollBatch.numOps, 24, 4);
PIN(ncclProfilerEventDescr_v6_t, ceCollBatch.totalBytes, 32, 8);
PIN(ncclProfilerEventDescr_v6_t, ceCollBatch.useIntraSync, 40, 1);

static_assert(sizeof(ncclProfilerEventDescr_v7_t) == 136 &&
              alignof(ncclProfilerEventDescr_v7_t) == 8);
PIN_V5(ncclProfilerEventDescr_v7_t);
PIN(ncclProfilerEventDescr_v7_t, ceColl.seqNumber, 24, 8);
PIN(ncclProfilerEventDescr_v7_t, ceColl.func, 32, 8);
PIN(ncclProfilerEventDescr_v7_t, ceColl.sendBuff, 40, 8);
PIN(ncclProfilerEventDescr_v7_t, ceColl.recvBuff, 48, 8);
PIN(ncclProfilerEventDescr_v7_t, ceColl.count, 56, 8);
PIN(ncclProfilerEventDescr_v7_t, ceColl.root, 64, 4);
PIN(ncclProfilerEventDescr_v7_t, ceColl.datatype, 72, 8);
PIN(ncclProfilerEventDescr_v7_t, ceColl.syncStrategy, 80, 8);
PIN(ncclProfilerEventDescr_v7_t, ceColl.intraBatchSync, 88, 1);
PIN(ncclProfilerEventDescr_v7_t, ceColl.batchSize, 92, 4);
PIN(ncclProfilerEventDescr_v7_t, ceColl.numBatches, 96, 4);
PIN(ncclProfilerEventDescr_v7_t, ceColl.ceSeqNum, 100, 4);
PIN(ncclProfilerEventDescr_v7_t, ceColl.stream, 104, 8);
PIN(ncclProfilerEventDescr_v7_t, ceCollSync.isComplete, 24, 1);
PIN(ncclProfilerEventDescr_v7_t, ceCollSync.nRanks, 28, 4);
PIN(ncclProfilerEventDescr_v7_t, ceCollBatch.numOps, 24, 4);
PIN(ncclProfilerEventDescr_v7_t, ceCollBatch.totalBytes, 32, 8);
PIN(ncclProfilerEventDescr_v7_t, ceCollBatch.useIntraSync, 40, 1);
PIN(ncclProfilerEventDescr_v7_t, coll.kernelVariant, 112, 8);
PIN(ncclProfilerEventDescr_v7_t, coll.isSymColl, 120, 1);
PIN(ncclProfilerEventDescr_v7_t, coll.userTag, 128, 8);
PIN(ncclProfilerEventDescr_v7_t, collApi.userTag, 72, 8);
PIN(ncclProfilerEventDescr_v7_t, p2pApi.userTag, 64, 8);
PIN(ncclProfilerEventDescr_v7_t, p2p.userTag, 72, 8);
PIN(ncclProfilerEventDescr_v7_t, ceColl.userTag, 112, 8);
PIN(ncclProfilerEventDescr_v7_t, kernelPhase.channelId, 24, 1);
PIN(ncclProfilerEventDescr_v7_t, kernelPhase.phaseId, 25, 1);
PIN(ncclProfilerEventDescr_v7_t, kernelPhase.phaseName, 32, 8);
PIN(ncclProfilerEventDescr_v7_t, kernelPhase.pTimer, 40, 8);

static_assert(sizeof(ncclProfilerEventStateArgs_v1_t) == 16);
PIN(ncclProfilerEventStateArgs_v1_t, proxyOp.transSize, 0, 8);
PIN(ncclProfilerEventStateArgs_v1_t, proxyOp.steps, 8, 4);
PIN(ncclProfilerEventStateArgs_v1_t, proxyCtrl.appendedProxyOps, 0, 4);
PIN(ncclProfilerEventStateArgs_v2_t, proxyOp.transSize, 0, 8);
PIN(ncclProfilerEventStateArgs_v2_t, proxyOp.steps, 8, 4);
PIN(ncclProfilerEventStateArgs_v2_t, proxyCtrl.appendedProxyOps, 0, 4);
PIN(ncclProfilerEventStateArgs_v3_t, proxyOp.transSize, 0, 8);
PIN(ncclProfilerEventStateArgs_v3_t, proxyOp.steps, 8, 4);
PIN(ncclProfilerEventStateArgs_v3_t, proxyCtrl.appendedProxyOps, 0, 4);
static_assert(sizeof(ncclProfilerEventStateArgs_v4_t) == 8);
PIN(ncclProfilerEventStateArgs_v4_t, proxyStep.transSize, 0, 8);
PIN(ncclProfilerEventStateArgs_v4_t, proxyCtrl.appendedProxyOps, 0, 4);
PIN(ncclProfilerEventStateArgs_v4_t, netPlugin.data, 0, 8);
PIN(ncclProfilerEventStateArgs_v4_t, kernelCh.pTimer, 0, 8);
static_assert(sizeof(ncclProfilerEventStateArgs_v5_t) == 8);
PIN(ncclProfilerEventStateArgs_v5_t, proxyStep.transSize, 0, 8);
PIN(ncclProfilerEventStateArgs_v5_t, proxyCtrl.appendedProxyOps, 0, 4);
PIN(ncclProfilerEventStateArgs_v5_t, netPlugin.data, 0, 8);
PIN(ncclProfilerEventStateArgs_v5_t, kernelCh.pTimer, 0, 8);
static_assert(sizeof(ncclProfilerEventStateArgs_v6_t) == 8);
PIN(ncclProfilerEventStateArgs_v6_t, proxyStep.transSize, 0, 8);
PIN(ncclProfilerEventStateArgs_v6_t, proxyCtrl.appendedProxyOps, 0, 4);
PIN(ncclProfilerEventStateArgs_v6_t, netPlugin.data, 0, 8);
PIN(ncclProfilerEventStateArgs_v6_t, kernelCh.pTimer, 0, 8);
static_assert(sizeof(ncclProfilerEventStateArgs_v7_t) == 8);
PIN(ncclProfilerEventStateArgs_v7_t, proxyStep.transSize, 0, 8);
PIN(ncclProfilerEventStateArgs_v7_t, proxyCtrl.appendedProxyOps, 0, 4);
PIN(ncclProfilerEventStateArgs_v7_t, netPlugin.data, 0, 8);
PIN(ncclProfilerEventStateArgs_v7_t, kernelCh.pTimer, 0, 8);

static_assert(sizeof(ncclProfiler_v1_t) == 48);
PIN(ncclProfiler_v1_t, name, 0, 8);
PIN(ncclProfiler_v1_t, init, 8, 8);
PIN(ncclProfiler_v1_t, startEvent, 16, 8);
PIN(ncclProfiler_v1_t, stopEvent, 24, 8);
PIN(ncclProfiler_v1_t, recordEventState, 32, 8);
PIN(ncclProfiler_v1_t, finalize, 40, 8);

static_assert(sizeof(ncclProfiler_v2_t) == 48);
PIN(ncclProfiler_v2_t, name, 0, 8);
PIN(ncclProfiler_v2_t, init, 8, 8);
PIN(ncclProfiler_v2_t, startEvent, 16, 8);
PIN(ncclProfiler_v2_t, stopEvent, 24, 8);
PIN(ncclProfiler_v2_t, recordEventState, 32, 8);
PIN(ncclProfiler_v2_t, finalize, 40, 8);

static_assert(sizeof(ncclProfiler_v3_t) == 48);
PIN(ncclProfiler_v3_t, name, 0, 8);
PIN(ncclProfiler_v3_t, init, 8, 8);
PIN(ncclProfiler_v3_t, startEvent, 16, 8);
PIN(ncclProfiler_v3_t, stopEvent, 24, 8);
PIN(ncclProfiler_v3_t, recordEventState, 32, 8);
PIN(ncclProfiler_v3_t, finalize, 40, 8);

static_assert(sizeof(ncclProfiler_v4_t) == 48);
PIN(ncclProfiler_v4_t, name, 0, 8);
PIN(ncclProfiler_v4_t, init, 8, 8);
PIN(ncclProfiler_v4_t, startEvent, 16, 8);
PIN(ncclProfiler_v4_t, stopEvent, 24, 8);
PIN(ncclProfiler_v4_t, recordEventState, 32, 8);
PIN(ncclProfiler_v4_t, finalize, 40, 8);

static_assert(sizeof(ncclProfiler_v5_t) == 48);
PIN(ncclProfiler_v5_t, name, 0, 8);
PIN(ncclProfiler_v5_t, init, 8, 8);
PIN(ncclProfiler_v5_t, startEvent, 16, 8);
PIN(ncclProfiler_v5_t, stopEvent, 24, 8);
PIN(ncclProfiler_v5_t, recordEventState, 32, 8);
PIN(ncclProfiler_v5_t, finalize, 40, 8);

static_assert(sizeof(ncclProfiler_v6_t) == 48);
PIN(ncclProfiler_v6_t, name, 0, 8);
PIN(ncclProfiler_v6_t, init, 8, 8);
PIN(ncclProfiler_v6_t, startEvent, 16, 8);
PIN(ncclProfiler_v6_t, stopEvent, 24, 8);
PIN(ncclProfiler_v6_t, recordEventState, 32, 8);
PIN(ncclProfiler_v6_t, finalize, 40, 8);

static_assert(sizeof(ncclProfiler_v7_t) == 48);
PIN(ncclProfiler_v7_t, name, 0, 8);
PIN(ncclProfiler_v7_t, init, 8, 8);
PIN(ncclProfiler_v7_t, startEvent, 16, 8);
PIN(ncclProfiler_v7_t, stopEvent, 24, 8);
PIN(ncclProfiler_v7_t, recordEventState, 32, 8);
PIN(ncclProfiler_v7_t, finalize, 40, 8);

// The compiler has checked it; the run shows that the file was compiled.
TEST(ProfilerAbi, LayoutsAreNccls) {
  EXPECT_EQ(ncclProfileKernelPhase, 0x8000u);
  EXPECT_EQ(ncclProfilerKernelChStop, 22);
  EXPECT_EQ(ncclProfilerProxyStepSendPeerWait_v4, 20);
  EXPECT_EQ(ncclProfilerGroupEndApiStart, 24);
}

// The order of init's arguments changed between 4 and 5: the mask was second and became third.
TEST(ProfilerAbi, InitSignaturesAreNccls) {
  static_assert(std::is_same_v<decltype(ncclProfiler_v1_t::init), ncclResult_t (*)(void**, int*)>);
  static_assert(std::is_same_v<decltype(ncclProfiler_v4_t::init),
                               ncclResult_t (*)(void**, int*, const char*, std::uint64_t, int, int,
                                                int, ncclDebugLogger_t)>);
  static_assert(std::is_same_v<decltype(ncclProfiler_v5_t::init),
                               ncclResult_t (*)(void**, std::uint64_t, int*, const char*, int, int,
                                                int, ncclDebugLogger_t)>);
  static_assert(
      std::is_same_v<decltype(ncclProfiler_v7_t::init), decltype(ncclProfiler_v5_t::init)>);
  SUCCEED();
}

}  // namespace
