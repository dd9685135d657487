// A checkpoint is a plain file, written in large pieces and synced.
// It must not keep going when the disk refuses: a training job would not either.
#include "tests/jobs/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "tests/jobs/clock.h"

namespace chokepoint::jobs {
namespace {

constexpr uint64_t kPieceBytes = 1u << 20;

std::string PathOf(const std::string& out_dir, int rank, int step) {
  return out_dir + "/checkpoint-" + std::to_string(step) + "-rank" + std::to_string(rank) + ".bin";
}

[[noreturn]] void Die(const std::string& path) {
  perror(("training_job: " + path).c_str());
  _exit(3);
}

}  // namespace

void WriteCheckpoint(const std::string& out_dir, int rank, int step, int every, uint64_t bytes,
                     CheckpointTotals* totals) {
  const uint64_t start_ns = MonotonicNs();
  const std::string path = PathOf(out_dir, rank, step);
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
  if (file < 0) Die(path);
  const std::vector<char> piece(kPieceBytes, static_cast<char>(rank));
  for (uint64_t written = 0; written < bytes;) {
    const ssize_t part = write(file, piece.data(), std::min(kPieceBytes, bytes - written));
    if (part <= 0) Die(path);
    written += static_cast<uint64_t>(part);
  }
  if (fsync(file) != 0 || close(file) != 0) Die(path);
  totals->count++;
  totals->bytes += bytes;
  totals->seconds += SecondsSince(start_ns);
  if (step >= 2 * every) unlink(PathOf(out_dir, rank, step - 2 * every).c_str());
}

}  // namespace chokepoint::jobs
