// Totals by kind of operation: sums, classes of size, and what happens when there are too many
// kinds. Must not depend on the order of rows.
#include "plugin/operation_summary.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "trace/events.h"

namespace chokepoint::plugin {
namespace {

std::vector<trace::OperationSummary> Rows() {
  std::vector<trace::OperationSummary> rows;
  WriteSummary(
      [](const void* record, std::size_t bytes, void* argument) {
        ASSERT_EQ(bytes, sizeof(trace::OperationSummary));
        trace::OperationSummary row;
        std::memcpy(&row, record, bytes);
        static_cast<std::vector<trace::OperationSummary>*>(argument)->push_back(row);
      },
      &rows);
  return rows;
}

// One test: the table is the process's.
TEST(OperationSummaryTest, SumsAndOverflow) {
  trace::Collective collective;
  collective.function = 1;
  collective.algorithm = 2;
  collective.protocol = 3;
  collective.datatype = 4;
  collective.communicator = 7;
  collective.count = 1000;
  collective.flags = trace::kOperationHasHostEnd | trace::kOperationHasGpuTime;
  collective.enqueue_ticks = 500;
  collective.end_after_ticks = 25;
  collective.gpu_start_ns = 10;
  collective.gpu_end_ns = 40;
  SummariseRecord(&collective);
  collective.count = 1023;  // the same power of two
  collective.enqueue_ticks = 400;
  collective.flags = 0;
  SummariseRecord(&collective);
  const trace::ProxyOperation other;
  SummariseRecord(&other);
  std::vector<trace::OperationSummary> rows = Rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].operations, 2u);
  EXPECT_EQ(rows[0].count_sum, 2023u);
  EXPECT_EQ(rows[0].size_log2, 9);
  EXPECT_EQ(rows[0].host_sum_ticks, 25);
  EXPECT_EQ(rows[0].gpu_sum_ns, 30);
  EXPECT_EQ(rows[0].first_ticks, 400u);
  EXPECT_EQ(rows[0].last_ticks, 500u);

  constexpr std::uint32_t kKinds = 100'000;  // more than any table
  for (std::uint32_t i = 0; i < kKinds; ++i) {
    trace::PointToPoint point_to_point;
    point_to_point.function = 9;
    point_to_point.communicator = 100 + i;
    SummariseRecord(&point_to_point);
  }
  rows = Rows();
  std::uint64_t operations = 0;
  std::uint64_t overflow = 0;
  for (const auto& row : rows) {
    operations += row.operations;
    if (row.function == 0) overflow += row.operations;
  }
  EXPECT_EQ(operations, kKinds + 2) << "nothing is lost";
  EXPECT_GT(overflow, 0u);
  EXPECT_LE(rows.size(), 4097u);
}

}  // namespace
}  // namespace chokepoint::plugin
