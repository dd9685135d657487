// The layouts of NCCL's network plugin interface, versions 4 to 12, as NCCL's binaries use them:
// our own declarations. Must not be used with any other meaning than NCCL's;
// tests/plugin/abi_layout_test.cc pins every offset. A struct that did not change aliases the one
// before: the differences are the interface's history (docs/abi.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugin/abi/nccl_types.h"

extern "C" {

enum { NCCL_PTR_HOST = 1, NCCL_PTR_CUDA = 2, NCCL_PTR_DMABUF = 4 };
enum { NCCL_NET_HANDLE_MAXSIZE = 128, NCCL_NET_MAX_REQUESTS = 32 };

struct ncclNetVDeviceProps_v9_t {
  int ndevs;
  int devs[4];
};
struct ncclNetVDeviceProps_v12_t {
  int ndevs;
  int devs[8];
};

struct ncclNetProperties_v4_t {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int speed;
  int port;
  int maxComms;
};
struct ncclNetProperties_v5_t {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
};
typedef ncclNetProperties_v5_t ncclNetProperties_v6_t;
struct ncclNetProperties_v7_t {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
};
struct ncclNetProperties_v8_t {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
};
struct ncclNetProperties_v9_t {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int forceFlush;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
  ncclNetVDeviceProps_v9_t vProps;
  std::size_t maxP2pBytes;
  std::size_t maxCollBytes;
};
typedef ncclNetProperties_v9_t ncclNetProperties_v10_t;
struct ncclNetProperties_v11_t {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int forceFlush;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
  ncclNetVDeviceProps_v9_t vProps;
  std::size_t maxP2pBytes;
  std::size_t maxCollBytes;
  int maxMultiRequestSize;
};
struct ncclNetProperties_v12_t {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int forceFlush;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
  ncclNetVDeviceProps_v12_t vProps;
  std::size_t maxP2pBytes;
  std::size_t maxCollBytes;
  int maxMultiRequestSize;
  std::int16_t railId;
  std::int16_t planeId;
};

struct ncclNetDeviceHandle_v7_t {
  int netDeviceType;
  int netDeviceVersion;
  void* handle;
  std::size_t size;
  int needsProxyProgress;
};
struct ncclNetCommConfig_v10_t {
  int trafficClass;
};
struct ncclNetCommAttr_v11_t {
  std::int32_t maxConcurrentPeers;
  std::int32_t minConcurrentPeers;
  std::int32_t maxFlowsPerPeer;
  std::int32_t minFlowsPerPeer;
};
struct ncclNetAttr_v11_t {
  ncclNetCommAttr_v11_t sendCommAttr;
  ncclNetCommAttr_v11_t recvCommAttr;
  std::uint32_t op;
  std::uint32_t algo;
  std::uint32_t proto;
};

// NCCL's callback for events of network plugins.
typedef ncclResult_t (*ncclProfilerCallback_t)(void** eHandle, int type, void* phandle,
                                               std::int64_t pluginId, void* extData);

// Shared by versions 4 to 10: the plugin has no context of its own.
#define CHOKEPOINT_NET_HEAD(version, ...) \
  const char* name;                       \
  ncclResult_t (*init)(__VA_ARGS__);      \
  ncclResult_t (*devices)(int* ndev);     \
  ncclResult_t (*getProperties)(int dev, ncclNetProperties_##version##_t* props);
#define CHOKEPOINT_NET_TAIL                                   \
  ncclResult_t (*test)(void* request, int* done, int* sizes); \
  ncclResult_t (*closeSend)(void* sendComm);                  \
  ncclResult_t (*closeRecv)(void* recvComm);                  \
  ncclResult_t (*closeListen)(void* listenComm);

struct ncclNet_v4_t {
  CHOKEPOINT_NET_HEAD(v4, ncclDebugLogger_t)
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(int dev, void* handle, void** sendComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm);
  ncclResult_t (*regMr)(void* comm, void* data, int size, int type, void** mhandle);
  ncclResult_t (*deregMr)(void* comm, void* mhandle);
  ncclResult_t (*isend)(void* sendComm, void* data, int size, void* mhandle, void** request);
  ncclResult_t (*irecv)(void* recvComm, void* data, int size, void* mhandle, void** request);
  ncclResult_t (*iflush)(void* recvComm, void* data, int size, void* mhandle, void** request);
  CHOKEPOINT_NET_TAIL
};
struct ncclNet_v5_t {
  CHOKEPOINT_NET_HEAD(v5, ncclDebugLogger_t)
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(int dev, void* handle, void** sendComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm);
  ncclResult_t (*regMr)(void* comm, void* data, int size, int type, void** mhandle);
  ncclResult_t (*deregMr)(void* comm, void* mhandle);
  ncclResult_t (*isend)(void* sendComm, void* data, int size, int tag, void* mhandle,
                        void** request);
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, int* sizes, int* tags, void** mhandles,
                        void** request);
  ncclResult_t (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles,
                         void** request);
  CHOKEPOINT_NET_TAIL
};
struct ncclNet_v6_t {
  CHOKEPOINT_NET_HEAD(v6, ncclDebugLogger_t)
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(int dev, void* handle, void** sendComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm);
  ncclResult_t (*regMr)(void* comm, void* data, int size, int type, void** mhandle);
  ncclResult_t (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type,
                              std::uint64_t offset, int fd, void** mhandle);
  ncclResult_t (*deregMr)(void* comm, void* mhandle);
  ncclResult_t (*isend)(void* sendComm, void* data, int size, int tag, void* mhandle,
                        void** request);
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, int* sizes, int* tags, void** mhandles,
                        void** request);
  ncclResult_t (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles,
                         void** request);
  CHOKEPOINT_NET_TAIL
};
// v7: device handles, getDeviceMr, irecvConsumed. v8: regMr takes a size_t. v9: isend and irecv
// too; makeVDevice.
#define CHOKEPOINT_NET_V7_TO_V9(version, RegSize, DataSize)                                \
  CHOKEPOINT_NET_HEAD(version, ncclDebugLogger_t)                                          \
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);                        \
  ncclResult_t (*connect)(int dev, void* handle, void** sendComm,                          \
                          ncclNetDeviceHandle_v7_t** sendDevComm);                         \
  ncclResult_t (*accept)(void* listenComm, void** recvComm,                                \
                         ncclNetDeviceHandle_v7_t** recvDevComm);                          \
  ncclResult_t (*regMr)(void* comm, void* data, RegSize size, int type, void** mhandle);   \
  ncclResult_t (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type,          \
                              std::uint64_t offset, int fd, void** mhandle);               \
  ncclResult_t (*deregMr)(void* comm, void* mhandle);                                      \
  ncclResult_t (*isend)(void* sendComm, void* data, DataSize size, int tag, void* mhandle, \
                        void** request);                                                   \
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, DataSize* sizes, int* tags,    \
                        void** mhandles, void** request);                                  \
  ncclResult_t (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles,  \
                         void** request);                                                  \
  CHOKEPOINT_NET_TAIL                                                                      \
  ncclResult_t (*getDeviceMr)(void* comm, void* mhandle, void** dptr_mhandle);             \
  ncclResult_t (*irecvConsumed)(void* recvComm, int n, void* request);

