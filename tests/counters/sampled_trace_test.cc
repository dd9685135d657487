// What chokepoint-sample wrote, read back by the reader: the records arrive whole, with their
// names, in order. Must not link the write side.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trace/reader.h"
#include "trace/sampler_enums.h"

namespace chokepoint::tests {
namespace {

using trace::EventKind;

class SampledTrace : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/chokepoint-sample-XXXXXX";
    directory_ = mkdtemp(name);
    const std::string command =
        "CHOKEPOINT_DIR=" + directory_ + " " CHOKEPOINT_TEST_SAMPLE " --seconds 4 --connections 2";
    ASSERT_EQ(system((command + " > /dev/null").c_str()), 0);
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      files.push_back(entry.path());
    }
    ASSERT_EQ(files.size(), 1u);
    const trace::Status status = trace::TraceFile::Open(files[0], &file_);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
  std::unique_ptr<trace::TraceFile> file_;
};

TEST_F(SampledTrace, HoldsEverySourceOfThisMachineUndamaged) {
  std::map<EventKind, int> count;
  std::vector<trace::TcpConnection> connections;
  std::vector<trace::TcpSample> samples;
  trace::SamplerCost cost;
  const trace::ReadResult result = file_->Read([&](const trace::EventView& view) {
    ++count[view.kind];
    trace::TcpConnection connection;
    trace::TcpSample sample;
    if (file_->Decode(view, &connection)) connections.push_back(connection);
    if (file_->Decode(view, &sample)) samples.push_back(sample);
    file_->Decode(view, &cost);
  });
  EXPECT_EQ(result.lost_bytes, 0u);
  EXPECT_EQ(result.unknown_events, 0u);
  EXPECT_TRUE(result.ended);
  EXPECT_EQ(count[EventKind::kLoss], 0);
  for (const EventKind kind :
       {EventKind::kSamplerRole, EventKind::kSamplerCost, EventKind::kNicInterface,
        EventKind::kNicSample, EventKind::kCpuSample, EventKind::kProcessSample,
        EventKind::kThreadSample, EventKind::kMemorySample, EventKind::kNetstatSample,
        EventKind::kSoftnetSample}) {
    EXPECT_GT(count[kind], 0) << static_cast<int>(kind);
  }
  ASSERT_EQ(connections.size(), 4u);
  EXPECT_EQ(file_->name(connections[0].interface), "lo");
  EXPECT_EQ(file_->meta("net.tcp_congestion_control"),
            file_->name(connections[0].congestion_control));
  std::map<std::uint32_t, trace::TcpSample> latest;
  for (const trace::TcpSample& sample : samples) {
    EXPECT_GE(sample.acked_bytes, latest[sample.connection].acked_bytes);
    EXPECT_GE(sample.ticks, latest[sample.connection].ticks);
    latest[sample.connection] = sample;
  }
  EXPECT_EQ(latest.size(), 4u);
  ASSERT_GT(cost.wall_ns, 0u);
  std::printf("sampling cost %.4f %% of a core over %.1f s, %llu reads, %llu errors\n",
              100.0 * static_cast<double>(cost.cpu_ns - cost.setup_cpu_ns) /
                  static_cast<double>(cost.wall_ns),
              static_cast<double>(cost.wall_ns) / 1e9, static_cast<unsigned long long>(cost.reads),
              static_cast<unsigned long long>(cost.errors));
}

}  // namespace
}  // namespace chokepoint::tests
