// threads GPUS [COUNT]: all ranks in one process (ncclCommInitAll); grouped launches, then one thread per rank.
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/softgpu/nccl_api.h"

struct Gpu {
  ncclComm_t comm;
  void *stream;
  float *buffer;
};
static size_t count;
static std::vector<Gpu> gpus;

static void upload(int g) {
  std::vector<float> host(count);
  for (size_t i = 0; i < count; i++) host[i] = (float)(g + (int)(i % 17));
  CU(cudaSetDevice(g));
  CU(cudaMemcpy(gpus[g].buffer, host.data(), count * sizeof(float), kHostToDevice));
}

static size_t wrongSums(int g) {
  int n = (int)gpus.size();
  std::vector<float> host(count);
  CU(cudaSetDevice(g));
  CU(cudaMemcpy(host.data(), gpus[g].buffer, count * sizeof(float), kDeviceToHost));
  size_t wrong = 0;
  for (size_t i = 0; i < count; i++) wrong += host[i] != (float)(n * (n - 1) / 2 + n * (int)(i % 17));
  return wrong;
}

static void allReduce(int g) {
  NC(ncclAllReduce(gpus[g].buffer, gpus[g].buffer, count, ncclFloat32, ncclSum, gpus[g].comm, gpus[g].stream));
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 2;
  count = argc > 2 ? strtoull(argv[2], nullptr, 0) : 100000;
  gpus.resize(n);
  std::vector<ncclComm_t> comms(n);
  NC(ncclCommInitAll(comms.data(), n, nullptr));
  size_t wrong = 0;
  for (int g = 0; g < n; g++) {
    gpus[g].comm = comms[g];
    CU(cudaSetDevice(g));
    CU(cudaStreamCreateWithFlags(&gpus[g].stream, kStreamNonBlocking));
    CU(cudaMalloc((void **)&gpus[g].buffer, count * sizeof(float)));
    upload(g);
  }
  NC(ncclGroupStart());
  for (int g = 0; g < n; g++) allReduce(g);
  NC(ncclGroupEnd());
  for (int g = 0; g < n; g++) CU(cudaStreamSynchronize(gpus[g].stream));
  for (int g = 0; g < n; g++) wrong += wrongSums(g);
  printf("threads: grouped, %d GPUs: %zu wrong\n", n, wrong);

  for (int g = 0; g < n; g++) upload(g);
  std::vector<std::thread> threads;
  for (int g = 0; g < n; g++)
    threads.emplace_back([g] {
      CU(cudaSetDevice(g));
      allReduce(g);
      CU(cudaStreamSynchronize(gpus[g].stream));
    });
  for (auto &t : threads) t.join();
  for (int g = 0; g < n; g++) wrong += wrongSums(g);
  printf("threads: a thread per GPU, %d GPUs: %zu wrong\n", n, wrong);
  for (auto &g : gpus) NC(ncclCommDestroy(g.comm));
  return wrong != 0;
}
