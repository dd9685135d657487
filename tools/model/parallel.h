// Runs one function for many indices on several threads.
// Must not know what the work is.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace chokepoint::tools {

// Calls `work(i)` for each i in [0, count) on at most `threads` threads, the caller's among them.
inline void ForEachInParallel(std::size_t count, unsigned threads,
                              const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < threads && i < count; ++i) helpers.emplace_back(run);
  run();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace chokepoint::tools