struct ncclNet_v7_t {
  CHOKEPOINT_NET_V7_TO_V9(v7, int, int)
};
struct ncclNet_v8_t {
  CHOKEPOINT_NET_V7_TO_V9(v8, std::size_t, int)
};
struct ncclNet_v9_t {
  CHOKEPOINT_NET_V7_TO_V9(v9, std::size_t, std::size_t)
  ncclResult_t (*makeVDevice)(int* d, ncclNetVDeviceProps_v9_t* props);
};
struct ncclNet_v10_t {
  CHOKEPOINT_NET_HEAD(v10, ncclDebugLogger_t, ncclProfilerCallback_t)
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(int dev, ncclNetCommConfig_v10_t* config, void* handle, void** sendComm,
                          ncclNetDeviceHandle_v7_t** sendDevComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm, ncclNetDeviceHandle_v7_t** recvDevComm);
  ncclResult_t (*regMr)(void* comm, void* data, std::size_t size, int type, void** mhandle);
  ncclResult_t (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type,
                              std::uint64_t offset, int fd, void** mhandle);
  ncclResult_t (*deregMr)(void* comm, void* mhandle);
  ncclResult_t (*isend)(void* sendComm, void* data, std::size_t size, int tag, void* mhandle,
                        void* phandle, void** request);
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, std::size_t* sizes, int* tags,
                        void** mhandles, void** phandles, void** request);
  ncclResult_t (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles,
                         void** request);
  CHOKEPOINT_NET_TAIL
  ncclResult_t (*getDeviceMr)(void* comm, void* mhandle, void** dptr_mhandle);
  ncclResult_t (*irecvConsumed)(void* recvComm, int n, void* request);
  ncclResult_t (*makeVDevice)(int* d, ncclNetVDeviceProps_v9_t* props);
};
// v11: a context per communicator, finalize, setNetAttr. v12: other properties, eight virtual
// devices.
#define CHOKEPOINT_NET_V11_TO_V12(version, VProps)                                                \
  CHOKEPOINT_NET_HEAD(version, void** ctx, std::uint64_t commId, ncclNetCommConfig_v10_t* config, \
                      ncclDebugLogger_t logger, ncclProfilerCallback_t callback)                  \
  ncclResult_t (*listen)(void* ctx, int dev, void* handle, void** listenComm);                    \
  ncclResult_t (*connect)(void* ctx, int dev, void* handle, void** sendComm,                      \
                          ncclNetDeviceHandle_v7_t** sendDevComm);                                \
  ncclResult_t (*accept)(void* listenComm, void** recvComm,                                       \
                         ncclNetDeviceHandle_v7_t** recvDevComm);                                 \
  ncclResult_t (*regMr)(void* comm, void* data, std::size_t size, int type, void** mhandle);      \
  ncclResult_t (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type,                 \
                              std::uint64_t offset, int fd, void** mhandle);                      \
  ncclResult_t (*deregMr)(void* comm, void* mhandle);                                             \
  ncclResult_t (*isend)(void* sendComm, void* data, std::size_t size, int tag, void* mhandle,     \
                        void* phandle, void** request);                                           \
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, std::size_t* sizes, int* tags,        \
                        void** mhandles, void** phandles, void** request);                        \
  ncclResult_t (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles,         \
                         void** request);                                                         \
  CHOKEPOINT_NET_TAIL                                                                             \
  ncclResult_t (*getDeviceMr)(void* comm, void* mhandle, void** dptr_mhandle);                    \
  ncclResult_t (*irecvConsumed)(void* recvComm, int n, void* request);                            \
  ncclResult_t (*makeVDevice)(int* d, VProps* props);                                             \
  ncclResult_t (*finalize)(void* ctx);                                                            \
  ncclResult_t (*setNetAttr)(void* ctx, ncclNetAttr_v11_t* attr);

struct ncclNet_v11_t {
  CHOKEPOINT_NET_V11_TO_V12(v11, ncclNetVDeviceProps_v9_t)
};
struct ncclNet_v12_t {
  CHOKEPOINT_NET_V11_TO_V12(v12, ncclNetVDeviceProps_v12_t)
};

#undef CHOKEPOINT_NET_HEAD
#undef CHOKEPOINT_NET_TAIL
#undef CHOKEPOINT_NET_V7_TO_V9
#undef CHOKEPOINT_NET_V11_TO_V12

}  // extern "C"
