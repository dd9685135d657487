// The unmodified NCCL library on the software GPU, recorded: every operation of every rank,
// compared with the job's own count. Must not tell the job anything but environment variables.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/plugin/plugin_trace.h"

namespace chokepoint::tests {
namespace {

namespace fs = std::filesystem;

// Function and bytes per rank -> how many.
using Calls = std::map<std::pair<std::string, std::uint64_t>, std::uint64_t>;

struct Job {
  std::string arguments;
  std::string environment;  // VAR=VALUE ...
};

class RealNcclTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(CHOKEPOINT_TRAINING_JOB).empty())
      GTEST_SKIP() << "the software GPU is not built here";
    if (std::string(CHOKEPOINT_NCCL).empty()) GTEST_SKIP() << CHOKEPOINT_NO_NCCL_REASON;
    std::string pattern = (fs::temp_directory_path() / "chokepoint-nccl-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  void TearDown() override {
    std::error_code ignored;
    if (!directory_.empty()) fs::remove_all(directory_, ignored);
  }

  // Runs the job; the plugin's folder is in the library path, nothing else points to it.
  void Run(const Job& job) {
    const std::string command =
        "LD_LIBRARY_PATH=" + fs::path(CHOKEPOINT_PLUGIN).parent_path().string() +
        " CHOKEPOINT_DIR=" + directory_ + "/traces NCCL_DEBUG=WARN " + job.environment +
        " " CHOKEPOINT_SOFTGPU_RUN " " CHOKEPOINT_TRAINING_JOB " --out " + directory_ +
        "/job --no-compute --checkpoint-every 0 " + job.arguments + " >" + directory_ +
        "/output 2>&1";
    const int status = std::system(command.c_str());
    std::ifstream output(directory_ + "/output");
    const std::string text((std::istreambuf_iterator<char>(output)), {});
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << "\n" << text;
    ASSERT_EQ(text.find("nccl_emu: not implemented"), std::string::npos) << text;
    if (!fs::exists(directory_ + "/traces")) return;  // the test will miss them
    for (const auto& entry : fs::directory_iterator(directory_ + "/traces")) {
      PluginTrace trace = ReadPluginTrace(entry.path().string());
      const int rank = std::stoi(trace.meta.at("rank"));
      traces_.emplace(rank, std::move(trace));
    }
  }

  nlohmann::json Truth(int rank) const {
    std::ifstream file(directory_ + "/job/truth-rank" + std::to_string(rank) + ".json");
    return nlohmann::json::parse(file);
  }

  Calls TrueCalls(int rank) const {
    Calls calls;
    const nlohmann::json truth = Truth(rank);
    for (const auto& call : truth.at("calls"))
      calls[{call.at("function"), call.at("bytes")}] += call.at("count").get<std::uint64_t>();
    return calls;
  }

  // The job uses floats; NCCL counts all-gathers in bytes.
  static Calls RecordedCalls(const PluginTrace& trace) {
    Calls calls;
    for (const auto& one : trace.collectives) {
      const std::uint64_t element = trace.name(one.datatype) == "ncclInt8" ? 1 : 4;
      calls[{trace.name(one.function), one.count * element}] += 1;
    }
    for (const auto& one : trace.point_to_points) {
      const std::uint64_t element = trace.name(one.datatype) == "ncclInt8" ? 1 : 4;
      calls[{trace.name(one.function), one.count * element}] += 1;
    }
    return calls;
  }

  void ExpectEverythingRecorded(int ranks) {
    ASSERT_EQ(traces_.size(), static_cast<std::size_t>(ranks));
    for (const auto& [rank, trace] : traces_) {
      SCOPED_TRACE("rank " + std::to_string(rank));
      EXPECT_TRUE(trace.ended);
      EXPECT_TRUE(trace.losses.empty());
      EXPECT_EQ(trace.lost_bytes, 0u);
      EXPECT_EQ(RecordedCalls(trace), TrueCalls(rank));
      ExpectNoGaps(trace);
      ExpectEverythingEnded(trace);
    }
    ExpectRanksAgree();
  }

