// chokepoint dump: every record of a file, as text and as JSON lines.
// Must not test the reader: tests/trace does.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/job_builder.h"
#include "tests/tools/scratch.h"

namespace chokepoint::tests {
namespace {

constexpr const char* kFile = "traces/node0-rank0-1000-1.nccl.cpt";

void WriteTrace(const Scratch& scratch) {
  JobBuilder job(scratch.traces(), {.ranks = 1});
  job.Rank(0)
      .AllReduce(10_ms, 3_ms)
      .Do({.function = "Send", .at_ns = 20_ms, .took_ns = 1_ms, .peer = 3});
  job.Rank(0).Open({.function = "AllGather", .at_ns = 30_ms});
  job.Rank(0).Killed(1_s);
}

std::vector<nlohmann::json> JsonLines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST(Dump, EveryRecordAsJson) {
  const Scratch scratch;
  WriteTrace(scratch);
  const CommandResult result = scratch.Run(std::string("$CHOKEPOINT dump --json ") + kFile);
  EXPECT_EQ(result.status, 0);
  const std::vector<nlohmann::json> lines = JsonLines(result.out);
  std::vector<std::string> events;
  for (const auto& line : lines) {
    if (line.contains("event")) events.push_back(line["event"]);
  }
  EXPECT_EQ(events, (std::vector<std::string>{"ClockSample", "Communicator", "Collective",
                                              "PointToPoint", "Collective", "ClockSample"}));
  EXPECT_EQ(lines[0]["meta.host"], "node0");
  EXPECT_EQ(lines[3]["function"], "AllReduce");
  EXPECT_EQ(lines[3]["count"], 1 << 20);
  EXPECT_EQ(lines[4]["peer"], 3);
  EXPECT_EQ(lines[5]["function"], "AllGather");
  EXPECT_EQ(lines[5]["snapshot"], true);
}

TEST(Dump, Text) {
  const Scratch scratch;
  WriteTrace(scratch);
  const CommandResult result = scratch.Run(std::string("$CHOKEPOINT dump ") + kFile);
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out.find(
                "event=Collective thread=1000 function=AllReduce algorithm=RING protocol=SIMPLE"),
            std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("not closed in order"), std::string::npos);
}

TEST(Dump, BlocksAddUpToTheFile) {
  const Scratch scratch;
  WriteTrace(scratch);
  const CommandResult result =
      scratch.Run(std::string("$CHOKEPOINT dump --blocks --json ") + kFile);
  EXPECT_EQ(result.status, 0);
  std::uint64_t bytes = sizeof(trace::FileHeader);
  for (const auto& line : JsonLines(result.out)) {
    if (line.contains("block")) bytes += line["bytes"].get<std::uint64_t>();
  }
  EXPECT_EQ(bytes, std::filesystem::file_size(scratch.path() + "/" + kFile));
}

TEST(Dump, NotATrace) {
  const Scratch scratch;
  scratch.Write("x.cpt", std::string(100, 'x'));
  const CommandResult result = scratch.Run("$CHOKEPOINT dump x.cpt");
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.err.rfind("chokepoint: x.cpt: not a trace", 0), 0u) << result.err;
}

}  // namespace
}  // namespace chokepoint::tests
