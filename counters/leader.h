// One process per host, job and network namespace records what all of them share: this decides
// which. Must not open a port, must not wait, and must survive the death or the stopping of the
// leader at any moment.
//
// The leader holds a lock on a small file in /dev/shm and writes a heartbeat into it. The kernel
// frees the lock when the leader dies; when a forked child still holds it, or the leader is
// stopped, the heartbeat stands still and the others begin a new file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chokepoint::counters {

class HostLeader {
 public:
  // `directory`: "/dev/shm". `scope`: whose host it is (the trace directory): jobs do not share
  // leaders. `network_namespace`: the inode of /proc/self/ns/net, so that each namespace has its
  // own.
  void Init(const char* directory, const char* scope, std::uint64_t network_namespace) noexcept;

  // Once a second. True when this process leads now.
  bool Check() noexcept;
  // Lets another lead at once.
  void Resign() noexcept;
  // In a forked child: the parent keeps its lock.
  void ForgetAfterFork() noexcept;

  bool leads() const noexcept { return leads_; }
  // False when no lock can be had here: no directory, no permission.
  bool possible() const noexcept { return possible_; }
  const char* path() const noexcept { return path_; }

  // Seconds of Check that a heartbeat may stand still.
  static constexpr int kPatience = 5;

 private:
  bool Open() noexcept;
  bool StillMine() const noexcept;
  void Beat() noexcept;
  void WatchHeart() noexcept;
  void CloseFile() noexcept;

  char path_[160] = {};
  int fd_ = -1;
  bool leads_ = false;
  bool possible_ = true;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::uint64_t heartbeat_ = 0;  // ours, or the last that was seen
  int standing_still_ = 0;       // checks for which it has not moved
};

}  // namespace chokepoint::counters
