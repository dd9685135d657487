// threads GPUS [COUNT]: all ranks in one process (ncclCommInitAll); grouped launches, then one
// thread per rank.
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/softgpu/nccl_api.h"

struct Gpu {
  ncclComm_t comm;
  void* stream;
  float* buffer;
};
static size_t count;
static std::vector<Gpu> gpus;

static void Upload(int g) {
  std::vector<float> host(count);
  for (size_t i = 0; i < count; i++) host[i] = static_cast<float>(g + static_cast<int>(i % 17));
  CUDA_CHECK(cudaSetDevice(g));
  CUDA_CHECK(cudaMemcpy(gpus[g].buffer, host.data(), count * sizeof(float), kCudaHostToDevice));
}

static size_t WrongSums(int g) {
  int n = static_cast<int>(gpus.size());
  std::vector<float> host(count);
  CUDA_CHECK(cudaSetDevice(g));
  CUDA_CHECK(cudaMemcpy(host.data(), gpus[g].buffer, count * sizeof(float), kCudaDeviceToHost));
  size_t wrong = 0;
  for (size_t i = 0; i < count; i++)
    wrong += host[i] != static_cast<float>(n * (n - 1) / 2 + n * static_cast<int>(i % 17));
  return wrong;
}

static void AllReduce(int g) {
  NCCL_CHECK(ncclAllReduce(gpus[g].buffer, gpus[g].buffer, count, ncclFloat32, ncclSum,
                           gpus[g].comm, gpus[g].stream));
}

int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 2;
  count = argc > 2 ? strtoull(argv[2], nullptr, 0) : 100000;
  gpus.resize(n);
  std::vector<ncclComm_t> comms(n);
  NCCL_CHECK(ncclCommInitAll(comms.data(), n, nullptr));
  size_t wrong = 0;
  for (int g = 0; g < n; g++) {
    gpus[g].comm = comms[g];
    CUDA_CHECK(cudaSetDevice(g));
    CUDA_CHECK(cudaStreamCreateWithFlags(&gpus[g].stream, kCudaStreamNonBlocking));
    CUDA_CHECK(cudaMalloc((void**)&gpus[g].buffer, count * sizeof(float)));
    Upload(g);
  }
  NCCL_CHECK(ncclGroupStart());
  for (int g = 0; g < n; g++) AllReduce(g);
  NCCL_CHECK(ncclGroupEnd());
  for (int g = 0; g < n; g++) CUDA_CHECK(cudaStreamSynchronize(gpus[g].stream));
  for (int g = 0; g < n; g++) wrong += WrongSums(g);
  printf("threads: grouped, %d GPUs: %zu wrong\n", n, wrong);

  for (int g = 0; g < n; g++) Upload(g);
  std::vector<std::thread> threads;
  for (int g = 0; g < n; g++) {
    threads.emplace_back([g] {
      CUDA_CHECK(cudaSetDevice(g));
      AllReduce(g);
      CUDA_CHECK(cudaStreamSynchronize(gpus[g].stream));
    });
  }
  for (auto& t : threads) t.join();
  for (int g = 0; g < n; g++) wrong += WrongSums(g);
  printf("threads: a thread per GPU, %d GPUs: %zu wrong\n", n, wrong);
  for (auto& g : gpus) NCCL_CHECK(ncclCommDestroy(g.comm));
  return wrong != 0;
}
