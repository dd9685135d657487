// coll RANKS [COUNT...]: one process per rank; every collective, each result compared exactly with
// what it must be. COLL_RANKS_PER_HOST=N makes the ranks look like nodes of N GPUs.  COLL_REPEAT=N
// repeats the float all-reduces.
#include <execinfo.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/softgpu/nccl_api.h"

struct Shared {
  volatile int ready;
  ncclUniqueId id;
};

struct Rank {
  int rank = 0, ranks = 0;
  ncclComm_t comm = nullptr;
  void* stream = nullptr;
  int failures = 0;

  void Report(const char* what, size_t count, size_t wrong) {
    if (wrong) failures++;
    if (rank == 0 || wrong) {
      fprintf(stderr, "rank %d: %-22s %8zu: %s (%zu wrong)\n", rank, what, count,
              wrong ? "WRONG" : "ok", wrong);
    }
  }
};

static int EnvInt(const char* name, int fallback) {
  return getenv(name) ? atoi(getenv(name)) : fallback;
}

// Uploads what input(i) gives, runs the operation, and compares the first `checked` results with
// expected(i).
template <class T, class Input, class Operation, class Expected>
static void RunOne(Rank& r, const char* what, size_t count, size_t capacity, Input input,
                   Operation operation, size_t checked, Expected expected) {
  T *in, *out;
  CUDA_CHECK(cudaMalloc((void**)&in, capacity * sizeof(T)));
  CUDA_CHECK(cudaMalloc((void**)&out, capacity * sizeof(T)));
  std::vector<T> host(capacity), result(capacity);
  for (size_t i = 0; i < capacity; i++) host[i] = input(i);
  CUDA_CHECK(cudaMemcpyAsync(in, host.data(), capacity * sizeof(T), kCudaHostToDevice, r.stream));
  CUDA_CHECK(cudaMemsetAsync(out, 0xff, capacity * sizeof(T), r.stream));
  operation(in, out);
  CUDA_CHECK(
      cudaMemcpyAsync(result.data(), out, capacity * sizeof(T), kCudaDeviceToHost, r.stream));
  CUDA_CHECK(cudaStreamSynchronize(r.stream));
  size_t wrong = 0;
  for (size_t i = 0; i < checked; i++) {
    T want = expected(i);
    wrong += memcmp(&result[i], &want, sizeof(T)) != 0;
  }
  r.Report(what, count, wrong);
  CUDA_CHECK(cudaFree(in));
  CUDA_CHECK(cudaFree(out));
}

static float FloatInput(int rank, size_t i) {
  return static_cast<float>((i * 7 + static_cast<size_t>(rank) * 13) % 97) - 40.0f;
}

static void FloatAllReduce(Rank& r, size_t count) {
  int repeat = EnvInt("COLL_REPEAT", 1);
  void *begin, *end;
  CUDA_CHECK(cudaEventCreate(&begin));
  CUDA_CHECK(cudaEventCreate(&end));
  RunOne<float>(
      r, "allreduce float", count, count, [&](size_t i) { return FloatInput(r.rank, i); },
      [&](float* in, float* out) {
        CUDA_CHECK(cudaEventRecord(begin, r.stream));
        for (int k = 0; k < repeat; k++)
          NCCL_CHECK(ncclAllReduce(in, out, count, ncclFloat32, ncclSum, r.comm, r.stream));
        CUDA_CHECK(cudaEventRecord(end, r.stream));
      },
      count,
      [&](size_t i) {
        float sum = 0;
        for (int k = 0; k < r.ranks; k++) sum += FloatInput(k, i);
        return sum;
      });
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));
  if (r.rank == 0) fprintf(stderr, "rank 0: %zu floats, %.3f ms each\n", count, ms / repeat);
  CUDA_CHECK(cudaEventDestroy(begin));
  CUDA_CHECK(cudaEventDestroy(end));
}

static int32_t Value(int rank, size_t i) {
  return static_cast<int32_t>(static_cast<uint32_t>(rank) * 1000003u + static_cast<uint32_t>(i));
}

static void IntegerReductions(Rank& r, size_t n) {
  const int ranks = r.ranks, last = ranks - 1;
  const uint32_t sum_of_ranks = static_cast<uint32_t>(ranks * (ranks - 1) / 2) * 1000003u;
  auto input = [&](size_t i) { return Value(r.rank, i); };
  auto sum = [=](size_t i) {
    return static_cast<int32_t>(sum_of_ranks +
                                static_cast<uint32_t>(ranks) * static_cast<uint32_t>(i));
  };
  using I = int32_t;
  auto all_reduce = [&](int op) {
    return [&r, n, op](I* in, I* out) {
      NCCL_CHECK(ncclAllReduce(in, out, n, ncclInt32, op, r.comm, r.stream));
    };
  };
  RunOne<I>(r, "allreduce int sum", n, n, input, all_reduce(ncclSum), n, sum);
  RunOne<I>(r, "allreduce int max", n, n, input, all_reduce(ncclMax), n,
            [=](size_t i) { return Value(last, i); });
  RunOne<I>(r, "allreduce int min", n, n, input, all_reduce(ncclMin), n,
            [=](size_t i) { return Value(0, i); });
  RunOne<I>(
      r, "reduce int sum", n, n, input,
      [&](I* in, I* out) {
        NCCL_CHECK(ncclReduce(in, out, n, ncclInt32, ncclSum, 0, r.comm, r.stream));
      },
      r.rank == 0 ? n : 0, sum);
  RunOne<I>(
      r, "reducescatter int sum", n, n * ranks, input,
      [&](I* in, I* out) {
        NCCL_CHECK(ncclReduceScatter(in, out, n, ncclInt32, ncclSum, r.comm, r.stream));
      },
      n, [=, rank = r.rank](size_t i) { return sum(i + n * rank); });
  RunOne<double>(
      r, "allreduce double avg", n, n,
      [&](size_t i) { return static_cast<double>(r.rank * ranks + static_cast<int>(i % 1000)); },
      [&](double* in, double* out) {
        NCCL_CHECK(ncclAllReduce(in, out, n, ncclFloat64, ncclAvg, r.comm, r.stream));
      },
      (ranks & (ranks - 1)) ? 0 : n,
      [=](size_t i) {
        return static_cast<double>(ranks * (ranks - 1)) / 2 + static_cast<double>(i % 1000);
      });
}

