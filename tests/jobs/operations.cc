// Issues NCCL operations, measures them from the call to the end of the stream, and checks results
// exactly. It must not count anything that NCCL was not told.
#include "tests/jobs/operations.h"

#include <algorithm>
#include <cstring>

#include "tests/jobs/clock.h"

namespace chokepoint::jobs {
namespace {

constexpr int kValueRange = 97;  // small whole numbers: sums of them are exact in float
constexpr int kClearByte = 0xff;

float* Allocate(size_t elements) {
  void* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, elements * sizeof(float)));
  return static_cast<float*>(memory);
}

}  // namespace

Communication::Communication(const JobOptions& options, const RankEnvironment& environment,
                             int ordinal, ncclComm_t comm, OperationLog* log)
    : options_(options), environment_(environment), ordinal_(ordinal), comm_(comm), log_(log) {
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, kCudaStreamNonBlocking));
  for (const uint64_t bytes : options.sizes_bytes) {
    bucket_elements_.push_back(bytes / sizeof(float));
    largest_ = std::max(largest_, bucket_elements_.back());
  }
  largest_ = std::max(largest_, static_cast<size_t>(environment.ranks));
  input_ = Allocate(largest_);
  moved_ = Allocate(largest_);
  for (const size_t elements : bucket_elements_) sums_.push_back(Allocate(elements));
  barrier_ = Allocate(1);
  host_.resize(largest_);
  for (size_t i = 0; i < largest_; i++) host_[i] = Value(environment.rank, i);
  CUDA_CHECK(cudaMemcpy(input_, host_.data(), largest_ * sizeof(float), kCudaHostToDevice));
}

Communication::~Communication() {
  CUDA_CHECK(cudaStreamSynchronize(stream_));
  CUDA_CHECK(cudaStreamDestroy(stream_));
  CUDA_CHECK(cudaFree(input_));
  CUDA_CHECK(cudaFree(barrier_));
  CUDA_CHECK(cudaFree(moved_));
  for (float* sum : sums_) CUDA_CHECK(cudaFree(sum));
}

float Communication::Value(int rank, size_t index) const {
  const size_t mixed = index * 7 + static_cast<size_t>(rank) * 13 + options_.seed;
  return static_cast<float>(mixed % kValueRange) - 40.0f;
}

void Communication::Count(const char* function, const char* role, size_t elements) {
  log_->Count({ordinal_, function, role, elements * sizeof(float)});
}

template <class Issue>
void Communication::Timed(const TimingKey& key, Issue issue) {
  const uint64_t start_ns = MonotonicNs();
  issue();
  CUDA_CHECK(cudaStreamSynchronize(stream_));
  log_->Time(key, SecondsSince(start_ns));
}

// So that a result that never came cannot pass for one of an earlier step.
void Communication::Clear(float* result, size_t elements) {
  CUDA_CHECK(cudaMemsetAsync(result, kClearByte, elements * sizeof(float), stream_));
  CUDA_CHECK(cudaStreamSynchronize(stream_));
}

template <class Expected>
void Communication::Check(const float* result, size_t elements, Expected expected) {
  CUDA_CHECK(cudaMemcpy(host_.data(), result, elements * sizeof(float), kCudaDeviceToHost));
  checks_++;
  for (size_t i = 0; i < elements; i++) {
    const float want = expected(i);
    wrong_ += memcmp(&host_[i], &want, sizeof want) != 0;
  }
}

void Communication::ClearBuckets() {
  for (size_t bucket = 0; bucket < sums_.size(); bucket++) {
    Clear(sums_[bucket], bucket_elements_[bucket]);
  }
}

void Communication::CheckBuckets() {
  for (size_t bucket = 0; bucket < sums_.size(); bucket++) {
    Check(sums_[bucket], bucket_elements_[bucket], [this](size_t i) {
      float sum = 0;
      for (int rank = 0; rank < environment_.ranks; rank++) sum += Value(rank, i);
      return sum;
    });
  }
}

void Communication::Barrier() {
  Timed({"AllReduce", "barrier", sizeof(float)}, [this] {
    NCCL_CHECK(ncclAllReduce(barrier_, barrier_, 1, ncclFloat32, ncclMax, comm_, stream_));
  });
  Count("AllReduce", "barrier", 1);
}

void Communication::AllReduce(size_t bucket) {
  NCCL_CHECK(ncclAllReduce(input_, sums_[bucket], bucket_elements_[bucket], ncclFloat32, ncclSum,
                           comm_, stream_));
  Count("AllReduce", "bucket", bucket_elements_[bucket]);
}

