// The layouts of NCCL's profiler event descriptors, versions 1 to 7, as NCCL's binaries use them:
// our own declarations. Must not be used with any other meaning than NCCL's;
// tests/plugin/abi_layout_test.cc pins every offset. A struct that did not change is used again:
// the differences are the interface's history (docs/abi.md).
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// ---- Parts of event descriptors, named by the version that introduced them ----
struct ncclProxyOpDescr_v1_t {
  int pid;
  std::uint8_t channelId;
  int peer;
  int nSteps;
  int chunkSize;
  int isSend;
};
struct ncclProxyStepDescr_v1_t {
  int step;
};

struct ncclCollDescr_v1_t {
  const char* name;
  std::uint64_t commHash;
  std::uint64_t seqNumber;
  std::uint8_t func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  std::uint8_t datatype;
  std::uint32_t op;
  std::size_t trafficBytes;
  std::uint8_t nMaxChannels;
  std::uint8_t nWarps;
  std::uint8_t algo;
  std::uint8_t proto;
  int isCollnet;
  int isNvls;
};
struct ncclP2pDescr_v1_t {
  const char* name;
  std::uint64_t commHash;
  std::uint8_t func;
  void* buff;
  std::uint8_t datatype;
  std::size_t count;
  int peer;
};

struct ncclCollDescr_v2_t {
  const char* name;
  std::uint64_t commHash;
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  std::size_t trafficBytes;
  std::uint8_t nMaxChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
};
struct ncclP2pDescr_v2_t {
  const char* name;
  std::uint64_t commHash;
  const char* func;
  void* buff;
  const char* datatype;
  std::size_t count;
  int peer;
};

struct ncclCollDescr_v3_t {
  const char* name;
  std::uint64_t commHash;
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t nMaxChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
};
typedef ncclP2pDescr_v2_t ncclP2pDescr_v3_t;
struct ncclKernelChDescr_v3_t {
  std::uint8_t channelId;
};
struct ncclNetPluginDescr_v3_t {
  std::int64_t id;
  void* data;
};

struct ncclCollDescr_v4_t {
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t nChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
};
struct ncclP2pDescr_v4_t {
  const char* func;
  void* buff;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t nChannels;
};
struct ncclKernelChDescr_v4_t {
  std::uint8_t channelId;
  std::uint64_t pTimer;
};

struct ncclGroupApiDescr_v5_t {
  bool graphCaptured;
  int groupDepth;
};
struct ncclCollApiDescr_v5_t {
  const char* func;
  std::size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool graphCaptured;
};
struct ncclP2pApiDescr_v5_t {
  const char* func;
  std::size_t count;
  const char* datatype;
  void* stream;
  bool graphCaptured;
};
struct ncclKernelLaunchDescr_v5_t {
  void* stream;
};
struct ncclCollDescr_v5_t {
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t nChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
  void* parentGroup;
};
struct ncclP2pDescr_v5_t {
  const char* func;
  void* buff;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t nChannels;
  void* parentGroup;
};

struct ncclCeCollDescr_v6_t {
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  const char* syncStrategy;
  bool intraBatchSync;
  std::uint32_t batchSize;
  std::uint32_t numBatches;
  std::uint32_t ceSeqNum;
  void* stream;
};
struct ncclCeSyncDescr_v6_t {
  bool isComplete;
  int nRanks;
};
struct ncclCeBatchDescr_v6_t {
  int numOps;
  std::size_t totalBytes;
  bool useIntraSync;
};

struct ncclCollApiDescr_v7_t {
  const char* func;
  std::size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool graphCaptured;
  std::uint64_t userTag;
};
struct ncclP2pApiDescr_v7_t {
  const char* func;
  std::size_t count;
  const char* datatype;
  void* stream;
  bool graphCaptured;
  std::uint64_t userTag;
};
struct ncclCollDescr_v7_t {
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t nChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
  void* parentGroup;
  const char* kernelVariant;
  bool isSymColl;
  std::uint64_t userTag;
};
struct ncclP2pDescr_v7_t {
  const char* func;
  void* buff;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t nChannels;
  void* parentGroup;
  std::uint64_t userTag;
};
struct ncclCeCollDescr_v7_t {
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  const char* syncStrategy;
  bool intraBatchSync;
  std::uint32_t batchSize;
  std::uint32_t numBatches;
  std::uint32_t ceSeqNum;
  void* stream;
  std::uint64_t userTag;
};
struct ncclKernelPhaseDescr_v7_t {
  std::uint8_t channelId;
  std::uint8_t phaseId;
  const char* phaseName;
  std::uint64_t pTimer;
};

