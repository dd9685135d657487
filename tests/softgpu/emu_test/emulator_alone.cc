// emulator_alone [RANKS [FIRST_STEP]]: the emulator without NCCL, with 2 to RANKS ranks and 1 to 3
// channels. Each result is compared with what it must be. It must not need anything but the
// emulator.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/softgpu/emu/emulator.h"
#include "tests/softgpu/emu/function_table.h"
#include "tests/softgpu/emu_test/world.h"

namespace chokepoint::softgpu::emu {
namespace {

constexpr size_t kArgsBytes = 4096;
constexpr int kBatchesAt = 32, kBatchBytes = 16, kCollCountsAt = 56, kCollArgumentAt = 88;

int tests = 0;
int failures = 0;

size_t Index(int64_t i) { return static_cast<size_t>(i); }

int FunctionId(const std::string& name) {
  for (int id = 0; id < FunctionCount(); id++) {
    if (FunctionName(id) == name) return id;
  }
  fprintf(stderr, "there is no function '%s'\n", name.c_str());
  exit(1);
}

void Finish(int wrong, const char* what, int64_t count, int ranks) {
  tests++;
  if (wrong == 0) return;
  failures++;
  printf("WRONG %s count %lld ranks %d: %d\n", what, static_cast<long long>(count), ranks, wrong);
}

// Kernel parameters with one batch per channel, all of which point to the works behind them;
// returns where those begin.
int FillBatches(World& world, int rank, int function, int work_type, uint64_t works_mask,
                std::vector<char>* args) {
  args->assign(kArgsBytes, 0);
  char* const base = args->data();
  Poke(base, 0, world.Comm(rank));
  Poke(base, 8, (1ull << world.channels()) - 1);
  Poke<uint32_t>(base, 20, 0xffffffff);
  const int works_at = kBatchesAt + kBatchBytes * world.channels();
  const uint32_t bits = static_cast<uint32_t>(function) << 17 | static_cast<uint32_t>(work_type)
                                                                    << 15;
  for (int channel = 0; channel < world.channels(); channel++) {
    char* const batch = base + kBatchesAt + kBatchBytes * channel;
    Poke(batch, 0, bits);
    Poke(batch, 4, static_cast<uint32_t>(works_at));
    Poke(batch, 8, works_mask);
  }
  return works_at;
}

struct CollCase {
  Collective collective;
  std::string reduction;  // and type, as in the function's name: "Sum f32"
  std::string algorithm;
  int protocol;
  uint64_t argument = 0;