void Communication::AllGather(bool verify) {
  const size_t per_rank = largest_ / static_cast<size_t>(environment_.ranks);
  const size_t all = per_rank * static_cast<size_t>(environment_.ranks);
  if (verify) Clear(moved_, all);
  if (options_.barriers == Barriers::kPerOperation) Barrier();
  Timed({"AllGather", "all-gather", all * sizeof(float)},
        [&] { NCCL_CHECK(ncclAllGather(input_, moved_, per_rank, ncclFloat32, comm_, stream_)); });
  Count("AllGather", "all-gather", per_rank);
  if (!verify) return;
  Check(moved_, all, [&](size_t i) { return Value(static_cast<int>(i / per_rank), i % per_rank); });
}

// To the next rank, from the one before.
void Communication::SendRecv(bool verify) {
  const size_t elements = bucket_elements_[0];
  const int ranks = environment_.ranks;
  const int next = (environment_.rank + 1) % ranks;
  const int previous = (environment_.rank + ranks - 1) % ranks;
  if (verify) Clear(moved_, elements);
  if (options_.barriers == Barriers::kPerOperation) Barrier();
  Timed({"SendRecv", "send-recv", elements * sizeof(float)}, [&] {
    NCCL_CHECK(ncclGroupStart());
    NCCL_CHECK(ncclSend(input_, elements, ncclFloat32, next, comm_, stream_));
    NCCL_CHECK(ncclRecv(moved_, elements, ncclFloat32, previous, comm_, stream_));
    NCCL_CHECK(ncclGroupEnd());
  });
  Count("Send", "send-recv", elements);
  Count("Recv", "send-recv", elements);
  if (verify) Check(moved_, elements, [&](size_t i) { return Value(previous, i); });
}

void Communication::AllToAll(bool verify) {
  const size_t ranks = static_cast<size_t>(environment_.ranks);
  const size_t part = largest_ / ranks;
  if (verify) Clear(moved_, part * ranks);
  if (options_.barriers == Barriers::kPerOperation) Barrier();
  Timed({"AllToAll", "all-to-all", part * ranks * sizeof(float)}, [&] {
    NCCL_CHECK(ncclGroupStart());
    for (size_t peer = 0; peer < ranks; peer++) {
      const int peer_rank = static_cast<int>(peer);
      NCCL_CHECK(ncclSend(input_ + part * peer, part, ncclFloat32, peer_rank, comm_, stream_));
      NCCL_CHECK(ncclRecv(moved_ + part * peer, part, ncclFloat32, peer_rank, comm_, stream_));
    }
    NCCL_CHECK(ncclGroupEnd());
  });
  for (size_t peer = 0; peer < ranks; peer++) {
    Count("Send", "all-to-all", part);
    Count("Recv", "all-to-all", part);
  }
  if (!verify) return;
  const size_t mine = part * static_cast<size_t>(environment_.rank);
  Check(moved_, part * ranks,
        [&](size_t i) { return Value(static_cast<int>(i / part), mine + i % part); });
}

void Communication::Run(bool verify) {
  if (!options_.group) {
    if (verify) ClearBuckets();
    for (size_t bucket = 0; bucket < bucket_elements_.size(); bucket++) {
      const size_t bytes = bucket_elements_[bucket] * sizeof(float);
      if (options_.barriers == Barriers::kPerOperation) Barrier();
      Timed({"AllReduce", "bucket", bytes}, [&] { AllReduce(bucket); });
    }
    if (verify) CheckBuckets();
  }
  if (options_.all_gather) AllGather(verify);
  if (options_.send_recv) SendRecv(verify);
  if (options_.all_to_all) AllToAll(verify);
}

void Communication::PrepareBuckets(bool verify) {
  if (verify) ClearBuckets();
}

void Communication::IssueBuckets() {
  for (size_t bucket = 0; bucket < bucket_elements_.size(); bucket++) AllReduce(bucket);
}

void Communication::AwaitBuckets(bool verify) {
  CUDA_CHECK(cudaStreamSynchronize(stream_));
  if (verify) CheckBuckets();
}

uint64_t Communication::BucketBytes() const {
  uint64_t bytes = 0;
  for (const size_t elements : bucket_elements_) bytes += elements * sizeof(float);
  return bytes;
}

}  // namespace chokepoint::jobs
