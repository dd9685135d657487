// abort: two ranks in one process, only one of which takes part in an all-reduce. Its kernel waits
// for ever, until ncclCommAbort ends it. It must not end by itself: the timeout would hide a kernel
// that was not aborted.
#include <cstdlib>

#include "tests/softgpu/nccl_api.h"

int main() {
  ncclComm_t comms[2];
  NCCL_CHECK(ncclCommInitAll(comms, 2, nullptr));
  const size_t count = 1000;
  void* stream = nullptr;
  void* buffer = nullptr;
  CUDA_CHECK(cudaSetDevice(0));
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, kCudaStreamNonBlocking));
  CUDA_CHECK(cudaMalloc(&buffer, count * sizeof(float)));
  NCCL_CHECK(ncclAllReduce(buffer, buffer, count, ncclFloat32, ncclSum, comms[0], stream));
  usleep(500000);
  const int query = cudaStreamQuery(stream);
  printf("abort: before: stream query %d (%s)\n", query,
         query == kCudaErrorNotReady ? "kernel waits, as it should" : "UNEXPECTED");
  NCCL_CHECK(ncclCommAbort(comms[0]));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  printf("abort: after ncclCommAbort: the kernel has ended\n");
  NCCL_CHECK(ncclCommAbort(comms[1]));
  return query != kCudaErrorNotReady ? 1 : 0;
}
