// What the profiler callbacks cost NCCL's threads, by type and interface version, beside an empty
// plugin and one tick read. Must not be compared between runs: the machine is shared; ratios within
// one run, medians of repetitions.
//
// Callbacks run in bursts that fit a ring, with pauses in which the drain thread empties it: only
// the bursts are timed.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "tests/bench/profiler_calls.h"
#include "trace/clock.h"

namespace chokepoint::bench {
namespace {

constexpr std::uint64_t kBurst = 2000;
constexpr std::uint8_t kChannels = 8;

template <class Body>
void RunBursts(benchmark::State& state, int callbacks, Body body) {
  using Clock = std::chrono::steady_clock;
  std::uint64_t i = 0;
  for (auto _ : state) {
    usleep(3000);
    const auto start = Clock::now();
    for (const std::uint64_t end = i + kBurst; i < end; ++i) body(i);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    state.SetIterationTime(seconds / static_cast<double>(kBurst));
  }
  state.counters["callbacks"] = callbacks;
}

template <class Calls>
class Callbacks {
 public:
  explicit Callbacks(const std::string& library) {
    if (!calls_.Open(library.c_str())) std::exit(1);
    asks_kernels_ = library.find("empty") != std::string::npos ||
                    (static_cast<unsigned>(calls_.mask) & ncclProfileKernelCh) != 0;
  }

  void Group(benchmark::State& state) const {
    RunBursts(state, 2, [&](std::uint64_t) {
      calls_.Stop(calls_.Start(ncclProfileGroup, nullptr, [](auto&) {}));
    });
  }
  void CollApi(benchmark::State& state) const {
    if constexpr (Calls::kHasApi) {
      RunBursts(state, 2, [&](std::uint64_t) {
        calls_.Stop(calls_.Start(ncclProfileCollApi, nullptr, [](auto& descr) {
          descr.collApi.func = "AllReduce";
          descr.collApi.datatype = "ncclFloat32";
          descr.collApi.count = 1;
          descr.collApi.graphCaptured = false;
        }));
      });
    }
  }
  void GroupApi(benchmark::State& state) const {
    if constexpr (Calls::kHasApi) {
      RunBursts(state, 4, [&](std::uint64_t) {
        void* call = calls_.Start(ncclProfileGroupApi, nullptr, [](auto& descr) {
          descr.groupApi = {false, 1};
        });
        calls_.State(call, ncclProfilerGroupStartApiStop, nullptr);
        calls_.State(call, ncclProfilerGroupEndApiStart, nullptr);
        calls_.Stop(call);
      });
    }
  }
  // With its kernels when they are asked for: 29 callbacks from v5 on.
  void Collective(benchmark::State& state) const {
    const bool kernels = Calls::kHasApi && asks_kernels_;
    RunBursts(state, Calls::kHandOverCallbacks + (kernels ? 3 * kChannels : 0),
              [&](std::uint64_t i) {
                void* operation = calls_.HandOver(i, kChannels);
                if (kernels) calls_.RunKernels(operation, kChannels, 1000 + i);
              });
  }
  // One step of a send: start, GPU wait, (peer wait,) wire wait, stop.
  void ProxyStep(benchmark::State& state) const {
    void* proxy = StartProxy(nullptr);
    RunBursts(state, Calls::kVersion >= 4 ? 5 : 4, [&](std::uint64_t i) {
      void* step = calls_.Start(ncclProfileProxyStep, proxy,
                                [&](auto& descr) { descr.proxyStep.step = static_cast<int>(i); });
      typename Calls::Args args{};
      calls_.State(step, ncclProfilerProxyStepSendGPUWait, &args);
      if (Calls::kVersion >= 4) calls_.State(step, ncclProfilerProxyStepSendPeerWait_v4, &args);
      calls_.State(step, ncclProfilerProxyStepSendWait, &args);
      calls_.Stop(step);
    });
    calls_.Stop(proxy);
  }
  void ProxyOp(benchmark::State& state) const {
    RunBursts(state, 2, [&](std::uint64_t) { calls_.Stop(StartProxy(nullptr)); });
  }

 private:
  void* StartProxy(void* operation) const {
    return calls_.Start(ncclProfileProxyOp, operation,
                        [](auto& descr) { descr.proxyOp = {OwnPid(), 0, 1, 8, 131072, 1}; });
  }
  static int OwnPid() {
    static const int pid = getpid();
    return pid;
  }

  Calls calls_;
  bool asks_kernels_ = false;
};

template <class Calls>
void Register(const std::string& plugin, const std::string& library) {
  auto* callbacks = new Callbacks<Calls>(library);  // for as long as the process lives
  const auto add = [&](const char* type,
                       void (Callbacks<Calls>::*method)(benchmark::State&) const) {
    const std::string name = std::string(type)
                                 .append("/v")
                                 .append(std::to_string(Calls::kVersion))
                                 .append("/")
                                 .append(plugin);
    benchmark::RegisterBenchmark(
        name.c_str(), [callbacks, method](benchmark::State& state) { (callbacks->*method)(state); })
        ->UseManualTime()
        ->Iterations(40)
        ->Repetitions(5)
        ->ReportAggregatesOnly(true);
  };
  add("Collective", &Callbacks<Calls>::Collective);
  add("Group", &Callbacks<Calls>::Group);
  if (Calls::kHasApi) {
    add("CollApi", &Callbacks<Calls>::CollApi);
    add("GroupApi", &Callbacks<Calls>::GroupApi);
  }
  add("ProxyOp", &Callbacks<Calls>::ProxyOp);
  add("ProxyStep", &Callbacks<Calls>::ProxyStep);
}

void TickRead(benchmark::State& state) {
  trace::InitClock();
  std::uint64_t sum = 0;
  RunBursts(state, 1, [&](std::uint64_t) { benchmark::DoNotOptimize(sum += trace::NowTicks()); });
}

}  // namespace
}  // namespace chokepoint::bench

int main(int argc, char** argv) {
  using namespace chokepoint::bench;
  const std::string directory =
      (std::filesystem::temp_directory_path() / ("chokepoint-bench-" + std::to_string(getpid())))
          .string();
  setenv("CHOKEPOINT_DIR", directory.c_str(), 1);
  benchmark::RegisterBenchmark("TickRead", &TickRead)
      ->UseManualTime()
      ->Iterations(40)
      ->Repetitions(5)
      ->ReportAggregatesOnly(true);
  for (const auto& [plugin, library] :
       {std::pair<std::string, std::string>("empty", CHOKEPOINT_EMPTY_PROFILER),
        std::pair<std::string, std::string>("chokepoint", CHOKEPOINT_PLUGIN)}) {
    // What kernel events cost is measured on v5 and later, where they are asked for by default.
    Register<Calls1>(plugin, library);
    Register<Calls2>(plugin, library);
    Register<Calls3>(plugin, library);
    Register<Calls4>(plugin, library);
    Register<Calls5>(plugin, library);
    Register<Calls6>(plugin, library);
    Register<Calls7>(plugin, library);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  return 0;
}
