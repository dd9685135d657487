// coll RANKS [COUNT...]: one process per rank; every collective, each result compared exactly with
// what it must be. It must not verify on the device: no kernel but NCCL's does anything there.
//
// COLL_RANKS_PER_HOST=N makes the ranks look like nodes of N GPUs. COLL_REPEAT=N repeats the float
// all-reduces.
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/softgpu/nccl_api.h"

namespace {

using I32 = int32_t;

// In memory that all ranks share.
struct Shared {
  std::atomic<bool> ready;
  ncclUniqueId id;
};

struct Rank {
  int rank = 0;
  int ranks = 0;
  ncclComm_t comm = nullptr;
  void* stream = nullptr;
  int failures = 0;

  size_t Ranks() const { return static_cast<size_t>(ranks); }
  void Report(const char* what, size_t count, size_t wrong) {
    failures += wrong != 0;
    if (rank != 0 && wrong == 0) return;
    fprintf(stderr, "rank %d: %-22s %8zu: %s (%zu wrong)\n", rank, what, count,
            wrong != 0 ? "WRONG" : "ok", wrong);
  }
};

int EnvironmentInt(const char* name, int fallback) {
  const char* const text = getenv(name);
  return text != nullptr ? atoi(text) : fallback;
}

template <class T>
T* Allocate(size_t elements) {
  void* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, elements * sizeof(T)));
  return static_cast<T*>(memory);
}

// What an operation is called with and how much of its result is to be compared.
struct Sizes {
  size_t count;     // as passed to NCCL
  size_t capacity;  // elements of the buffers
  size_t checked;
};

// Uploads what input(i) gives, runs the operation, and compares the results with expected(i).
template <class T, class Input, class Operation, class Expected>
void RunOne(Rank& r, const char* what, Sizes sizes, Input input, Operation operation,
            Expected expected) {
  T* const in = Allocate<T>(sizes.capacity);
  T* const out = Allocate<T>(sizes.capacity);
  std::vector<T> host(sizes.capacity);
  std::vector<T> result(sizes.capacity);
  const size_t bytes = sizes.capacity * sizeof(T);
  for (size_t i = 0; i < sizes.capacity; i++) host[i] = input(i);
  CUDA_CHECK(cudaMemcpyAsync(in, host.data(), bytes, kCudaHostToDevice, r.stream));
  CUDA_CHECK(cudaMemsetAsync(out, 0xff, bytes, r.stream));
  operation(in, out);
  CUDA_CHECK(cudaMemcpyAsync(result.data(), out, bytes, kCudaDeviceToHost, r.stream));
  CUDA_CHECK(cudaStreamSynchronize(r.stream));
  size_t wrong = 0;
  for (size_t i = 0; i < sizes.checked; i++) {
    const T want = expected(i);
    wrong += memcmp(&result[i], &want, sizeof(T)) != 0;
  }
  r.Report(what, sizes.count, wrong);
  CUDA_CHECK(cudaFree(in));
  CUDA_CHECK(cudaFree(out));
}

float FloatInput(int rank, size_t i) {
  return static_cast<float>((i * 7 + static_cast<size_t>(rank) * 13) % 97) - 40.0f;
}

void FloatAllReduce(Rank& r, size_t count) {
  const int repeat = EnvironmentInt("COLL_REPEAT", 1);
  void* begin = nullptr;
  void* end = nullptr;
  CUDA_CHECK(cudaEventCreate(&begin));
  CUDA_CHECK(cudaEventCreate(&end));
  const auto all_reduce = [&](float* in, float* out) {
    CUDA_CHECK(cudaEventRecord(begin, r.stream));
    for (int k = 0; k < repeat; k++) {
      NCCL_CHECK(ncclAllReduce(in, out, count, ncclFloat32, ncclSum, r.comm, r.stream));
    }
    CUDA_CHECK(cudaEventRecord(end, r.stream));
  };
  RunOne<float>(
      r, "allreduce float", {count, count, count}, [&](size_t i) { return FloatInput(r.rank, i); },
      all_reduce,
      [&](size_t i) {
        float sum = 0;
        for (int k = 0; k < r.ranks; k++) sum += FloatInput(k, i);
        return sum;
      });
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));
  ms /= static_cast<float>(repeat);
  if (r.rank == 0)
    fprintf(stderr, "rank 0: %zu floats, %.3f ms each\n", count, static_cast<double>(ms));
  CUDA_CHECK(cudaEventDestroy(begin));
  CUDA_CHECK(cudaEventDestroy(end));
}

