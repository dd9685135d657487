// chokepoint-sample: runs the sampler for some seconds in a process that does some work, and leaves
// a trace file. Must not be installed: it makes traces for people who write readers of them.
#include <arpa/inet.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "counters/sampler.h"
#include "counters/sampler_thread.h"
#include "tests/counters/network.h"
#include "trace/recorder.h"

namespace {

int Usage() {
  std::fprintf(stderr,
               "usage: chokepoint-sample [--seconds N] [--root DIR] [--connections N] [--busy]\n"
               "Writes a trace into CHOKEPOINT_DIR and prints its path.\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  int seconds = 5;
  int connections = 2;
  bool busy = false;
  chokepoint::counters::SamplerOptions options;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--busy") == 0) {
      busy = true;
    } else if (std::strcmp(argv[i], "--seconds") == 0 && has_value) {
      seconds = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--connections") == 0 && has_value) {
      connections = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--root") == 0 && has_value) {
      options.root = argv[++i];
    } else {
      return Usage();
    }
  }
  chokepoint::trace::Configure({});
  chokepoint::trace::Start(0, 1);
  options.local_rank = 0;
  std::vector<chokepoint::tests::Connection> pairs;
  for (int i = 0; i < connections; ++i) pairs.push_back(chokepoint::tests::Connect("", ""));
  if (!chokepoint::counters::StartSampler(options)) {
    std::fprintf(stderr, "chokepoint-sample: the sampler did not start\n");
    return 1;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end) {
    for (const auto& pair : pairs) chokepoint::tests::Transfer(pair, 4 << 20);
    if (!busy) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  chokepoint::counters::StopSampler(1000);
  chokepoint::trace::Stop(1000);
  std::printf("%s\n", chokepoint::trace::TracePath());
  return 0;
}
