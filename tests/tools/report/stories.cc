// The jobs of the golden reports: each writes the traces of one small job.
// Must not say what the report makes of it: tests/golden/cases/<name>/ does.
#include "tests/tools/report/stories.h"

#include <fstream>

#include "tests/support/job_builder.h"

namespace chokepoint::tests {
namespace {

void Costs(JobBuilder* job, int ranks, std::int64_t at_ns) {
  for (int rank = 0; rank < ranks; ++rank) job->Rank(rank).Cost(at_ns, 60'000, 30);
}

void Healthy(const std::string& directory) {
  JobBuilder job(directory, {.ranks = 4});
  for (int step = 0; step < 40; ++step) job.Step(step * 50_ms, 30_ms, 4_ms);
  Costs(&job, 4, 2_s);
  job.End(2_s);
}

void LateRank(const std::string& directory) {
  JobBuilder job(directory, {.ranks = 4});
  for (int step = 0; step < 40; ++step) job.Step(step * 100_ms, 30_ms, 4_ms, 2, 50_ms);
  Costs(&job, 4, 4_s);
  job.End(4_s);
}

// The clocks of the two hosts differ by a second: only durations can tell who is late.
void LateRankTwoHosts(const std::string& directory) {
  JobBuilder job(directory, {.ranks = 4, .ranks_per_host = 2, .clock_offset_ns = 1_s});
  for (int step = 0; step < 40; ++step) job.Step(step * 100_ms, 30_ms, 4_ms, 3, 50_ms);
  for (int rank = 0; rank < 4; ++rank)
    job.Rank(rank).Network((rank + 1) % 4, 3900_ms, 2_ms, 4 << 20);
  job.End(4_s);
}

// Rank 1 is killed before the last all-reduce; the others wait until the job is ended.
void KilledRank(const std::string& directory) {
  JobBuilder job(directory, {.ranks = 4});
  for (int step = 0; step < 30; ++step) job.Step(step * 50_ms, 30_ms, 4_ms);
  job.Rank(1).Killed(1520_ms, 3);
  for (const int rank : {0, 2, 3}) {
    job.Rank(rank).Open({.at_ns = 1530_ms});
    job.Rank(rank).Killed(33_s);
  }
}

// Several kinds of operations, a second communicator, GPU times, names that try to write on the
// terminal.
void ManyKinds(const std::string& directory) {
  JobBuilder job(directory, {.ranks = 2, .communicator_name = "dp\x1b[31m\nworld"});
  for (int rank = 0; rank < 2; ++rank) job.Rank(rank).Communicator(2, 0xbeef, rank, 2);
  for (int step = 0; step < 25; ++step) {
    const std::int64_t at = step * 40_ms;
    for (int rank = 0; rank < 2; ++rank) {
      job.Rank(rank)
          .Do({.function = "AllGather",
               .at_ns = at + 1_ms,
               .took_ns = 2_ms,
               .count = 1 << 20,
               .datatype = "ncclInt8"})
          .Do({.function = "ReduceScatter",
               .at_ns = at + 5_ms,
               .took_ns = 2_ms,
               .count = 1 << 16,
               .protocol = "LL128"})
          .Do({.function = "AllReduce",
               .at_ns = at + 9_ms,
               .took_ns = 5_ms,
               .gpu_ns = 3_ms,
               .communicator = 2})
          .Do({.function = "AllReduce",
               .at_ns = at + 20_ms,
               .took_ns = 90_us,
               .count = 1,
               .algorithm = "TREE",
               .protocol = "LL"})
          .Do({.function = rank == 0 ? "Send" : "Recv",
               .at_ns = at + 25_ms,
               .took_ns = 1_ms,
               .peer = 1 - rank})
          .Do({.function = "Broadcast",
               .at_ns = at + 30_ms,
               .count = 4096,
               .datatype = "ncclInt8"});
    }
  }
  Costs(&job, 2, 1_s);
  job.End(1_s);
}

// What a directory can hold beside good traces.
void Damaged(const std::string& directory) {
  {
    JobBuilder job(directory, {.ranks = 3});
    for (int step = 0; step < 30; ++step) {
      for (int rank = 0; rank < 2; ++rank) job.Rank(rank).AllReduce(step * 50_ms + 30_ms, 4_ms);
    }
    job.Rank(0).file().Loss(trace::LossReason::kRingFull, 500, 32000);
    job.Rank(0).Ends(2_s);
    job.Rank(1).Do({.at_ns = 1600_ms, .took_ns = 4_ms, .sequence = 35});
    std::string& bytes = job.Rank(1).file().bytes();
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    job.Rank(1).Ends(2_s);
  }
  std::ofstream(directory + "/notes.txt") << "not a trace";
  std::ofstream(directory + "/foreign.cpt")
      << "this is not a trace either, whatever it is called, and it is long enough";
  std::ofstream(directory + "/empty.cpt");
}

}  // namespace

const std::vector<Story>& AllStories() {
  static const std::vector<Story> stories = {
      {"healthy", Healthy},
      {"late-rank", LateRank},
      {"late-rank-two-hosts", LateRankTwoHosts},
      {"killed-rank", KilledRank},
      {"many-kinds", ManyKinds},
      {"damaged", Damaged},
  };
  return stories;
}

}  // namespace chokepoint::tests
