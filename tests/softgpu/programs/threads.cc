// threads GPUS [COUNT]: all ranks in one process (ncclCommInitAll); grouped launches, then one
// thread per rank. It must not use more than one process.
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/softgpu/nccl_api.h"

namespace {

struct Gpu {
  int index = 0;
  int gpus = 0;
  size_t count = 0;
  ncclComm_t comm = nullptr;
  void* stream = nullptr;
  void* buffer = nullptr;

  void Prepare() {
    CUDA_CHECK(cudaSetDevice(index));
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, kCudaStreamNonBlocking));
    CUDA_CHECK(cudaMalloc(&buffer, count * sizeof(float)));
  }

  void Upload() {
    std::vector<float> host(count);
    for (size_t i = 0; i < count; i++) host[i] = static_cast<float>(index) + Pattern(i);
    CUDA_CHECK(cudaSetDevice(index));
    CUDA_CHECK(cudaMemcpy(buffer, host.data(), count * sizeof(float), kCudaHostToDevice));
  }

  void AllReduce() {
    NCCL_CHECK(ncclAllReduce(buffer, buffer, count, ncclFloat32, ncclSum, comm, stream));
  }

  size_t WrongSums() const {
    std::vector<float> host(count);
    CUDA_CHECK(cudaSetDevice(index));
    CUDA_CHECK(cudaMemcpy(host.data(), buffer, count * sizeof(float), kCudaDeviceToHost));
    const float sum_of_indices = static_cast<float>(gpus * (gpus - 1)) / 2;
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
      wrong += host[i] != sum_of_indices + static_cast<float>(gpus) * Pattern(i);
    }
    return wrong;
  }

  static float Pattern(size_t i) { return static_cast<float>(i % 17); }
};

size_t GroupedLaunches(std::vector<Gpu>* gpus) {
  for (Gpu& gpu : *gpus) gpu.Upload();
  NCCL_CHECK(ncclGroupStart());
  for (Gpu& gpu : *gpus) gpu.AllReduce();
  NCCL_CHECK(ncclGroupEnd());
  size_t wrong = 0;
  for (Gpu& gpu : *gpus) {
    CUDA_CHECK(cudaStreamSynchronize(gpu.stream));
    wrong += gpu.WrongSums();
  }
  return wrong;
}

size_t ThreadPerGpu(std::vector<Gpu>* gpus) {
  for (Gpu& gpu : *gpus) gpu.Upload();
  std::vector<std::thread> threads;
  for (Gpu& gpu : *gpus) {
    threads.emplace_back([&gpu] {
      CUDA_CHECK(cudaSetDevice(gpu.index));
      gpu.AllReduce();
      CUDA_CHECK(cudaStreamSynchronize(gpu.stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  size_t wrong = 0;
  for (const Gpu& gpu : *gpus) wrong += gpu.WrongSums();
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const int gpu_count = argc > 1 ? atoi(argv[1]) : 2;
  std::vector<Gpu> gpus(static_cast<size_t>(gpu_count));
  std::vector<ncclComm_t> comms(gpus.size());
  NCCL_CHECK(ncclCommInitAll(comms.data(), gpu_count, nullptr));
  for (size_t i = 0; i < gpus.size(); i++) {
    gpus[i].index = static_cast<int>(i);
    gpus[i].gpus = gpu_count;
    gpus[i].count = argc > 2 ? strtoull(argv[2], nullptr, 0) : 100000;
    gpus[i].comm = comms[i];
    gpus[i].Prepare();
  }
  const size_t wrong_grouped = GroupedLaunches(&gpus);
  printf("threads: grouped, %d GPUs: %zu wrong\n", gpu_count, wrong_grouped);
  const size_t wrong_threaded = ThreadPerGpu(&gpus);
  printf("threads: a thread per GPU, %d GPUs: %zu wrong\n", gpu_count, wrong_threaded);
  for (const ncclComm_t comm : comms) NCCL_CHECK(ncclCommDestroy(comm));
  return wrong_grouped + wrong_threaded != 0 ? 1 : 0;
}