  static void ExpectNoGaps(const PluginTrace& trace) {
    std::map<std::pair<std::uint32_t, std::string>, std::set<std::uint32_t>> sequences;
    for (const auto& one : trace.collectives) {
      EXPECT_NE(one.communicator, 0u);
      EXPECT_EQ(one.flags & trace::kOperationOwnSequence, 0);
      EXPECT_TRUE(sequences[std::make_pair(one.communicator, trace.name(one.function))]
                      .insert(one.sequence)
                      .second);
    }
    for (const auto& [key, seen] : sequences) {
      EXPECT_EQ(*seen.begin(), 0u);
      EXPECT_EQ(*seen.rbegin() + 1, seen.size())
          << "communicator " << key.first << " " << key.second;
    }
  }

  static void ExpectEverythingEnded(const PluginTrace& trace) {
    const bool kernels = trace.communicators.at(0).api_version >= 5;
    for (const auto& one : trace.collectives) {
      EXPECT_EQ(one.flags & (trace::kOperationOpen | trace::kOperationAborted), 0);
      EXPECT_EQ((one.flags & trace::kOperationHasGpuTime) != 0, kernels);
      EXPECT_EQ((one.flags & trace::kOperationHasArrival) != 0, kernels);
    }
    for (const auto& one : trace.point_to_points)
      EXPECT_EQ(one.flags & (trace::kOperationOpen | trace::kOperationAborted), 0);
    for (const auto& one : trace.proxies) {
      EXPECT_EQ(one.flags & (trace::kProxyOpen | trace::kProxyForeign), 0);
      EXPECT_NE(one.operation, 0u);
      EXPECT_NE(one.communicator, 0u);
    }
  }

  // The same communicator ids on all ranks, each with the same collectives.
  void ExpectRanksAgree() {
    std::map<std::uint64_t, std::map<std::string, std::set<std::set<std::uint32_t>>>>
        by_communicator;
    for (const auto& [rank, trace] : traces_) {
      std::map<std::uint32_t, std::uint64_t> ids;
      for (const auto& communicator : trace.communicators)
        if (communicator.communicator_id != 0)
          ids[communicator.communicator] = communicator.communicator_id;
      std::map<std::uint64_t, std::map<std::string, std::set<std::uint32_t>>> mine;
      for (const auto& one : trace.collectives)
        mine[ids.at(one.communicator)][trace.name(one.function)].insert(one.sequence);
      for (const auto& [id, functions] : mine)
        for (const auto& [function, sequences] : functions)
          by_communicator[id][function].insert(sequences);
    }
    for (const auto& [id, functions] : by_communicator)
      for (const auto& [function, sets] : functions)
        EXPECT_EQ(sets.size(), 1u) << id << " " << function;
  }

  std::uint64_t ProxyBytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [rank, trace] : traces_)
      for (const auto& one : trace.proxies) bytes += one.bytes;
    return bytes;
  }

  std::string directory_;
  std::map<int, PluginTrace> traces_;
};

constexpr const char* kSmall =
    "--ranks 2 --nodes 2 --steps 2 --sizes 4K,64K --alltoall --send-recv";

TEST_F(RealNcclTest, OnlyTheNetworkPluginIsNamed) {
  Run({kSmall, "NCCL_NET_PLUGIN=chokepoint"});
  ExpectEverythingRecorded(2);
  EXPECT_EQ(traces_.at(0).meta.at("nccl_loaded_by"), "NCCL_NET_PLUGIN");
  EXPECT_EQ(traces_.at(0).meta.at("nccl_net_side"), "initialised");
  EXPECT_GT(ProxyBytes(), 0u);
}

TEST_F(RealNcclTest, OnlyTheProfilerPluginIsNamed) {
  Run({kSmall, "NCCL_PROFILER_PLUGIN=chokepoint"});
  ExpectEverythingRecorded(2);
  EXPECT_EQ(traces_.at(0).meta.at("nccl_loaded_by"), "NCCL_PROFILER_PLUGIN");
  EXPECT_EQ(traces_.at(0).meta.at("nccl_net_side"), "not asked");
}

TEST_F(RealNcclTest, AbsolutePathOfTheProfiler) {
  Run({kSmall, "NCCL_PROFILER_PLUGIN=" CHOKEPOINT_PLUGIN});
  ExpectEverythingRecorded(2);
}