// ---- Event descriptors ----
struct ncclProfilerEventDescr_v1_t {
  std::uint8_t type;
  void* parentObj;
  int rank;
  union {
    ncclCollDescr_v1_t coll;
    ncclP2pDescr_v1_t p2p;
    ncclProxyOpDescr_v1_t proxyOp;
    ncclProxyStepDescr_v1_t proxyStep;
  };
};
struct ncclProfilerEventDescr_v2_t {
  std::uint8_t type;
  void* parentObj;
  int rank;
  union {
    ncclCollDescr_v2_t coll;
    ncclP2pDescr_v2_t p2p;
    ncclProxyOpDescr_v1_t proxyOp;
    ncclProxyStepDescr_v1_t proxyStep;
  };
};
struct ncclProfilerEventDescr_v3_t {
  std::uint8_t type;
  void* parentObj;
  int rank;
  union {
    ncclCollDescr_v3_t coll;
    ncclP2pDescr_v3_t p2p;
    ncclProxyOpDescr_v1_t proxyOp;
    ncclProxyStepDescr_v1_t proxyStep;
    ncclKernelChDescr_v3_t kernelCh;
    ncclNetPluginDescr_v3_t netPlugin;
  };
};
struct ncclProfilerEventDescr_v4_t {
  std::uint8_t type;
  void* parentObj;
  int rank;
  union {
    ncclCollDescr_v4_t coll;
    ncclP2pDescr_v4_t p2p;
    ncclProxyOpDescr_v1_t proxyOp;
    ncclProxyStepDescr_v1_t proxyStep;
    ncclKernelChDescr_v4_t kernelCh;
    ncclNetPluginDescr_v3_t netPlugin;
  };
};
struct ncclProfilerEventDescr_v5_t {
  std::uint64_t type;
  void* parentObj;
  int rank;
  union {
    ncclGroupApiDescr_v5_t groupApi;
    ncclCollApiDescr_v5_t collApi;
    ncclP2pApiDescr_v5_t p2pApi;
    ncclKernelLaunchDescr_v5_t kernelLaunch;
    ncclCollDescr_v5_t coll;
    ncclP2pDescr_v5_t p2p;
    ncclProxyOpDescr_v1_t proxyOp;
    ncclProxyStepDescr_v1_t proxyStep;
    ncclKernelChDescr_v4_t kernelCh;
    ncclNetPluginDescr_v3_t netPlugin;
  };
};
struct ncclProfilerEventDescr_v6_t {
  std::uint64_t type;
  void* parentObj;
  int rank;
  union {
    ncclGroupApiDescr_v5_t groupApi;
    ncclCollApiDescr_v5_t collApi;
    ncclP2pApiDescr_v5_t p2pApi;
    ncclKernelLaunchDescr_v5_t kernelLaunch;
    ncclCollDescr_v5_t coll;
    ncclP2pDescr_v5_t p2p;
    ncclProxyOpDescr_v1_t proxyOp;
    ncclProxyStepDescr_v1_t proxyStep;
    ncclKernelChDescr_v4_t kernelCh;
    ncclNetPluginDescr_v3_t netPlugin;
    ncclCeCollDescr_v6_t ceColl;
    ncclCeSyncDescr_v6_t ceCollSync;
    ncclCeBatchDescr_v6_t ceCollBatch;
  };
};
struct ncclProfilerEventDescr_v7_t {
  std::uint64_t type;
  void* parentObj;
  int rank;
  union {
    ncclGroupApiDescr_v5_t groupApi;
    ncclCollApiDescr_v7_t collApi;
    ncclP2pApiDescr_v7_t p2pApi;
    ncclKernelLaunchDescr_v5_t kernelLaunch;
    ncclCollDescr_v7_t coll;
    ncclP2pDescr_v7_t p2p;
    ncclProxyOpDescr_v1_t proxyOp;
    ncclProxyStepDescr_v1_t proxyStep;
    ncclKernelChDescr_v4_t kernelCh;
    ncclNetPluginDescr_v3_t netPlugin;
    ncclCeCollDescr_v7_t ceColl;
    ncclCeSyncDescr_v6_t ceCollSync;
    ncclCeBatchDescr_v6_t ceCollBatch;
    ncclKernelPhaseDescr_v7_t kernelPhase;
  };
};

}  // extern "C"