  bool IsBig() const {
    return protocol == kProtoSimple && algorithm == "RING" &&
           (collective == kAllReduce || collective == kAllGather || collective == kReduceScatter);
  }
  std::string Name() const {
    static const char* const kNames[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter",
                                         "AllReduce"};
    static const char* const kProtocolNames[] = {"LL", "LL128", "SIMPLE"};
    const std::string middle = reduction.empty() ? " " : " " + reduction + " ";
    return kNames[collective] + middle + algorithm + " " + kProtocolNames[protocol];
  }
};

// How the host would deal out the elements to the channels.
void DealOut(char* work, int channels, int64_t count) {
  int64_t first = count;
  int64_t middle = 0;
  if (channels == 2) first = count / 3;
  if (channels > 2) {
    middle = count / channels;
    first = middle / 2;
  }
  Poke(work, kCollCountsAt, first);
  Poke(work, kCollCountsAt + 8, middle);
  Poke(work, kCollCountsAt + 16, count - first - middle * std::max(0, channels - 2));
}

uint64_t GrainsPerChunk(const CollCase& test) {
  switch (test.protocol) {
    case kProtoLL:
      return kBufferSizes[kProtoLL] / kSteps / 2 / 16;
    case kProtoLL128:
      return kBufferSizes[kProtoLL128] / kSteps / 16 * 15 / 1920;
    default:
      return static_cast<uint64_t>(kBufferSizes[kProtoSimple] / kSteps * (test.IsBig() ? 4 : 1)) /
             512;
  }
}

std::vector<char> CollArgs(World& world, int rank, const CollCase& test, int64_t count, void* in,
                           void* out) {
  std::vector<char> args;
  const int at = FillBatches(world, rank, FunctionId(test.Name()), kWorkColl, 1, &args);
  char* const work = args.data() + at;
  const auto last_channel = static_cast<uint32_t>(world.channels() - 1);
  Poke(work, 0, last_channel << 8 | 16u << 16 | 0x80u << 24);  // 16 warps, profiled
  Poke(work, 4, world.ranks() - 1);                            // root
  Poke(work, 8, out);
  Poke(work, 16, in);
  DealOut(work, world.channels(), count);
  const uint64_t grains = GrainsPerChunk(test);
  Poke(work, kCollCountsAt + 24, grains | grains << 21 | grains << 42);
  Poke(work, kCollArgumentAt, test.argument);
  return args;
}

// What the result at an index must be, from all ranks' inputs.
template <class T, class Fold>
T Expected(const CollCase& test, const std::vector<std::vector<T>>& inputs, int rank, int64_t count,
           int64_t index, Fold fold) {
  const auto ranks = static_cast<int64_t>(inputs.size());
  if (test.collective == kAllGather) return inputs[Index(index / count)][Index(index % count)];
  if (test.collective == kBroadcast) return inputs[Index(ranks - 1)][Index(index)];
  const int64_t at = test.collective == kReduceScatter ? rank * count + index : index;
  T value = inputs[0][Index(at)];
  for (int64_t other = 1; other < ranks; other++) {
    value = static_cast<T>(fold(value, inputs[Index(other)][Index(at)]));
  }
  const bool is_average = test.reduction.find("PostDiv") != std::string::npos;
  return is_average ? static_cast<T>(value / static_cast<T>(ranks)) : value;
}

template <class T, class Fold>
void TestColl(World& world, const CollCase& test, int64_t count, Fold fold) {
  const int ranks = world.ranks();
  const int64_t in_count = test.collective == kReduceScatter ? count * ranks : count;
  const int64_t out_count = test.collective == kAllGather ? count * ranks : count;
  std::vector<std::vector<T>> inputs(Index(ranks));
  std::vector<std::vector<T>> outputs(Index(ranks));
  for (int rank = 0; rank < ranks; rank++) {
    outputs[Index(rank)].assign(Index(out_count), T(111));
    for (int64_t i = 0; i < in_count; i++) {
      inputs[Index(rank)].push_back(
          static_cast<T>((i * 7 + rank * 13 + 3) % 11 + (sizeof(T) > 1 ? 1 : 0)));
    }
  }
  const bool counts_bytes = test.collective == kAllGather || test.collective == kBroadcast;
  const int64_t units = counts_bytes ? count * static_cast<int64_t>(sizeof(T)) : count;
  const Traffic traffic{kRingConnection, test.protocol, test.IsBig() ? 2 : 1, test.IsBig() ? 4 : 1};
  world.Run(traffic, [&](int rank) {
    return CollArgs(world, rank, test, units, inputs[Index(rank)].data(),
                    outputs[Index(rank)].data());
  });
  int wrong = 0;
  for (int rank = 0; rank < ranks; rank++) {
    if (test.collective == kReduce && rank != ranks - 1) continue;
    for (int64_t i = 0; i < out_count; i++) {
      wrong += outputs[Index(rank)][Index(i)] != Expected(test, inputs, rank, count, i, fold);
    }
  }
  Finish(wrong, test.Name().c_str(), count, ranks);
}

P2pWork MakeP2pWork(World& world, int rank, int distance, int64_t bytes, bool ll, char* in,
                    char* out) {
  P2pWork work{};
  work.send_rank = (rank + distance) % world.ranks();
  work.recv_rank = (rank + world.ranks() - distance) % world.ranks();
  work.send_address = in + bytes * work.send_rank;
  work.recv_address = out + bytes * work.recv_rank;
  work.send_bytes = work.recv_bytes = static_cast<uint64_t>(bytes);
  work.p2p_channels = static_cast<uint8_t>(world.channels() == 3 ? 4 : world.channels());
  work.send_channels = work.recv_channels = static_cast<uint8_t>(world.channels());
  work.send_chunk_fp8 = work.recv_chunk_fp8 = ll ? 7 << 3 : 10 << 3;  // 512 and 4096 bytes
  work.bits = ll ? 0x43 : 0x40;
  return work;
}

// With all ranks, or only with the next one.
void TestP2p(World& world, int64_t bytes, bool ll, bool with_all) {
  const int ranks = world.ranks();
  const int first_distance = with_all ? 0 : 1;
  const int works = with_all ? ranks : 1;
  std::vector<std::vector<char>> inputs(Index(ranks));
  std::vector<std::vector<char>> outputs(Index(ranks));
  for (int rank = 0; rank < ranks; rank++) {
    outputs[Index(rank)].assign(Index(bytes * ranks + 1), 0);
    for (int64_t i = 0; i <= bytes * ranks; i++) {
      inputs[Index(rank)].push_back(static_cast<char>(i * 31 + rank * 17 + i / 251));
    }
  }
  world.Run({kP2pConnection, ll ? kProtoLL : kProtoSimple, 1, 1}, [&](int rank) {
    std::vector<char> args;
    const int at =
        FillBatches(world, rank, FunctionId("SendRecv"), kWorkP2p, (1ull << works) - 1, &args);
    for (int k = 0; k < works; k++) {
      Poke(args.data(), at + static_cast<int>(sizeof(P2pWork)) * k,
           MakeP2pWork(world, rank, first_distance + k, bytes, ll, inputs[Index(rank)].data(),
                       outputs[Index(rank)].data()));
    }
    return args;
  });
  int wrong = 0;
  for (int rank = 0; rank < ranks; rank++) {
    for (int k = 0; k < works; k++) {
      const int from = (rank + ranks - first_distance - k) % ranks;
      wrong += memcmp(outputs[Index(rank)].data() + bytes * from,
                      inputs[Index(from)].data() + bytes * rank, Index(bytes)) != 0;
    }
  }
  Finish(wrong, ll ? "p2p LL" : "p2p Simple", bytes, ranks);
}

void TestAllColls(World& world, int64_t count, int protocol) {
  const auto sum = [](auto a, auto b) { return a + b; };
  const auto product = [](auto a, auto b) { return a * b; };
  const auto smaller = [](auto a, auto b) { return a < b ? a : b; };
  const auto larger = [](auto a, auto b) { return a > b ? a : b; };
  const uint64_t max_of_signed = 0x80000000u ^ 0xffffffffu;
  const uint64_t signed_average = static_cast<uint64_t>(world.ranks()) << 1 | 1;
  const int p = protocol;
  TestColl<float>(world, {kAllReduce, "Sum f32", "RING", p}, count, sum);
  TestColl<float>(world, {kAllReduce, "Sum f32", "TREE", p}, count, sum);
  TestColl<double>(world, {kAllReduce, "Prod f64", "RING", p}, count, product);
  TestColl<uint8_t>(world, {kAllReduce, "Sum u8", "RING", p}, count, sum);
  TestColl<int32_t>(world, {kAllReduce, "MinMax u32", "TREE", p, max_of_signed}, count, larger);
  TestColl<float>(world, {kAllReduce, "MinMax f32", "RING", p}, count, smaller);
  TestColl<int64_t>(world, {kAllReduce, "SumPostDiv u64", "RING", p, signed_average}, count, sum);
  TestColl<uint32_t>(world, {kReduceScatter, "Sum u32", "RING", p}, count, sum);
  TestColl<double>(world, {kReduce, "Sum f64", "RING", p}, count, sum);
  TestColl<float>(world, {kAllGather, "", "RING", p}, count, sum);
  TestColl<uint8_t>(world, {kBroadcast, "", "RING", p}, count, sum);
  if (protocol == kProtoLL128) return;  // sends and receives do not use it
  TestP2p(world, count, protocol == kProtoLL, false);
  TestP2p(world, count, protocol == kProtoLL, true);
}

void TestWorld(int ranks, int channels, uint64_t first_step) {
  World world(ranks, channels, first_step);
  for (int repetition = 0; repetition < 2; repetition++) {
    for (const int64_t count : {1, 3, 17, 100, 1000, 4096, 10007, 60000}) {
      for (int protocol = 0; protocol < kProtocols; protocol++) {
        TestAllColls(world, count, protocol);
      }
    }
  }
  TestP2p(world, 0, false, true);
  if (!world.ProfilerIsUpToDate()) {
    failures++;
    printf("WRONG profiler counters\n");
  }
  printf("n %d channels %d: %d tests, %d failed\n", ranks, channels, tests, failures);
  fflush(stdout);
}

}  // namespace
}  // namespace chokepoint::softgpu::emu

int main(int argc, char** argv) {
  using namespace chokepoint::softgpu::emu;
  setenv("SOFTGPU_NCCL_VERSION", std::to_string(kMockVersion).c_str(), 1);
  const int most_ranks = argc > 1 ? atoi(argv[1]) : 4;
  // For instance 0x7fffffd0: the LL flags' cleaning comes by.
  const uint64_t first_step = argc > 2 ? strtoull(argv[2], nullptr, 0) : 0;
  for (int ranks = 2; ranks <= most_ranks; ranks++) {
    for (int channels = 1; channels <= 3; channels++) TestWorld(ranks, channels, first_step);
  }
  return failures != 0 ? 1 : 0;
}