TEST_F(RealNcclTest, AbsolutePathOfTheNetworkPlugin) {
  Run({kSmall, "NCCL_NET_PLUGIN=" CHOKEPOINT_PLUGIN});
  ExpectEverythingRecorded(2);
}

TEST_F(RealNcclTest, FirstOfAList) {
  Run({kSmall, "NCCL_NET_PLUGIN=chokepoint,other"});
  if (Truth(0).at("nccl_version") < 22705) GTEST_SKIP() << "NCCL takes lists from 2.27.5 on";
  ExpectEverythingRecorded(2);
}

TEST_F(RealNcclTest, OnOneNodeThereAreNoProxiesButEverythingElse) {
  Run({"--ranks 2 --nodes 1 --steps 3 --sizes 4K,256K --alltoall", "NCCL_NET_PLUGIN=chokepoint"});
  ExpectEverythingRecorded(2);
}

TEST_F(RealNcclTest, EightCommunicatorsFourThreadsGroupsAndAllToAll) {
  Run(
      {"--ranks 2 --nodes 2 --steps 4 --comms 8 --threads 4 --group --alltoall --send-recv --sizes "
       "4K,64K",
       "NCCL_NET_PLUGIN=chokepoint"});
  ExpectEverythingRecorded(2);
  for (const auto& [rank, trace] : traces_) {
    std::set<std::uint64_t> ids;
    for (const auto& communicator : trace.communicators) ids.insert(communicator.communicator_id);
    EXPECT_GE(ids.size(), 8u);
    EXPECT_FALSE(trace.groups.empty());
  }
}

TEST_F(RealNcclTest, FourRanksOnTwoNodes) {
  Run({"--ranks 4 --nodes 2 --steps 4 --comms 2 --comm-source ids --sizes 64K,1M",
       "NCCL_NET_PLUGIN=chokepoint"});
  ExpectEverythingRecorded(4);
}

TEST_F(RealNcclTest, AllDetail) {
  Run({kSmall, "NCCL_NET_PLUGIN=chokepoint CHOKEPOINT_DETAIL=all"});
  ExpectEverythingRecorded(2);
  for (const auto& [rank, trace] : traces_) {
    std::uint64_t steps = 0;
    for (const auto& one : trace.proxies) steps += one.steps;
    EXPECT_EQ(trace.steps.size(), steps);
    if (trace.communicators.at(0).api_version < 5) continue;
    EXPECT_FALSE(trace.calls.empty());
    std::uint64_t channels = 0;
    for (const auto& one : trace.collectives) channels += one.channels;
    EXPECT_GE(trace.kernels.size(), channels);
  }
}

class ForcedTest : public RealNcclTest,
                   public testing::WithParamInterface<std::pair<const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(
    AlgorithmAndProtocol, ForcedTest,
    testing::Values(std::pair("RING", "LL"), std::pair("RING", "LL128"),
                    std::pair("RING", "SIMPLE"), std::pair("TREE", "LL"),
                    std::pair("TREE", "LL128"), std::pair("TREE", "SIMPLE")),
    [](const auto& tested) {
      return std::string(tested.param.first).append("_").append(tested.param.second);
    });

TEST_P(ForcedTest, TheTraceSaysWhatWasForced) {
  const auto [algorithm, protocol] = GetParam();
  Run({"--ranks 4 --nodes 2 --steps 2 --no-all-gather --sizes 4K,64K",
       std::string("NCCL_NET_PLUGIN=chokepoint NCCL_ALGO=") + algorithm +
           " NCCL_PROTO=" + protocol});
  ExpectEverythingRecorded(4);
  for (const auto& [rank, trace] : traces_) {
    for (const auto& one : trace.collectives) {
      EXPECT_EQ(trace.name(one.algorithm), algorithm);
      EXPECT_EQ(trace.name(one.protocol), protocol);
    }
  }
}

TEST_F(RealNcclTest, PatAllGather) {
  Run({"--ranks 4 --nodes 4 --steps 3 --sizes 64K",
       "NCCL_NET_PLUGIN=chokepoint NCCL_ALGO=allgather:PAT"});
  ExpectEverythingRecorded(4);
  bool seen = false;
  for (const auto& one : traces_.at(0).collectives)
    seen = seen || traces_.at(0).name(one.algorithm) == "PAT";
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace chokepoint::tests
