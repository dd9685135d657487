// report_bench COMMAND DIR RANKS OPERATIONS: writes the traces of a large job into DIR, then times
// `COMMAND report` on them. Must not judge: it prints time, memory and operations per second.
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/job_builder.h"

namespace chokepoint::tests {
namespace {

// Communicator 1 holds all ranks, communicator 2 eight neighbours: data and tensor parallelism.
// Four operations a step.
void WriteRank(const std::string& directory, int rank, int ranks, int operations) {
  RankBuilder::Place place;
  place.rank = rank;
  place.ranks = ranks;
  place.nodes = ranks / 8;
  place.host = "node" + std::to_string(rank / 8);
  place.boot_id = "boot" + std::to_string(rank / 8);
  RankBuilder builder(directory, place);
  builder.Communicator(2, 0xbeef00 + static_cast<std::uint64_t>(rank / 8), rank % 8, 8);
  for (int i = 0; i < operations; ++i) {
    const std::int64_t at = i * 2_ms + (rank * 7919 + i) % 1000 * 100;
    const bool data = i % 4 == 3;
    builder.Do({.at_ns = at,
                .took_ns = (i + 1) * 2_ms - 200_us - at,
                .gpu_ns = 1_ms + rank % 5 * 10_us,
                .count = data ? std::uint64_t{1} << 22 : std::uint64_t{1} << 18,
                .communicator = data ? 1u : 2u});
  }
  builder.Ends(operations * 2_ms);
}

int Main(const std::string& command, const std::string& directory, int ranks, int operations) {
  std::filesystem::create_directories(directory);
  for (int rank = 0; rank < ranks; ++rank) WriteRank(directory, rank, ranks, operations);
  const auto start = std::chrono::steady_clock::now();
  const int status =
      std::system((command + " report " + directory + " --format json -o /dev/null").c_str());
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const double cpu_s = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                       static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  const double total = static_cast<double>(ranks) * operations;
  std::printf(
      "%d ranks x %d operations: %.2f s, %.2f s of CPU, %.0f MiB, %.2f M operations/s per core; "
      "status %d\n",
      ranks, operations, seconds, cpu_s, static_cast<double>(usage.ru_maxrss) / 1024,
      total / cpu_s / 1e6, status);
  return status;
}

}  // namespace
}  // namespace chokepoint::tests

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: report_bench COMMAND DIR RANKS OPERATIONS\n");
    return 2;
  }
  return chokepoint::tests::Main(argv[1], argv[2], std::atoi(argv[3]), std::atoi(argv[4]));
}
