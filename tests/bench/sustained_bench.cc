// sustained_bench [SECONDS]: collectives at 100,000 a second, then as fast as they go: what is
// lost, and what the recorder's thread costs. Must not count anything itself but what it called:
// the rest is read from the trace.
#include <time.h>

#include <cstdio>
#include <cstdlib>

#include "tests/bench/profiler_calls.h"
#include "tests/plugin/plugin_trace.h"

namespace chokepoint::bench {
namespace {

constexpr std::uint8_t kChannels = 8;

std::uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void SleepUntil(std::uint64_t ns) {
  const timespec until{static_cast<time_t>(ns / 1'000'000'000u),
                       static_cast<long>(ns % 1'000'000'000u)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

// Every millisecond `per_ms` collectives of 29 callbacks.
void Play(std::uint64_t collectives, std::uint64_t per_ms) {
  Calls5 calls;
  if (!calls.Open(CHOKEPOINT_PLUGIN)) std::_Exit(3);
  const std::uint64_t start_ns = NowNs();
  for (std::uint64_t i = 0; i < collectives; ++i) {
    if (per_ms != 0 && i % per_ms == 0) SleepUntil(start_ns + i / per_ms * 1'000'000u);
    calls.RunKernels(calls.HandOver(i, kChannels), kChannels, 1000 + i);
  }
  const double seconds = static_cast<double>(NowNs() - start_ns) * 1e-9;
  std::printf("  %.1f s, %.0f collectives/s\n", seconds,
              static_cast<double>(collectives) / seconds);
  calls.table->finalize(calls.context);
}

bool Report(const char* title, std::uint64_t collectives, std::uint64_t per_ms) {
  std::printf("%s\n", title);
  std::fflush(stdout);
  tests::PlayOptions options;
  options.nccl_version = 22809;
  const tests::Played played =
      tests::Play(options, [&](tests::FakeNccl&) { Play(collectives, per_ms); });
  std::uint64_t lost = 0;
  for (const auto& loss : played.trace.losses) lost += loss.events;
  const trace::Cost cost = played.trace.costs.empty() ? trace::Cost{} : played.trace.costs.back();
  const std::uint64_t recorded = played.trace.collectives.size();
  const double millions = static_cast<double>(recorded) * 1e-6;
  std::printf("  recorded %llu of %llu, counted as lost %llu, %s\n",
              static_cast<unsigned long long>(recorded),
              static_cast<unsigned long long>(collectives), static_cast<unsigned long long>(lost),
              recorded + lost >= collectives ? "all accounted for" : "SOME UNACCOUNTED");
  std::printf(
      "  recorder's thread %.3f s CPU, %.3f s per million recorded; %.1f bytes of trace per "
      "collective\n",
      static_cast<double>(cost.drain_cpu_ns) * 1e-9,
      static_cast<double>(cost.drain_cpu_ns) * 1e-9 / millions,
      static_cast<double>(cost.written_bytes) / static_cast<double>(recorded));
  return played.exited && recorded + lost >= collectives &&
         (per_ms == 0 || recorded == collectives);
}

}  // namespace
}  // namespace chokepoint::bench

int main(int argc, char** argv) {
  const std::uint64_t seconds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10;
  const bool kept =
      chokepoint::bench::Report("100,000 collectives per second", seconds * 100'000, 100);
  const bool counted = chokepoint::bench::Report("as fast as one thread can", seconds * 300'000, 0);
  return kept && counted ? 0 : 1;
}
