// The names of the CUDA runtime functions that the programs of this folder call, for the linker
// only: never loaded. It must not contain code that does anything.
#define LINK_NAME(name) \
  extern "C" void name() {}

LINK_NAME(cudaSetDevice)
LINK_NAME(cudaGetDeviceCount)
LINK_NAME(cudaMalloc)
LINK_NAME(cudaFree)
LINK_NAME(cudaMemcpy)
LINK_NAME(cudaMemcpyAsync)
LINK_NAME(cudaMemsetAsync)
LINK_NAME(cudaStreamCreateWithFlags)
LINK_NAME(cudaStreamDestroy)
LINK_NAME(cudaStreamSynchronize)
LINK_NAME(cudaStreamQuery)
LINK_NAME(cudaDeviceSynchronize)
LINK_NAME(cudaEventCreate)
LINK_NAME(cudaEventDestroy)
LINK_NAME(cudaEventRecord)
LINK_NAME(cudaEventElapsedTime)
LINK_NAME(cudaGetErrorString)
