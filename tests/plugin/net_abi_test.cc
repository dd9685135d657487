// The layouts of NCCL's network interface, pinned: every offset and size, as compiled from NCCL's
// own headers. Must not be edited to make a failing build pass: NCCL's binaries decide.
#include "plugin/abi/net_abi.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace {

// A field's offset and size. why a macro: offsetof takes names, not values.
#define PIN(type, field, offset, size)                                \
  static_assert(offsetof(type, field) == (offset), #type "." #field); \
  static_assert(sizeof(static_cast<type*>(nullptr)->field) == (size), #type "." #field)

static_assert(sizeof(ncclNet_v4_t) == 128);
PIN(ncclNet_v4_t, name, 0, 8);
PIN(ncclNet_v4_t, init, 8, 8);
PIN(ncclNet_v4_t, devices, 16, 8);
PIN(ncclNet_v4_t, getProperties, 24, 8);
PIN(ncclNet_v4_t, listen, 32, 8);
PIN(ncclNet_v4_t, connect, 40, 8);
PIN(ncclNet_v4_t, accept, 48, 8);
PIN(ncclNet_v4_t, regMr, 56, 8);
PIN(ncclNet_v4_t, deregMr, 64, 8);
PIN(ncclNet_v4_t, isend, 72, 8);
PIN(ncclNet_v4_t, irecv, 80, 8);
PIN(ncclNet_v4_t, iflush, 88, 8);
PIN(ncclNet_v4_t, test, 96, 8);
PIN(ncclNet_v4_t, closeSend, 104, 8);
PIN(ncclNet_v4_t, closeRecv, 112, 8);
PIN(ncclNet_v4_t, closeListen, 120, 8);

static_assert(sizeof(ncclNet_v5_t) == 128);
PIN(ncclNet_v5_t, name, 0, 8);
PIN(ncclNet_v5_t, init, 8, 8);
PIN(ncclNet_v5_t, devices, 16, 8);
PIN(ncclNet_v5_t, getProperties, 24, 8);
PIN(ncclNet_v5_t, listen, 32, 8);
PIN(ncclNet_v5_t, connect, 40, 8);
PIN(ncclNet_v5_t, accept, 48, 8);
PIN(ncclNet_v5_t, regMr, 56, 8);
PIN(ncclNet_v5_t, deregMr, 64, 8);
PIN(ncclNet_v5_t, isend, 72, 8);
PIN(ncclNet_v5_t, irecv, 80, 8);
PIN(ncclNet_v5_t, iflush, 88, 8);
PIN(ncclNet_v5_t, test, 96, 8);
PIN(ncclNet_v5_t, closeSend, 104, 8);
PIN(ncclNet_v5_t, closeRecv, 112, 8);
PIN(ncclNet_v5_t, closeListen, 120, 8);

static_assert(sizeof(ncclNet_v6_t) == 136);
PIN(ncclNet_v6_t, name, 0, 8);
PIN(ncclNet_v6_t, init, 8, 8);
PIN(ncclNet_v6_t, devices, 16, 8);
PIN(ncclNet_v6_t, getProperties, 24, 8);
PIN(ncclNet_v6_t, listen, 32, 8);
PIN(ncclNet_v6_t, connect, 40, 8);
PIN(ncclNet_v6_t, accept, 48, 8);
PIN(ncclNet_v6_t, regMr, 56, 8);
PIN(ncclNet_v6_t, regMrDmaBuf, 64, 8);
PIN(ncclNet_v6_t, deregMr, 72, 8);
PIN(ncclNet_v6_t, isend, 80, 8);
PIN(ncclNet_v6_t, irecv, 88, 8);
PIN(ncclNet_v6_t, iflush, 96, 8);
PIN(ncclNet_v6_t, test, 104, 8);
PIN(ncclNet_v6_t, closeSend, 112, 8);
PIN(ncclNet_v6_t, closeRecv, 120, 8);
PIN(ncclNet_v6_t, closeListen, 128, 8);

static_assert(sizeof(ncclNet_v7_t) == 152);
PIN(ncclNet_v7_t, name, 0, 8);
PIN(ncclNet_v7_t, init, 8, 8);
PIN(ncclNet_v7_t, devices, 16, 8);
PIN(ncclNet_v7_t, getProperties, 24, 8);
PIN(ncclNet_v7_t, listen, 32, 8);
PIN(ncclNet_v7_t, connect, 40, 8);
PIN(ncclNet_v7_t, accept, 48, 8);
PIN(ncclNet_v7_t, regMr, 56, 8);
PIN(ncclNet_v7_t, regMrDmaBuf, 64, 8);
PIN(ncclNet_v7_t, deregMr, 72, 8);
PIN(ncclNet_v7_t, isend, 80, 8);
PIN(ncclNet_v7_t, irecv, 88, 8);
PIN(ncclNet_v7_t, iflush, 96, 8);
PIN(ncclNet_v7_t, test, 104, 8);
PIN(ncclNet_v7_t, closeSend, 112, 8);
PIN(ncclNet_v7_t, closeRecv, 120, 8);
PIN(ncclNet_v7_t, closeListen, 128, 8);
PIN(ncclNet_v7_t, getDeviceMr, 136, 8);
PIN(ncclNet_v7_t, irecvConsumed, 144, 8);

static_assert(sizeof(ncclNet_v8_t) == 152);
PIN(ncclNet_v8_t, name, 0, 8);
PIN(ncclNet_v8_t, init, 8, 8);
PIN(ncclNet_v8_t, devices, 16, 8);
PIN(ncclNet_v8_t, getProperties, 24, 8);
PIN(ncclNet_v8_t, listen, 32, 8);
PIN(ncclNet_v8_t, connect, 40, 8);
PIN(ncclNet_v8_t, accept, 48, 8);
PIN(ncclNet_v8_t, regMr, 56, 8);
PIN(ncclNet_v8_t, regMrDmaBuf, 64, 8);
PIN(ncclNet_v8_t, deregMr, 72, 8);
PIN(ncclNet_v8_t, isend, 80, 8);
PIN(ncclNet_v8_t, irecv, 88, 8);
PIN(ncclNet_v8_t, iflush, 96, 8);
PIN(ncclNet_v8_t, test, 104, 8);
PIN(ncclNet_v8_t, closeSend, 112, 8);
PIN(ncclNet_v8_t, closeRecv, 120, 8);
PIN(ncclNet_v8_t, closeListen, 128, 8);
PIN(ncclNet_v8_t, getDeviceMr, 136, 8);
PIN(ncclNet_v8_t, irecvConsumed, 144, 8);

static_assert(sizeof(ncclNet_v9_t) == 160);
PIN(ncclNet_v9_t, name, 0, 8);
PIN(ncclNet_v9_t, init, 8, 8);
PIN(ncclNet_v9_t, devices, 16, 8);
PIN(ncclNet_v9_t, getProperties, 24, 8);
PIN(ncclNet_v9_t, listen, 32, 8);
PIN(ncclNet_v9_t, connect, 40, 8);
PIN(ncclNet_v9_t, accept, 48, 8);
PIN(ncclNet_v9_t, regMr, 56, 8);
PIN(ncclNet_v9_t, regMrDmaBuf, 64, 8);
PIN(ncclNet_v9_t, deregMr, 72, 8);
PIN(ncclNet_v9_t, isend, 80, 8);
PIN(ncclNet_v9_t, irecv, 88, 8);
PIN(ncclNet_v9_t, iflush, 96, 8);
PIN(ncclNet_v9_t, test, 104, 8);
PIN(ncclNet_v9_t, closeSend, 112, 8);
PIN(ncclNet_v9_t, closeRecv, 120, 8);
PIN(ncclNet_v9_t, closeListen, 128, 8);
PIN(ncclNet_v9_t, getDeviceMr, 136, 8);
PIN(ncclNet_v9_t, irecvConsumed, 144, 8);
PIN(ncclNet_v9_t, makeVDevice, 152, 8);

static_assert(sizeof(ncclNet_v10_t) == 160);
PIN(ncclNet_v10_t, name, 0, 8);
PIN(ncclNet_v10_t, init, 8, 8);
PIN(ncclNet_v10_t, devices, 16, 8);
PIN(ncclNet_v10_t, getProperties, 24, 8);
PIN(ncclNet_v10_t, listen, 32, 8);
PIN(ncclNet_v10_t, connect, 40, 8);
PIN(ncclNet_v10_t, accept, 48, 8);
PIN(ncclNet_v10_t, regMr, 56, 8);
PIN(ncclNet_v10_t, regMrDmaBuf, 64, 8);
PIN(ncclNet_v10_t, deregMr, 72, 8);
PIN(ncclNet_v10_t, isend, 80, 8);
PIN(ncclNet_v10_t, irecv, 88, 8);
PIN(ncclNet_v10_t, iflush, 96, 8);
PIN(ncclNet_v10_t, test, 104, 8);
PIN(ncclNet_v10_t, closeSend, 112, 8);
PIN(ncclNet_v10_t, closeRecv, 120, 8);
PIN(ncclNet_v10_t, closeListen, 128, 8);
PIN(ncclNet_v10_t, getDeviceMr, 136, 8);
PIN(ncclNet_v10_t, irecvConsumed, 144, 8);
PIN(ncclNet_v10_t, makeVDevice, 152, 8);

static_assert(sizeof(ncclNet_v11_t) == 176);
PIN(ncclNet_v11_t, name, 0, 8);
PIN(ncclNet_v11_t, init, 8, 8);
PIN(ncclNet_v11_t, devices, 16, 8);
PIN(ncclNet_v11_t, getProperties, 24, 8);
PIN(ncclNet_v11_t, listen, 32, 8);
PIN(ncclNet_v11_t, connect, 40, 8);
PIN(ncclNet_v11_t, accept, 48, 8);
PIN(ncclNet_v11_t, regMr, 56, 8);
PIN(ncclNet_v11_t, regMrDmaBuf, 64, 8);
PIN(ncclNet_v11_t, deregMr, 72, 8);
PIN(ncclNet_v11_t, isend, 80, 8);
PIN(ncclNet_v11_t, irecv, 88, 8);
PIN(ncclNet_v11_t, iflush, 96, 8);
PIN(ncclNet_v11_t, test, 104, 8);
PIN(ncclNet_v11_t, closeSend, 112, 8);
PIN(ncclNet_v11_t, closeRecv, 120, 8);
PIN(ncclNet_v11_t, closeListen, 128, 8);
PIN(ncclNet_v11_t, getDeviceMr, 136, 8);
PIN(ncclNet_v11_t, irecvConsumed, 144, 8);
PIN(ncclNet_v11_t, makeVDevice, 152, 8);
PIN(ncclNet_v11_t, finalize, 160, 8);
PIN(ncclNet_v11_t, setNetAttr, 168, 8);

static_assert(sizeof(ncclNet_v12_t) == 176);
PIN(ncclNet_v12_t, name, 0, 8);
PIN(ncclNet_v12_t, init, 8, 8);
PIN(ncclNet_v12_t, devices, 16, 8);
PIN(ncclNet_v12_t, getProperties, 24, 8);
PIN(ncclNet_v12_t, listen, 32, 8);
PIN(ncclNet_v12_t, connect, 40, 8);
PIN(ncclNet_v12_t, accept, 48, 8);
PIN(ncclNet_v12_t, regMr, 56, 8);
PIN(ncclNet_v12_t, regMrDmaBuf, 64, 8);
PIN(ncclNet_v12_t, deregMr, 72, 8);
PIN(ncclNet_v12_t, isend, 80, 8);
PIN(ncclNet_v12_t, irecv, 88, 8);
PIN(ncclNet_v12_t, iflush, 96, 8);
PIN(ncclNet_v12_t, test, 104, 8);
PIN(ncclNet_v12_t, closeSend, 112, 8);
PIN(ncclNet_v12_t, closeRecv, 120, 8);
PIN(ncclNet_v12_t, closeListen, 128, 8);
PIN(ncclNet_v12_t, getDeviceMr, 136, 8);
PIN(ncclNet_v12_t, irecvConsumed, 144, 8);
PIN(ncclNet_v12_t, makeVDevice, 152, 8);
PIN(ncclNet_v12_t, finalize, 160, 8);
PIN(ncclNet_v12_t, setNetAttr, 168, 8);

static_assert(sizeof(ncclNetProperties_v4_t) == 40 && alignof(ncclNetProperties_v4_t) == 8);
PIN(ncclNetProperties_v4_t, name, 0, 8);
PIN(ncclNetProperties_v4_t, pciPath, 8, 8);
PIN(ncclNetProperties_v4_t, guid, 16, 8);
PIN(ncclNetProperties_v4_t, ptrSupport, 24, 4);
PIN(ncclNetProperties_v4_t, speed, 28, 4);
PIN(ncclNetProperties_v4_t, port, 32, 4);
PIN(ncclNetProperties_v4_t, maxComms, 36, 4);

static_assert(sizeof(ncclNetProperties_v5_t) == 48 && alignof(ncclNetProperties_v5_t) == 8);
PIN(ncclNetProperties_v5_t, name, 0, 8);
PIN(ncclNetProperties_v5_t, pciPath, 8, 8);
PIN(ncclNetProperties_v5_t, guid, 16, 8);
PIN(ncclNetProperties_v5_t, ptrSupport, 24, 4);
PIN(ncclNetProperties_v5_t, speed, 28, 4);
PIN(ncclNetProperties_v5_t, port, 32, 4);
PIN(ncclNetProperties_v5_t, latency, 36, 4);
PIN(ncclNetProperties_v5_t, maxComms, 40, 4);
PIN(ncclNetProperties_v5_t, maxRecvs, 44, 4);

static_assert(sizeof(ncclNetProperties_v6_t) == 48 && alignof(ncclNetProperties_v6_t) == 8);
PIN(ncclNetProperties_v6_t, name, 0, 8);
PIN(ncclNetProperties_v6_t, pciPath, 8, 8);
PIN(ncclNetProperties_v6_t, guid, 16, 8);
PIN(ncclNetProperties_v6_t, ptrSupport, 24, 4);
PIN(ncclNetProperties_v6_t, speed, 28, 4);
PIN(ncclNetProperties_v6_t, port, 32, 4);
PIN(ncclNetProperties_v6_t, latency, 36, 4);
PIN(ncclNetProperties_v6_t, maxComms, 40, 4);
PIN(ncclNetProperties_v6_t, maxRecvs, 44, 4);

static_assert(sizeof(ncclNetProperties_v7_t) == 56 && alignof(ncclNetProperties_v7_t) == 8);
PIN(ncclNetProperties_v7_t, name, 0, 8);
PIN(ncclNetProperties_v7_t, pciPath, 8, 8);
PIN(ncclNetProperties_v7_t, guid, 16, 8);
PIN(ncclNetProperties_v7_t, ptrSupport, 24, 4);
PIN(ncclNetProperties_v7_t, speed, 28, 4);
PIN(ncclNetProperties_v7_t, port, 32, 4);
PIN(ncclNetProperties_v7_t, latency, 36, 4);
PIN(ncclNetProperties_v7_t, maxComms, 40, 4);
PIN(ncclNetProperties_v7_t, maxRecvs, 44, 4);
PIN(ncclNetProperties_v7_t, netDeviceType, 48, 4);
PIN(ncclNetProperties_v7_t, netDeviceVersion, 52, 4);

static_assert(sizeof(ncclNetProperties_v8_t) == 64 && alignof(ncclNetProperties_v8_t) == 8);
PIN(ncclNetProperties_v8_t, name, 0, 8);
PIN(ncclNetProperties_v8_t, pciPath, 8, 8);
PIN(ncclNetProperties_v8_t, guid, 16, 8);
PIN(ncclNetProperties_v8_t, ptrSupport, 24, 4);
PIN(ncclNetProperties_v8_t, regIsGlobal, 28, 4);
PIN(ncclNetProperties_v8_t, speed, 32, 4);
PIN(ncclNetProperties_v8_t, port, 36, 4);
PIN(ncclNetProperties_v8_t, latency, 40, 4);
PIN(ncclNetProperties_v8_t, maxComms, 44, 4);
PIN(ncclNetProperties_v8_t, maxRecvs, 48, 4);
PIN(ncclNetProperties_v8_t, netDeviceType, 52, 4);
PIN(ncclNetProperties_v8_t, netDeviceVersion, 56, 4);

static_assert(sizeof(ncclNetProperties_v9_t) == 104 && alignof(ncclNetProperties_v9_t) == 8);
PIN(ncclNetProperties_v9_t, name, 0, 8);
PIN(ncclNetProperties_v9_t, pciPath, 8, 8);
PIN(ncclNetProperties_v9_t, guid, 16, 8);
PIN(ncclNetProperties_v9_t, ptrSupport, 24, 4);
PIN(ncclNetProperties_v9_t, regIsGlobal, 28, 4);
PIN(ncclNetProperties_v9_t, forceFlush, 32, 4);
PIN(ncclNetProperties_v9_t, speed, 36, 4);
PIN(ncclNetProperties_v9_t, port, 40, 4);
PIN(ncclNetProperties_v9_t, latency, 44, 4);
PIN(ncclNetProperties_v9_t, maxComms, 48, 4);
PIN(ncclNetProperties_v9_t, maxRecvs, 52, 4);
PIN(ncclNetProperties_v9_t, netDeviceType, 56, 4);
PIN(ncclNetProperties_v9_t, netDeviceVersion, 60, 4);
PIN(ncclNetProperties_v9_t, vProps, 64, 20);
PIN(ncclNetProperties_v9_t, maxP2pBytes, 88, 8);
PIN(ncclNetProperties_v9_t, maxCollBytes, 96, 8);

static_assert(sizeof(ncclNetProperties_v10_t) == 104 && alignof(ncclNetProperties_v10_t) == 8);
PIN(ncclNetProperties_v10_t, name, 0, 8);
PIN(ncclNetProperties_v10_t, pciPath, 8, 8);
PIN(ncclNetProperties_v10_t, guid, 16, 8);
PIN(ncclNetProperties_v10_t, ptrSupport, 24, 4);
PIN(ncclNetProperties_v10_t, regIsGlobal, 28, 4);
PIN(ncclNetProperties_v10_t, forceFlush, 32, 4);
PIN(ncclNetProperties_v10_t, speed, 36, 4);
PIN(ncclNetProperties_v10_t, port, 40, 4);
PIN(ncclNetProperties_v10_t, latency, 44, 4);
PIN(ncclNetProperties_v10_t, maxComms, 48, 4);
PIN(ncclNetProperties_v10_t, maxRecvs, 52, 4);
PIN(ncclNetProperties_v10_t, netDeviceType, 56, 4);
PIN(ncclNetProperties_v10_t, netDeviceVersion, 60, 4);
PIN(ncclNetProperties_v10_t, vProps, 64, 20);
PIN(ncclNetProperties_v10_t, maxP2pBytes, 88, 8);
PIN(ncclNetProperties_v10_t, maxCollBytes, 96, 8);

static_assert(sizeof(ncclNetProperties_v11_t) == 112 && alignof(ncclNetProperties_v11_t) == 8);
PIN(ncclNetProperties_v11_t, name, 0, 8);
PIN(ncclNetProperties_v11_t, pciPath, 8, 8);
PIN(ncclNetProperties_v11_t, guid, 16, 8);
PIN(ncclNetProperties_v11_t, ptrSupport, 24, 4);
PIN(ncclNetProperties_v11_t, regIsGlobal, 28, 4);
PIN(ncclNetProperties_v11_t, forceFlush, 32, 4);
PIN(ncclNetProperties_v11_t, speed, 36, 4);
PIN(ncclNetProperties_v11_t, port, 40, 4);
PIN(ncclNetProperties_v11_t, latency, 44, 4);
PIN(ncclNetProperties_v11_t, maxComms, 48, 4);
PIN(ncclNetProperties_v11_t, maxRecvs, 52, 4);
PIN(ncclNetProperties_v11_t, netDeviceType, 56, 4);
PIN(ncclNetProperties_v11_t, netDeviceVersion, 60, 4);
PIN(ncclNetProperties_v11_t, vProps, 64, 20);
PIN(ncclNetProperties_v11_t, maxP2pBytes, 88, 8);
PIN(ncclNetProperties_v11_t, maxCollBytes, 96, 8);
PIN(ncclNetProperties_v11_t, maxMultiRequestSize, 104, 4);

static_assert(sizeof(ncclNetProperties_v12_t) == 128 && alignof(ncclNetProperties_v12_t) == 8);
PIN(ncclNetProperties_v12_t, name, 0, 8);
PIN(ncclNetProperties_v12_t, pciPath, 8, 8);
PIN(ncclNetProperties_v12_t, guid, 16, 8);
PIN(ncclNetProperties_v12_t, ptrSupport, 24, 4);
PIN(ncclNetProperties_v12_t, regIsGlobal, 28, 4);
PIN(ncclNetProperties_v12_t, forceFlush, 32, 4);
PIN(ncclNetProperties_v12_t, speed, 36, 4);
PIN(ncclNetProperties_v12_t, port, 40, 4);
PIN(ncclNetProperties_v12_t, latency, 44, 4);
PIN(ncclNetProperties_v12_t, maxComms, 48, 4);
PIN(ncclNetProperties_v12_t, maxRecvs, 52, 4);
PIN(ncclNetProperties_v12_t, netDeviceType, 56, 4);
PIN(ncclNetProperties_v12_t, netDeviceVersion, 60, 4);
PIN(ncclNetProperties_v12_t, vProps, 64, 36);
PIN(ncclNetProperties_v12_t, maxP2pBytes, 104, 8);
PIN(ncclNetProperties_v12_t, maxCollBytes, 112, 8);
PIN(ncclNetProperties_v12_t, maxMultiRequestSize, 120, 4);
PIN(ncclNetProperties_v12_t, railId, 124, 2);
PIN(ncclNetProperties_v12_t, planeId, 126, 2);

static_assert(sizeof(ncclNetVDeviceProps_v9_t) == 20 && alignof(ncclNetVDeviceProps_v9_t) == 4);
PIN(ncclNetVDeviceProps_v9_t, ndevs, 0, 4);
PIN(ncclNetVDeviceProps_v9_t, devs, 4, 16);

static_assert(sizeof(ncclNetVDeviceProps_v12_t) == 36 && alignof(ncclNetVDeviceProps_v12_t) == 4);
PIN(ncclNetVDeviceProps_v12_t, ndevs, 0, 4);
PIN(ncclNetVDeviceProps_v12_t, devs, 4, 32);

static_assert(sizeof(ncclNetDeviceHandle_v7_t) == 32 && alignof(ncclNetDeviceHandle_v7_t) == 8);
PIN(ncclNetDeviceHandle_v7_t, netDeviceType, 0, 4);
PIN(ncclNetDeviceHandle_v7_t, netDeviceVersion, 4, 4);
PIN(ncclNetDeviceHandle_v7_t, handle, 8, 8);
PIN(ncclNetDeviceHandle_v7_t, size, 16, 8);
PIN(ncclNetDeviceHandle_v7_t, needsProxyProgress, 24, 4);

static_assert(sizeof(ncclNetCommConfig_v10_t) == 4 && alignof(ncclNetCommConfig_v10_t) == 4);
PIN(ncclNetCommConfig_v10_t, trafficClass, 0, 4);

static_assert(sizeof(ncclNetCommAttr_v11_t) == 16 && alignof(ncclNetCommAttr_v11_t) == 4);
PIN(ncclNetCommAttr_v11_t, maxConcurrentPeers, 0, 4);
PIN(ncclNetCommAttr_v11_t, minConcurrentPeers, 4, 4);
PIN(ncclNetCommAttr_v11_t, maxFlowsPerPeer, 8, 4);
PIN(ncclNetCommAttr_v11_t, minFlowsPerPeer, 12, 4);

static_assert(sizeof(ncclNetAttr_v11_t) == 44 && alignof(ncclNetAttr_v11_t) == 4);
PIN(ncclNetAttr_v11_t, sendCommAttr, 0, 16);
PIN(ncclNetAttr_v11_t, recvCommAttr, 16, 16);
PIN(ncclNetAttr_v11_t, op, 32, 4);
PIN(ncclNetAttr_v11_t, algo, 36, 4);
PIN(ncclNetAttr_v11_t, proto, 40, 4);

// The compiler has checked it; the run shows that the file was compiled.
TEST(NetAbi, LayoutsAreNccls) { EXPECT_EQ(NCCL_NET_HANDLE_MAXSIZE, 128); }

}  // namespace
