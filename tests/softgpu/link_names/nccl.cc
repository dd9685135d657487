// The names of the NCCL functions that the programs of this folder call, for the linker only: never
// loaded. It must not contain code that does anything.
#define LINK_NAME(name) \
  extern "C" void name() {}

LINK_NAME(ncclGetVersion)
LINK_NAME(ncclGetUniqueId)
LINK_NAME(ncclCommInitRank)
LINK_NAME(ncclCommInitAll)
LINK_NAME(ncclCommSplit)
LINK_NAME(ncclCommFinalize)
LINK_NAME(ncclCommDestroy)
LINK_NAME(ncclCommAbort)
LINK_NAME(ncclCommGetAsyncError)
LINK_NAME(ncclGetErrorString)
LINK_NAME(ncclGetLastError)
LINK_NAME(ncclGroupStart)
LINK_NAME(ncclGroupEnd)
LINK_NAME(ncclAllReduce)
LINK_NAME(ncclBroadcast)
LINK_NAME(ncclReduce)
LINK_NAME(ncclAllGather)
LINK_NAME(ncclReduceScatter)
LINK_NAME(ncclSend)
LINK_NAME(ncclRecv)
LINK_NAME(ncclRedOpCreatePreMulSum)
LINK_NAME(ncclRedOpDestroy)