static void DataMovement(Rank& r, size_t n) {
  const int ranks = r.ranks, last = ranks - 1, rank = r.rank;
  auto input = [&](size_t i) { return Value(r.rank, i); };
  using I = int32_t;
  RunOne<I>(
      r, "broadcast", n, n, input,
      [&](I* in, I* out) {
        NCCL_CHECK(ncclBroadcast(in, out, n, ncclInt32, last, r.comm, r.stream));
      },
      n, [=](size_t i) { return Value(last, i); });
  RunOne<I>(
      r, "allgather", n, n * ranks, input,
      [&](I* in, I* out) { NCCL_CHECK(ncclAllGather(in, out, n, ncclInt32, r.comm, r.stream)); },
      n * ranks, [=](size_t i) { return Value(static_cast<int>(i / n), i % n); });
  RunOne<I>(
      r, "send/recv all to all", n, n * ranks, input,
      [&](I* in, I* out) {
        NCCL_CHECK(ncclGroupStart());
        for (int peer = 0; peer < ranks; peer++) {
          NCCL_CHECK(ncclSend(in + n * peer, n, ncclInt32, peer, r.comm, r.stream));
          NCCL_CHECK(ncclRecv(out + n * peer, n, ncclInt32, peer, r.comm, r.stream));
        }
        NCCL_CHECK(ncclGroupEnd());
      },
      n * ranks, [=](size_t i) { return Value(static_cast<int>(i / n), n * rank + i % n); });
}

// A premultiplied sum; on a one-rank communicator it is a kernel of its own.
static void PremultipliedSum(Rank& r) {
  float two = 2;
  int op;
  NCCL_CHECK(ncclRedOpCreatePreMulSum(&op, &two, ncclFloat32, kNcclScalarHostImmediate, r.comm));
  const size_t n = 1000;
  RunOne<float>(
      r, "allreduce premulsum", n, n,
      [&](size_t i) { return static_cast<float>(r.rank + static_cast<int>(i)); },
      [&](float* in, float* out) {
        NCCL_CHECK(ncclAllReduce(in, out, n, ncclFloat32, op, r.comm, r.stream));
      },
      n,
      [&](size_t i) {
        return static_cast<float>(r.ranks * (r.ranks - 1) + 2 * r.ranks * static_cast<int>(i));
      });
  NCCL_CHECK(ncclRedOpDestroy(op, r.comm));
}

static void OnFault(int signal_number) {
  void* frames[32];
  backtrace_symbols_fd(frames, backtrace(frames, 32), 2);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

static int RunRank(int rank, int ranks, Shared* shared, const std::vector<size_t>& counts) {
  signal(SIGSEGV, OnFault);
  int per_host = EnvInt("COLL_RANKS_PER_HOST", 0);
  if (per_host) setenv("NCCL_HOSTID", ("softnode" + std::to_string(rank / per_host)).c_str(), 1);
  Rank r;
  r.rank = rank, r.ranks = ranks;
  CUDA_CHECK(cudaSetDevice(per_host ? rank % per_host : rank));
  if (rank == 0) {
    NCCL_CHECK(ncclGetUniqueId(&shared->id));
    __sync_synchronize();
    shared->ready = 1;
  }
  while (!shared->ready) usleep(1000);
  __sync_synchronize();
  NCCL_CHECK(ncclCommInitRank(&r.comm, ranks, shared->id, rank));
  CUDA_CHECK(cudaStreamCreateWithFlags(&r.stream, kCudaStreamNonBlocking));
  for (size_t n : counts) FloatAllReduce(r, n);
  for (size_t n : {static_cast<size_t>(257), static_cast<size_t>(100003)}) {
    IntegerReductions(r, n);
    DataMovement(r, n);
  }
  PremultipliedSum(r);
  CUDA_CHECK(cudaStreamDestroy(r.stream));
  NCCL_CHECK(ncclCommFinalize(r.comm));
  NCCL_CHECK(ncclCommDestroy(r.comm));
  return r.failures;
}

int main(int argc, char** argv) {
  int ranks = argc > 1 ? atoi(argv[1]) : 2;
  std::vector<size_t> counts;
  for (int i = 2; i < argc; i++) counts.push_back(strtoull(argv[i], nullptr, 0));
  if (counts.empty()) counts = {1, 1000, 65537, 1000000};
  auto* shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (int r = 0; r < ranks; r++)
    if (fork() == 0) exit(RunRank(r, ranks, shared, counts) != 0);
  int failed = 0, status;
  while (wait(&status) > 0) {
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
      failed++;
      printf("a rank ended with %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
  }
  printf("coll: %d ranks, %d failed\n", ranks, failed);
  return failed != 0;
}
