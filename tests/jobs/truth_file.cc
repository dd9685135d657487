// Writes the truth as JSON and prints it as a table.
// It must not compute anything but quantiles and quotients.
#include "tests/jobs/truth_file.h"

#include <unistd.h>

#include <cstdio>

namespace chokepoint::jobs {
namespace {

const char* FaultName(FaultKind kind) {
  switch (kind) {
    case FaultKind::kLateRank:
      return "late-rank";
    case FaultKind::kDie:
      return "die";
    case FaultKind::kHang:
      return "hang";
    case FaultKind::kNone:
      break;
  }
  return "none";
}

unsigned long long U64(uint64_t value) { return value; }

void WriteHead(FILE* out, const JobOptions& options, const RankEnvironment& environment,
               const Truth& truth) {
  fprintf(out, "{\"truth_version\": 1,\n");
  fprintf(out, " \"rank\": %d, \"ranks\": %d, \"local_rank\": %d, \"local_ranks\": %d,\n",
          environment.rank, environment.ranks, environment.local_rank, environment.local_ranks);
  fprintf(out, " \"node\": %d, \"pid\": %d, \"nccl_version\": %d,\n", environment.node, getpid(),
          truth.nccl_version);
  fprintf(out, " \"communicators\": %d, \"threads\": %d,\n", options.comms, options.threads);
  fprintf(out, " \"start_realtime_ns\": %llu, \"end_realtime_ns\": %llu,\n",
          U64(truth.start_realtime_ns), U64(truth.end_realtime_ns));
  fprintf(out, " \"loop_start_realtime_ns\": %llu, \"loop_end_realtime_ns\": %llu,\n",
          U64(truth.loop_start_realtime_ns), U64(truth.loop_end_realtime_ns));
  fprintf(out, " \"fault\": {\"kind\": \"%s\", \"rank\": %d, \"injected_here_s\": %.9f},\n",
          FaultName(options.fault.kind), options.fault.rank, truth.fault_seconds);
  fprintf(out, " \"verification\": {\"checks\": %llu, \"wrong_elements\": %llu},\n",
          U64(truth.checks), U64(truth.wrong));
  fprintf(out, " \"checkpoints\": {\"count\": %llu, \"bytes\": %llu, \"seconds\": %.9f},\n",
          U64(truth.checkpoints.count), U64(truth.checkpoints.bytes), truth.checkpoints.seconds);
}

void WriteCalls(FILE* out, const OperationLog& log) {
  fprintf(out, " \"calls\": [");
  const char* separator = "\n";
  for (const auto& [key, count] : log.calls()) {
    fprintf(out,
            "%s  {\"communicator\": %d, \"function\": \"%s\", \"role\": \"%s\", \"bytes\": %llu, "
            "\"count\": %llu}",
            separator, key.communicator, key.function.c_str(), key.role.c_str(), U64(key.bytes),
            U64(count));
    separator = ",\n";
  }
  fprintf(out, "],\n");
}

// NCCL numbers the collectives of a communicator from 0, each function for itself.
void WriteSequences(FILE* out, const OperationLog& log) {
  std::map<std::pair<int, std::string>, uint64_t> issued;
  for (const auto& [key, count] : log.calls()) issued[{key.communicator, key.function}] += count;
  fprintf(out, " \"sequences\": [");
  const char* separator = "\n";
  for (const auto& [key, count] : issued) {
    fprintf(out, "%s  {\"communicator\": %d, \"function\": \"%s\", \"issued\": %llu}", separator,
            key.first, key.second.c_str(), U64(count));
    separator = ",\n";
  }
  fprintf(out, "],\n");
}

void WriteTimings(FILE* out, const OperationLog& log) {
  fprintf(out, " \"timings\": [");
  const char* separator = "\n";
  for (const auto& [key, seconds] : log.timings()) {
    const double median_s = Quantile(seconds, 0.5);
    double sum_s = 0;
    for (const double one : seconds) sum_s += one;
    fprintf(out,
            "%s  {\"operation\": \"%s\", \"role\": \"%s\", \"algbw_bytes\": %llu, \"count\": %zu, "
            "\"median_s\": %.9f, \"p99_s\": %.9f, \"sum_s\": %.9f, \"algbw_bytes_per_s\": %.0f}",
            separator, key.operation.c_str(), key.role.c_str(), U64(key.algbw_bytes),
            seconds.size(), median_s, Quantile(seconds, 0.99), sum_s,
            static_cast<double>(key.algbw_bytes) / median_s);
    separator = ",\n";
  }
  fprintf(out, "],\n");
}

void WriteSteps(FILE* out, const std::vector<StepTimes>& steps) {
  fprintf(out, " \"steps\": [");
  const char* separator = "\n";
  for (const StepTimes& step : steps) {
    fprintf(out,
            "%s  {\"start_realtime_ns\": %llu, \"compute_s\": %.9f, \"communication_s\": %.9f, "
            "\"checkpoint_s\": %.9f}",
            separator, U64(step.start_realtime_ns), step.compute_s, step.communication_s,
            step.checkpoint_s);
    separator = ",\n";
  }
  fprintf(out, "]}\n");
}

}  // namespace

bool WriteTruth(const JobOptions& options, const RankEnvironment& environment, const Truth& truth) {
  const std::string path =
      options.out_dir + "/truth-rank" + std::to_string(environment.rank) + ".json";
  FILE* out = fopen((path + ".new").c_str(), "w");
  bool ok = out != nullptr;
  if (ok) {
    WriteHead(out, options, environment, truth);
    WriteCalls(out, truth.log);
    WriteSequences(out, truth.log);
    WriteTimings(out, truth.log);
    WriteSteps(out, truth.steps);
    ok = fclose(out) == 0 && rename((path + ".new").c_str(), path.c_str()) == 0;
  }
  if (!ok) perror(("training_job: " + path).c_str());
  return ok;
}

void PrintTruth(const RankEnvironment& environment, const Truth& truth) {
  const double loop_s =
      static_cast<double>(truth.loop_end_realtime_ns - truth.loop_start_realtime_ns) * 1e-9;
  printf(
      "training_job: NCCL %d.%d.%d, %d ranks, %zu steps in %.2f s; %llu results checked, %llu "
      "elements wrong\n",
      truth.nccl_version / 10000, truth.nccl_version / 100 % 100, truth.nccl_version % 100,
      environment.ranks, truth.steps.size(), loop_s, U64(truth.checks), U64(truth.wrong));
  printf("%-12s %-12s %10s %8s %12s %12s %12s\n", "operation", "role", "bytes", "count",
         "median us", "p99 us", "algbw GB/s");
  for (const auto& [key, seconds] : truth.log.timings()) {
    const double median_s = Quantile(seconds, 0.5);
    printf("%-12s %-12s %10llu %8zu %12.1f %12.1f %12.4f\n", key.operation.c_str(),
           key.role.c_str(), U64(key.algbw_bytes), seconds.size(), median_s * 1e6,
           Quantile(seconds, 0.99) * 1e6, static_cast<double>(key.algbw_bytes) / median_s * 1e-9);
  }
  fflush(stdout);
}

}  // namespace chokepoint::jobs
