// abort: two ranks in one process, only one of which takes part in an all-reduce.  Its kernel waits for ever, until
// ncclCommAbort ends it.
#include <cstdlib>

#include "tests/softgpu/nccl_api.h"

int main() {
  ncclComm_t comms[2];
  NC(ncclCommInitAll(comms, 2, nullptr));
  const size_t count = 1000;
  void *stream, *buffer;
  CU(cudaSetDevice(0));
  CU(cudaStreamCreateWithFlags(&stream, kStreamNonBlocking));
  CU(cudaMalloc(&buffer, count * sizeof(float)));
  NC(ncclAllReduce(buffer, buffer, count, ncclFloat32, ncclSum, comms[0], stream));
  usleep(500000);
  int query = cudaStreamQuery(stream);
  const int kNotReady = 600;
  printf("abort: before: stream query %d (%s)\n", query, query == kNotReady ? "kernel waits, as it should" : "UNEXPECTED");
  NC(ncclCommAbort(comms[0]));
  CU(cudaStreamSynchronize(stream));
  printf("abort: after ncclCommAbort: the kernel has ended\n");
  NC(ncclCommAbort(comms[1]));
  return query != kNotReady;
}
