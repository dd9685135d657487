// Sizes and factors as nccl-tests print them (PERFORMANCE.md): for n = 8 ranks, 1 MiB a rank.
// Must not test what detectors make of it.
#include "tools/model/message_size.h"

#include <gtest/gtest.h>

namespace chokepoint::tools {
namespace {

TEST(MessageSize, AsNcclTestsCount) {
  constexpr std::uint64_t kFloats = 1 << 18;
  constexpr double kMiB = 1 << 20;
  EXPECT_EQ(MessageBytes("AllReduce", kFloats, "ncclFloat32", 8), kMiB);
  EXPECT_EQ(MessageBytes("Reduce", kFloats, "ncclFloat32", 8), kMiB);
  EXPECT_EQ(MessageBytes("ReduceScatter", kFloats, "ncclFloat32", 8), 8 * kMiB);
  EXPECT_EQ(MessageBytes("AllGather", 1 << 20, "ncclInt8", 8),
            8 * kMiB);  // NCCL counts bytes per rank here
  EXPECT_EQ(MessageBytes("Broadcast", 1 << 20, "ncclInt8", 8), kMiB);
  EXPECT_EQ(MessageBytes("AlltoAll", kFloats, "ncclFloat32", 8), 8 * kMiB);
  EXPECT_EQ(MessageBytes("SendRecv", kFloats, "ncclFloat32", 8), kMiB);
}

TEST(MessageSize, Datatypes) {
  EXPECT_EQ(DatatypeBytes("ncclFloat64"), 8u);
  EXPECT_EQ(DatatypeBytes("ncclUint64"), 8u);
  EXPECT_EQ(DatatypeBytes("ncclFloat32"), 4u);
  EXPECT_EQ(DatatypeBytes("ncclInt32"), 4u);
  EXPECT_EQ(DatatypeBytes("ncclFloat16"), 2u);
  EXPECT_EQ(DatatypeBytes("ncclBfloat16"), 2u);
  EXPECT_EQ(DatatypeBytes("ncclFloat8e4m3"), 1u);
  EXPECT_EQ(DatatypeBytes("ncclFloat8e5m2"), 1u);
  EXPECT_EQ(DatatypeBytes("ncclInt8"), 1u);
  EXPECT_EQ(DatatypeBytes("Unknown"), 1u);  // what NCCL says for ncclUint8
}

TEST(MessageSize, BusFactors) {
  EXPECT_DOUBLE_EQ(BusFactor("AllReduce", 8), 1.75);
  EXPECT_DOUBLE_EQ(BusFactor("AllGather", 8), 0.875);
  EXPECT_DOUBLE_EQ(BusFactor("ReduceScatter", 8), 0.875);
  EXPECT_DOUBLE_EQ(BusFactor("AlltoAll", 8), 0.875);
  EXPECT_DOUBLE_EQ(BusFactor("Broadcast", 8), 1);
  EXPECT_DOUBLE_EQ(BusFactor("Reduce", 8), 1);
  EXPECT_DOUBLE_EQ(BusFactor("SendRecv", 8), 1);
  EXPECT_DOUBLE_EQ(BusFactor("AllReduce", 1), 1);
}

}  // namespace
}  // namespace chokepoint::tools
