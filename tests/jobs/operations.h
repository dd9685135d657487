// The communication part of a step on one communicator: gradient buckets, barriers, all-gather,
// point-to-point. It must not know about steps of compute, checkpoints or faults.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/jobs/job_options.h"
#include "tests/jobs/rank_environment.h"
#include "tests/jobs/timings.h"
#include "tests/softgpu/nccl_api.h"

namespace chokepoint::jobs {

class Communication {
 public:
  Communication(const JobOptions& options, const RankEnvironment& environment, int ordinal,
                ncclComm_t comm, OperationLog* log);
  ~Communication();
  Communication(const Communication&) = delete;
  Communication& operator=(const Communication&) = delete;

  // Everything that is not grouped over communicators; each operation is awaited.
  void Run(bool verify);
  void Barrier();

  // The buckets without waiting for them, to be called between ncclGroupStart and ncclGroupEnd;
  // then the wait.
  void PrepareBuckets(bool verify);
  void IssueBuckets();
  void AwaitBuckets(bool verify);
  uint64_t BucketBytes() const;

  uint64_t checks() const { return checks_; }
  uint64_t wrong() const { return wrong_; }

 private:
  template <class Issue>
  void Timed(const TimingKey& key, Issue issue);
  void AllReduce(size_t bucket);
  void AllGather(bool verify);
  void SendRecv(bool verify);
  void AllToAll(bool verify);
  void Clear(float* result, size_t elements);
  template <class Expected>
  void Check(const float* result, size_t elements, Expected expected);
  void ClearBuckets();
  void CheckBuckets();
  float Value(int rank, size_t index) const;
  void Count(const char* function, const char* role, size_t elements);

  const JobOptions& options_;
  const RankEnvironment& environment_;
  const int ordinal_;
  const ncclComm_t comm_;
  OperationLog* const log_;
  void* stream_ = nullptr;
  float* input_ = nullptr;
  std::vector<float*> sums_;  // one per bucket
  float* moved_ = nullptr;    // what all-gather and point-to-point operations bring
  float* barrier_ = nullptr;
  std::vector<size_t> bucket_elements_;
  size_t largest_ = 0;  // elements of the largest bucket, of input_ and of moved_
  std::vector<float> host_;
  uint64_t checks_ = 0;
  uint64_t wrong_ = 0;
};

}  // namespace chokepoint::jobs
