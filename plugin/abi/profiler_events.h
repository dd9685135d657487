// The numbers of NCCL's profiler events and of their states, the same in every version of the
// interface. Must not be used with any other meaning than NCCL's.
#pragma once

#include <cstdint>

// ---- Event types (bits of the activation mask) ----
enum : std::uint32_t {
  ncclProfileGroup = 1u << 0,
  ncclProfileColl = 1u << 1,
  ncclProfileP2p = 1u << 2,
  ncclProfileProxyOp = 1u << 3,
  ncclProfileProxyStep = 1u << 4,
  ncclProfileProxyCtrl = 1u << 5,
  ncclProfileKernelCh = 1u << 6,       // v3
  ncclProfileNetPlugin = 1u << 7,      // v3
  ncclProfileGroupApi = 1u << 8,       // v5
  ncclProfileCollApi = 1u << 9,        // v5
  ncclProfileP2pApi = 1u << 10,        // v5
  ncclProfileKernelLaunch = 1u << 11,  // v5
  ncclProfileCeColl = 1u << 12,        // v6
  ncclProfileCeSync = 1u << 13,        // v6
  ncclProfileCeBatch = 1u << 14,       // v6
  ncclProfileKernelPhase = 1u << 15,   // v7
};

// ---- Event states: the numbers are the same in every version ----
enum : int {
  ncclProfilerProxyOpSendPosted = 0,  // 0 to 7: NCCL up to 2.26
  ncclProfilerProxyOpSendRemFifoWait = 1,
  ncclProfilerProxyOpSendTransmitted = 2,
  ncclProfilerProxyOpSendDone = 3,
  ncclProfilerProxyOpRecvPosted = 4,
  ncclProfilerProxyOpRecvReceived = 5,
  ncclProfilerProxyOpRecvTransmitted = 6,
  ncclProfilerProxyOpRecvDone = 7,
  ncclProfilerProxyStepSendGPUWait = 8,
  ncclProfilerProxyStepSendWait = 9,
  ncclProfilerProxyStepRecvWait = 10,
  ncclProfilerProxyStepRecvFlushWait = 11,
  ncclProfilerProxyStepRecvGPUWait = 12,
  ncclProfilerProxyCtrlIdle = 13,
  ncclProfilerProxyCtrlActive = 14,
  ncclProfilerProxyCtrlSleep = 15,
  ncclProfilerProxyCtrlWakeup = 16,
  ncclProfilerProxyCtrlAppend = 17,
  ncclProfilerProxyCtrlAppendEnd = 18,
  ncclProfilerProxyOpInProgress_v4 = 19,
  ncclProfilerProxyStepSendPeerWait_v4 = 20,
  ncclProfilerNetPluginUpdate = 21,
  ncclProfilerKernelChStop = 22,
  ncclProfilerGroupStartApiStop = 23,
  ncclProfilerGroupEndApiStart = 24,
  ncclProfilerKernelPhaseStop = 31,
};