I32 Value(size_t rank, size_t i) {
  return static_cast<I32>(static_cast<uint32_t>(rank) * 1000003u + static_cast<uint32_t>(i));
}

// The sum of all ranks' values, with wrap-around.
I32 Sum(const Rank& r, size_t i) {
  uint32_t sum = 0;
  for (size_t k = 0; k < r.Ranks(); k++) sum += static_cast<uint32_t>(Value(k, i));
  return static_cast<I32>(sum);
}

void IntegerReductions(Rank& r, size_t n) {
  const size_t rank = static_cast<size_t>(r.rank);
  const auto input = [&](size_t i) { return Value(rank, i); };
  const auto sum = [&](size_t i) { return Sum(r, i); };
  const auto all_reduce = [&](int op) {
    return [&r, n, op](I32* in, I32* out) {
      NCCL_CHECK(ncclAllReduce(in, out, n, ncclInt32, op, r.comm, r.stream));
    };
  };
  const Sizes same{n, n, n};
  RunOne<I32>(r, "allreduce int sum", same, input, all_reduce(ncclSum), sum);
  RunOne<I32>(r, "allreduce int max", same, input, all_reduce(ncclMax),
              [&](size_t i) { return Value(r.Ranks() - 1, i); });
  RunOne<I32>(r, "allreduce int min", same, input, all_reduce(ncclMin),
              [](size_t i) { return Value(0, i); });
  RunOne<I32>(
      r, "reduce int sum", {n, n, rank == 0 ? n : 0}, input,
      [&](I32* in, I32* out) {
        NCCL_CHECK(ncclReduce(in, out, n, ncclInt32, ncclSum, 0, r.comm, r.stream));
      },
      sum);
  RunOne<I32>(
      r, "reducescatter int sum", {n, n * r.Ranks(), n}, input,
      [&](I32* in, I32* out) {
        NCCL_CHECK(ncclReduceScatter(in, out, n, ncclInt32, ncclSum, r.comm, r.stream));
      },
      [&](size_t i) { return Sum(r, i + n * rank); });
}

void DoubleAverage(Rank& r, size_t n) {
  const bool is_exact = (r.ranks & (r.ranks - 1)) == 0;  // the factor is a power of two
  RunOne<double>(
      r, "allreduce double avg", {n, n, is_exact ? n : 0},
      [&](size_t i) { return r.rank * r.ranks + static_cast<double>(i % 1000); },
      [&](double* in, double* out) {
        NCCL_CHECK(ncclAllReduce(in, out, n, ncclFloat64, ncclAvg, r.comm, r.stream));
      },
      [&](size_t i) { return r.ranks * (r.ranks - 1) / 2.0 + static_cast<double>(i % 1000); });
}

void AllToAll(Rank& r, size_t n, I32* in, I32* out) {
  NCCL_CHECK(ncclGroupStart());
  for (int peer = 0; peer < r.ranks; peer++) {
    const size_t at = n * static_cast<size_t>(peer);
    NCCL_CHECK(ncclSend(in + at, n, ncclInt32, peer, r.comm, r.stream));
    NCCL_CHECK(ncclRecv(out + at, n, ncclInt32, peer, r.comm, r.stream));
  }
  NCCL_CHECK(ncclGroupEnd());
}

