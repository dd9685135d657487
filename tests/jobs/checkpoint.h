// Writes checkpoints.
// It must not decide when one is due.
#pragma once

#include <cstdint>
#include <string>

namespace chokepoint::jobs {

struct CheckpointTotals {
  uint64_t count = 0;
  uint64_t bytes = 0;
  double seconds = 0;  // open to close, fsync included
};

// Writes a file of that many bytes, to disk (fsync). The file of the checkpoint before last is
// removed.
void WriteCheckpoint(const std::string& out_dir, int rank, int step, int every, uint64_t bytes,
                     CheckpointTotals* totals);

}  // namespace chokepoint::jobs
