// What a record costs the thread that emits it, beside what nobody can avoid: a copy of 64 bytes, a
// tick read. Must not assert: ceilings are checked by who runs it, from the ratios within one run.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "trace/clock.h"
#include "trace/recorder.h"

namespace chokepoint::trace {
namespace {

std::string Directory() { return "/dev/shm/chokepoint-bench-" + std::to_string(getpid()); }

void StartOnce() {
  static const bool started = [] {
    setenv("CHOKEPOINT_DIR", Directory().c_str(), 1);
    RecorderOptions options;
    options.ring_bytes = 8 << 20;
    Configure(options);
    return Start(-1, -1);
  }();
  if (!started) std::abort();
}

void Copy64Bytes(benchmark::State& state) {
  static std::byte ring[8 << 20];
  std::size_t offset = 0;
  Collective collective;
  for (auto _ : state) {
    std::memcpy(ring + offset, &collective, sizeof(collective));
    benchmark::ClobberMemory();
    offset = (offset + sizeof(collective)) & (sizeof(ring) - 1);
  }
}
BENCHMARK(Copy64Bytes);

void TickRead(benchmark::State& state) {
  InitClock();
  for (auto _ : state) benchmark::DoNotOptimize(NowTicks());
}
BENCHMARK(TickRead);

// In bursts that fit the ring, as jobs do; the pause between bursts is not counted.
void EmitCollective(benchmark::State& state) {
  StartOnce();
  constexpr int kBurst = 30'000;
  Collective collective;
  std::uint64_t dropped = 0;
  int left = kBurst;
  for (auto _ : state) {
    collective.sequence = static_cast<std::uint32_t>(left);
    dropped += Emit(collective) ? 0 : 1;
    if (--left > 0) continue;
    state.PauseTiming();
    Flush(10'000);
    left = kBurst;
    state.ResumeTiming();
  }
  state.counters["dropped"] = static_cast<double>(dropped);
}
BENCHMARK(EmitCollective);

// As fast as one thread can, drain thread and all: what is dropped is part of the answer.
void EmitWithoutPause(benchmark::State& state) {
  StartOnce();
  Collective collective;
  std::uint64_t dropped = 0;
  for (auto _ : state) dropped += Emit(collective) ? 0 : 1;
  state.counters["dropped_share"] =
      static_cast<double>(dropped) / static_cast<double>(state.iterations());
}
BENCHMARK(EmitWithoutPause);

void CostProbeOnly(benchmark::State& state) {
  StartOnce();
  Emit(Collective{});
  for (auto _ : state) CostProbe probe;
}
BENCHMARK(CostProbeOnly);

void InternKnownName(benchmark::State& state) {
  StartOnce();
  for (auto _ : state) benchmark::DoNotOptimize(InternName("/data/train/shard-00017-of-01024.tar"));
}
BENCHMARK(InternKnownName);

void InternKnownLiteral(benchmark::State& state) {
  StartOnce();
  for (auto _ : state) benchmark::DoNotOptimize(InternLiteral("AllReduce"));
}
BENCHMARK(InternKnownLiteral);

}  // namespace
}  // namespace chokepoint::trace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  chokepoint::trace::Stop(10'000);
  std::error_code error;
  std::filesystem::remove_all(chokepoint::trace::Directory(), error);
  return 0;
}