void DataMovement(Rank& r, size_t n) {
  const size_t rank = static_cast<size_t>(r.rank);
  const size_t last = r.Ranks() - 1;
  const size_t all = n * r.Ranks();
  const auto input = [&](size_t i) { return Value(rank, i); };
  RunOne<I32>(
      r, "broadcast", {n, n, n}, input,
      [&](I32* in, I32* out) {
        NCCL_CHECK(ncclBroadcast(in, out, n, ncclInt32, static_cast<int>(last), r.comm, r.stream));
      },
      [&](size_t i) { return Value(last, i); });
  RunOne<I32>(
      r, "allgather", {n, all, all}, input,
      [&](I32* in, I32* out) {
        NCCL_CHECK(ncclAllGather(in, out, n, ncclInt32, r.comm, r.stream));
      },
      [&](size_t i) { return Value(i / n, i % n); });
  RunOne<I32>(
      r, "send/recv all to all", {n, all, all}, input,
      [&](I32* in, I32* out) { AllToAll(r, n, in, out); },
      [&](size_t i) { return Value(i / n, n * rank + i % n); });
}

// A premultiplied sum; on a communicator of one rank it is a kernel of its own.
void PremultipliedSum(Rank& r) {
  float two = 2;
  int op = 0;
  NCCL_CHECK(ncclRedOpCreatePreMulSum(&op, &two, ncclFloat32, kNcclScalarHostImmediate, r.comm));
  const size_t n = 1000;
  RunOne<float>(
      r, "allreduce premulsum", {n, n, n},
      [&](size_t i) { return static_cast<float>(static_cast<size_t>(r.rank) + i); },
      [&](float* in, float* out) {
        NCCL_CHECK(ncclAllReduce(in, out, n, ncclFloat32, op, r.comm, r.stream));
      },
      [&](size_t i) {
        return static_cast<float>(r.Ranks() * (r.Ranks() - 1) + 2 * r.Ranks() * i);
      });
  NCCL_CHECK(ncclRedOpDestroy(op, r.comm));
}

int RunRank(int rank, int ranks, Shared* shared, const std::vector<size_t>& counts) {
  const int per_host = EnvironmentInt("COLL_RANKS_PER_HOST", 0);
  if (per_host != 0) {
    setenv("NCCL_HOSTID", ("softnode" + std::to_string(rank / per_host)).c_str(), 1);
  }
  Rank r;
  r.rank = rank;
  r.ranks = ranks;
  CUDA_CHECK(cudaSetDevice(per_host != 0 ? rank % per_host : rank));
  if (rank == 0) {
    NCCL_CHECK(ncclGetUniqueId(&shared->id));
    shared->ready = true;
  }
  while (!shared->ready) usleep(1000);
  NCCL_CHECK(ncclCommInitRank(&r.comm, ranks, shared->id, rank));
  CUDA_CHECK(cudaStreamCreateWithFlags(&r.stream, kCudaStreamNonBlocking));
  for (const size_t n : counts) FloatAllReduce(r, n);
  for (const size_t n : {size_t{257}, size_t{100003}}) {
    IntegerReductions(r, n);
    DoubleAverage(r, n);
    DataMovement(r, n);
  }
  PremultipliedSum(r);
  CUDA_CHECK(cudaStreamDestroy(r.stream));
  NCCL_CHECK(ncclCommFinalize(r.comm));
  NCCL_CHECK(ncclCommDestroy(r.comm));
  return r.failures;
}

// How many of the children did not end well.
int AwaitRanks() {
  int failed = 0;
  int status = 0;
  while (wait(&status) > 0) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    failed++;
    printf("a rank ended with %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? atoi(argv[1]) : 2;
  std::vector<size_t> counts;
  for (int i = 2; i < argc; i++) counts.push_back(strtoull(argv[i], nullptr, 0));
  if (counts.empty()) counts = {1, 1000, 65537, 1000000};
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 2;
  auto* const shared = new (memory) Shared{};
  for (int rank = 0; rank < ranks; rank++) {
    if (fork() == 0) exit(RunRank(rank, ranks, shared, counts) != 0 ? 1 : 0);
  }
  const int failed = AwaitRanks();
  printf("coll: %d ranks, %d failed\n", ranks, failed);
  return failed != 0 ? 1 : 0;
}
