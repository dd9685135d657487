// The training loop: compute, communicate, checkpoint; with the fault that was asked for.
// It must not talk to NCCL except through communicators.h and operations.h.
#include "tests/jobs/rank_main.h"

#include <unistd.h>

#include <csignal>
#include <memory>
#include <random>
#include <thread>

#include "tests/jobs/checkpoint.h"
#include "tests/jobs/clock.h"
#include "tests/jobs/communicators.h"
#include "tests/jobs/launcher.h"
#include "tests/jobs/operations.h"
#include "tests/jobs/truth_file.h"

namespace chokepoint::jobs {
namespace {

constexpr double kSecondsPerMs = 1e-3;

// One thread of the rank and the communicators that it drives.
class Worker {
 public:
  Worker(const JobOptions& options, const RankEnvironment& environment, int thread)
      : options_(options),
        environment_(environment),
        thread_(thread),
        random_(options.seed * 1000003 + static_cast<uint64_t>(environment.rank) * 1009 +
                static_cast<uint64_t>(thread)) {}

  void Add(int ordinal, ncclComm_t comm) {
    communications_.push_back(
        std::make_unique<Communication>(options_, environment_, ordinal, comm, &truth_.log));
  }
  void Run();
  // Frees the streams and buffers; the communicators stay.
  Truth Finish();

 private:
  void Step(int step);
  double Compute();
  void Communicate(bool verify);
  void GroupedBuckets(bool verify);
  double Checkpoint(int step);
  bool HasFault(FaultKind kind) const {
    return options_.fault.kind == kind && options_.fault.rank == environment_.rank;
  }

  const JobOptions& options_;
  const RankEnvironment& environment_;
  const int thread_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Communication>> communications_;
  Truth truth_;
};

double Worker::Compute() {
  if (options_.compute_ms <= 0 && !HasFault(FaultKind::kLateRank)) return 0;
  std::uniform_real_distribution<double> vary(1 - options_.jitter / 2, 1 + options_.jitter / 2);
  const double seconds = options_.compute_ms * kSecondsPerMs * vary(random_);
  const auto pass = options_.busy_compute ? Burn : Sleep;
  const uint64_t start_ns = MonotonicNs();
  pass(seconds);
  if (HasFault(FaultKind::kLateRank)) {
    const uint64_t fault_start_ns = MonotonicNs();
    pass(options_.fault.extra_ms * kSecondsPerMs);
    truth_.fault_seconds += SecondsSince(fault_start_ns);
  }
  return SecondsSince(start_ns);
}

// All buckets of all communicators of this thread in one group.
void Worker::GroupedBuckets(bool verify) {
  uint64_t bytes = 0;
  for (auto& one : communications_) {
    one->PrepareBuckets(verify);
    bytes += one->BucketBytes();
    if (options_.barriers == Barriers::kPerOperation) one->Barrier();
  }
  const uint64_t start_ns = MonotonicNs();
  NCCL_CHECK(ncclGroupStart());
  for (auto& one : communications_) one->IssueBuckets();
  NCCL_CHECK(ncclGroupEnd());
  for (auto& one : communications_) one->AwaitBuckets(false);
  truth_.log.Time({"Group", "buckets", bytes}, SecondsSince(start_ns));
  for (auto& one : communications_) one->AwaitBuckets(verify);
}

void Worker::Communicate(bool verify) {
  for (int iteration = 0; iteration < options_.iterations; iteration++) {
    if (options_.barriers == Barriers::kPerStep) {
      for (auto& one : communications_) one->Barrier();
    }
    if (options_.group) GroupedBuckets(verify && iteration == 0);
    for (auto& one : communications_) one->Run(verify && iteration == 0);
  }
}

double Worker::Checkpoint(int step) {
  const int every = options_.checkpoint_every;
  const bool writes = options_.checkpoint_all_ranks || environment_.rank == 0;
  if (thread_ != 0 || every == 0 || step % every != every - 1 || !writes) return 0;
  const uint64_t start_ns = MonotonicNs();
  WriteCheckpoint(options_.out_dir, environment_.rank, step, every, options_.checkpoint_bytes,
                  &truth_.checkpoints);
  return SecondsSince(start_ns);
}

void Worker::Step(int step) {
  StepTimes times;
  times.start_realtime_ns = RealtimeNs();
  times.compute_s = Compute();
  if (HasFault(FaultKind::kDie) && step == options_.fault.step) kill(getpid(), SIGKILL);
  while (HasFault(FaultKind::kHang) && step == options_.fault.step) Sleep(1);
  const uint64_t start_ns = MonotonicNs();
  const int every = options_.verify_every;
  Communicate(every != 0 && (step % every == 0 || step == options_.steps - 1));
  times.communication_s = SecondsSince(start_ns);
  times.checkpoint_s = Checkpoint(step);
  truth_.steps.push_back(times);
}

void Worker::Run() {
  CUDA_CHECK(cudaSetDevice(environment_.local_rank));
  truth_.loop_start_realtime_ns = RealtimeNs();
  for (int step = 0; step < options_.steps; step++) Step(step);
  truth_.loop_end_realtime_ns = RealtimeNs();
}

Truth Worker::Finish() {
  for (auto& one : communications_) {
    truth_.checks += one->checks();
    truth_.wrong += one->wrong();
  }
  communications_.clear();
  return std::move(truth_);
}

// The first thread's truth, with the operations of all.
Truth RunWorkers(const JobOptions& options, const RankEnvironment& environment,
                 const std::vector<ncclComm_t>& comms) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (int thread = 0; thread < options.threads; thread++) {
    workers.push_back(std::make_unique<Worker>(options, environment, thread));
  }
  for (size_t i = 0; i < comms.size(); i++) {
    workers[i % workers.size()]->Add(static_cast<int>(i), comms[i]);
  }
  std::vector<std::thread> threads;
  for (size_t i = 1; i < workers.size(); i++) {
    threads.emplace_back([worker = workers[i].get()] { worker->Run(); });
  }
  workers[0]->Run();
  for (std::thread& thread : threads) thread.join();
  Truth truth = workers[0]->Finish();
  for (size_t i = 1; i < workers.size(); i++) {
    const Truth other = workers[i]->Finish();
    truth.log.Merge(other.log);
    truth.checks += other.checks;
    truth.wrong += other.wrong;
    truth.fault_seconds += other.fault_seconds;
  }
  return truth;
}

}  // namespace

int RunRank(const JobOptions& options, const RankEnvironment& environment) {
  const uint64_t start_realtime_ns = RealtimeNs();
  CUDA_CHECK(cudaSetDevice(environment.local_rank));
  std::vector<ncclComm_t> comms = CreateCommunicators(options, environment);
  Truth truth = RunWorkers(options, environment, comms);
  DestroyCommunicators(&comms);
  truth.start_realtime_ns = start_realtime_ns;
  NCCL_CHECK(ncclGetVersion(&truth.nccl_version));
  truth.end_realtime_ns = RealtimeNs();
  if (!WriteTruth(options, environment, truth)) return kExitRankFailed;
  if (environment.rank == 0) PrintTruth(environment, truth);
  return truth.wrong == 0 ? kExitWell : kExitWrongResults;
}

}  // namespace chokepoint::jobs
