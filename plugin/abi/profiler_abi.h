// The function tables and state arguments of NCCL's profiler interface, versions 1 to 7: our own
// declarations. Must not be used with any other meaning than NCCL's;
// tests/plugin/abi_layout_test.cc pins every offset.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugin/abi/nccl_types.h"
#include "plugin/abi/profiler_descr.h"
#include "plugin/abi/profiler_events.h"

extern "C" {

// ---- State arguments ----
union ncclProfilerEventStateArgs_v1_t {
  struct {
    std::size_t transSize;
    int steps;
  } proxyOp;
  struct {
    int appendedProxyOps;
  } proxyCtrl;
};
typedef ncclProfilerEventStateArgs_v1_t ncclProfilerEventStateArgs_v2_t;
typedef ncclProfilerEventStateArgs_v1_t ncclProfilerEventStateArgs_v3_t;
union ncclProfilerEventStateArgs_v4_t {
  struct {
    std::size_t transSize;
  } proxyStep;
  struct {
    int appendedProxyOps;
  } proxyCtrl;
  struct {
    void* data;
  } netPlugin;
  struct {
    std::uint64_t pTimer;
  } kernelCh;
};
typedef ncclProfilerEventStateArgs_v4_t ncclProfilerEventStateArgs_v5_t;
typedef ncclProfilerEventStateArgs_v4_t ncclProfilerEventStateArgs_v6_t;
typedef ncclProfilerEventStateArgs_v4_t ncclProfilerEventStateArgs_v7_t;

// ---- Function tables: 48 bytes in all versions. `state` is an enumeration in C: an int. ----
#define CHOKEPOINT_PROFILER_TABLE(version, ...)                                             \
  struct ncclProfiler_##version##_t {                                                       \
    const char* name;                                                                       \
    ncclResult_t (*init)(__VA_ARGS__);                                                      \
    ncclResult_t (*startEvent)(void* context, void** eHandle,                               \
                               ncclProfilerEventDescr_##version##_t* eDescr);               \
    ncclResult_t (*stopEvent)(void* eHandle);                                               \
    ncclResult_t (*recordEventState)(void* eHandle, int eState,                             \
                                     ncclProfilerEventStateArgs_##version##_t* eStateArgs); \
    ncclResult_t (*finalize)(void* context);                                                \
  };
CHOKEPOINT_PROFILER_TABLE(v1, void** context, int* eActivationMask)
CHOKEPOINT_PROFILER_TABLE(v2, void** context, int* eActivationMask)
CHOKEPOINT_PROFILER_TABLE(v3, void** context, int* eActivationMask)
CHOKEPOINT_PROFILER_TABLE(v4, void** context, int* eActivationMask, const char* commName,
                          std::uint64_t commHash, int nNodes, int nRanks, int rank,
                          ncclDebugLogger_t logfn)
// v5 puts the communicator's id second and the mask third.
CHOKEPOINT_PROFILER_TABLE(v5, void** context, std::uint64_t commId, int* eActivationMask,
                          const char* commName, int nNodes, int nRanks, int rank,
                          ncclDebugLogger_t logfn)
CHOKEPOINT_PROFILER_TABLE(v6, void** context, std::uint64_t commId, int* eActivationMask,
                          const char* commName, int nNodes, int nRanks, int rank,
                          ncclDebugLogger_t logfn)
CHOKEPOINT_PROFILER_TABLE(v7, void** context, std::uint64_t commId, int* eActivationMask,
                          const char* commName, int nNodes, int nRanks, int rank,
                          ncclDebugLogger_t logfn)
#undef CHOKEPOINT_PROFILER_TABLE

}  // extern "C"
