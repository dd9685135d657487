// Reads clocks, sleeps, burns CPU time.
// It must not depend on anything of the job.
#include "tests/jobs/clock.h"

#include <ctime>

namespace chokepoint::jobs {
namespace {

constexpr uint64_t kNsPerSecond = 1000000000;

uint64_t Read(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

uint64_t MonotonicNs() { return Read(CLOCK_MONOTONIC); }
uint64_t RealtimeNs() { return Read(CLOCK_REALTIME); }

double SecondsSince(uint64_t monotonic_start_ns) {
  return static_cast<double>(MonotonicNs() - monotonic_start_ns) / kNsPerSecond;
}

void Sleep(double seconds) {
  if (seconds <= 0) return;
  timespec left;
  left.tv_sec = static_cast<time_t>(seconds);
  left.tv_nsec = static_cast<long>((seconds - static_cast<double>(left.tv_sec)) * kNsPerSecond);
  while (nanosleep(&left, &left) != 0) {
  }
}

void Burn(double seconds) {
  const uint64_t start_ns = MonotonicNs();
  volatile double sink = 1;
  while (SecondsSince(start_ns) < seconds) {
    for (int i = 0; i < 1000; i++) sink = sink * 1.0000001 + 1e-9;
  }
}

}  // namespace chokepoint::jobs
