// How fast a trace is read, beside reading the same bytes and hashing them, which no reader can
// avoid. Must not assert: the numbers are compared within one run.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/trace_builder.h"
#include "trace/checksum.h"
#include "trace/reader.h"

namespace chokepoint::trace {
namespace {

constexpr int kEvents = 1'000'000;

const std::string& TracePath() {
  static const std::string path = [] {
    std::string made = "/dev/shm/chokepoint-read-bench-" + std::to_string(getpid()) + ".cpt";
    tests::TraceFileWriter writer(made);
    Collective collective;
    for (int i = 0; i < kEvents; ++i) {
      collective.sequence = static_cast<std::uint32_t>(i);
      writer.Emit(collective);
    }
    return made;
  }();
  return path;
}

void ReadAndHashBytes(benchmark::State& state) {
  std::vector<char> window(1 << 20);
  for (auto _ : state) {
    const int fd = open(TracePath().c_str(), O_RDONLY);
    std::uint64_t sum = 0;
    for (ssize_t got = 0; (got = read(fd, window.data(), window.size())) > 0;) {
      sum += Checksum(window.data(), static_cast<std::size_t>(got));
    }
    benchmark::DoNotOptimize(sum);
    close(fd);
  }
  state.SetItemsProcessed(state.iterations() * kEvents);
}
BENCHMARK(ReadAndHashBytes)->Unit(benchmark::kMillisecond);

void OpenOnly(benchmark::State& state) {
  for (auto _ : state) {
    std::unique_ptr<TraceFile> file;
    if (!TraceFile::Open(TracePath(), &file).ok()) state.SkipWithError("open");
  }
  state.SetItemsProcessed(state.iterations() * kEvents);
}
BENCHMARK(OpenOnly)->Unit(benchmark::kMillisecond);

void OpenReadAndDecode(benchmark::State& state) {
  for (auto _ : state) {
    std::unique_ptr<TraceFile> file;
    if (!TraceFile::Open(TracePath(), &file).ok()) state.SkipWithError("open");
    std::uint64_t sum = 0;
    const ReadResult result = file->Read([&](const EventView& view) {
      Collective collective;
      if (file->Decode(view, &collective)) sum += collective.sequence;
    });
    benchmark::DoNotOptimize(sum);
    if (result.lost_bytes != 0) state.SkipWithError("lost bytes");
  }
  state.SetItemsProcessed(state.iterations() * kEvents);
}
BENCHMARK(OpenReadAndDecode)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace chokepoint::trace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::filesystem::remove(chokepoint::trace::TracePath());
  return 0;
}
