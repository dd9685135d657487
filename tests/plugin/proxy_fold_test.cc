// The fold of proxy steps, with a clock that the test sets: where wall time goes, and what confuses
// it not. Must not need NCCL, a board or a recorder.
#include "plugin/proxy_fold.h"

#include <gtest/gtest.h>

namespace chokepoint::plugin {
namespace {

class ProxyFoldTest : public testing::Test {
 protected:
  void Send() { record_.flags = trace::kProxySend; }
  ProxyFold Fold() { return {&record_, &side_}; }
  void SetUp() override {
    record_.start_ticks = 1000;
    side_.mark_ticks = 1000;
    g_ticks_per_4us.store(100);
  }
  trace::ProxyOperation record_;
  ProxySide side_;
};

TEST_F(ProxyFoldTest, SendStepGoesThroughItsStates) {
  Send();
  ProxyFold fold = Fold();
  EXPECT_TRUE(fold.Start(0, 1010));
  fold.Refuse(0, 1030);  // state 20: offered
  EXPECT_TRUE(fold.Enter(0, StepState::kWireWait, 1060));
  fold.Stop(0, 1160);
  EXPECT_EQ(record_.first_after_ticks, 10);
  EXPECT_EQ(record_.gpu_wait_ticks, 20);
  EXPECT_EQ(record_.peer_wait_ticks, 30);
  EXPECT_EQ(record_.wire_wait_ticks, 100);
  EXPECT_EQ(record_.longest_wire_wait_ticks, 100);
  EXPECT_EQ(record_.end_after_ticks, 160);
  EXPECT_EQ(record_.steps, 1u);
  EXPECT_EQ(record_.refusals, 0u);
}

TEST_F(ProxyFoldTest, OnlyTheFirstPeerWaitCountsTimeAndRetriesAreRefusals) {
  Send();
  ProxyFold fold = Fold();
  fold.Start(0, 1000);
  fold.Refuse(0, 1010);
  fold.Refuse(0, 1020);
  fold.Refuse(0, 1030);
  fold.Enter(0, StepState::kWireWait, 1040);
  EXPECT_EQ(record_.peer_wait_ticks, 30);
  EXPECT_EQ(record_.gpu_wait_ticks, 10);
  EXPECT_EQ(record_.refusals, 2u);
}

TEST_F(ProxyFoldTest, OverlappingStepsDoNotAddUp) {
  Send();
  ProxyFold fold = Fold();
  for (std::uint32_t step = 0; step < 8; ++step) fold.Start(step, 1000);
  for (std::uint32_t step = 0; step < 8; ++step) fold.Enter(step, StepState::kWireWait, 1000);
  for (std::uint32_t step = 0; step < 8; ++step) fold.Stop(step, 1100 + step);
  EXPECT_EQ(record_.wire_wait_ticks, 107) << "wall time, not eight times as much";
  EXPECT_EQ(record_.gpu_wait_ticks, 0);
  EXPECT_EQ(record_.steps, 8u);
}

TEST_F(ProxyFoldTest, TimeGoesToTheOldestOpenStep) {
  Send();
  ProxyFold fold = Fold();
  fold.Start(4, 1000);
  fold.Start(5, 1000);
  fold.Enter(5, StepState::kWireWait, 1010);  // the younger overtakes
  fold.Enter(4, StepState::kWireWait, 1050);
  fold.Stop(4, 1060);
  fold.Stop(5, 1070);
  EXPECT_EQ(record_.gpu_wait_ticks, 50) << "step 4 waited for the GPU until 1050";
  EXPECT_EQ(record_.wire_wait_ticks, 20);
}

TEST_F(ProxyFoldTest, RepeatedReceiveStartsAreOneStep) {
  ProxyFold fold = Fold();
  EXPECT_TRUE(fold.Start(0, 1010));
  EXPECT_FALSE(fold.Start(0, 1020));
  EXPECT_FALSE(fold.Start(0, 1030));
  fold.Enter(0, StepState::kWireWait, 1040);
  fold.Enter(0, StepState::kFlushWait, 1100);
  fold.Enter(0, StepState::kConsumeWait, 1105);
  fold.Stop(0, 1125);
  EXPECT_EQ(record_.peer_wait_ticks, 30);
  EXPECT_EQ(record_.wire_wait_ticks, 60);
  EXPECT_EQ(record_.flush_wait_ticks, 5);
  EXPECT_EQ(record_.consume_wait_ticks, 20);
  EXPECT_EQ(record_.refusals, 2u);
  EXPECT_EQ(record_.steps, 1u);
  EXPECT_EQ(record_.first_after_ticks, 10);
}

TEST_F(ProxyFoldTest, ReceiveWithoutAnOpenStepWaitsForFreeBuffers) {
  ProxyFold fold = Fold();
  fold.Start(0, 1100);
  fold.Enter(0, StepState::kWireWait, 1100);
  fold.Stop(0, 1110);
  fold.Start(1, 1150);
  fold.Enter(1, StepState::kWireWait, 1150);
  fold.Stop(1, 1160);
  EXPECT_EQ(record_.gpu_wait_ticks, 40) << "between the steps, but not before the first";
  EXPECT_EQ(record_.wire_wait_ticks, 20);
}

TEST_F(ProxyFoldTest, BackwardTransitionsAreIgnored) {
  ProxyFold fold = Fold();
  fold.Start(0, 1000);
  EXPECT_TRUE(fold.Enter(0, StepState::kFlushWait, 1010));
  EXPECT_FALSE(fold.Enter(0, StepState::kWireWait, 1020));
  EXPECT_FALSE(fold.Enter(0, StepState::kFlushWait, 1030));
  fold.Stop(0, 1040);
  EXPECT_EQ(record_.flush_wait_ticks, 30);
  EXPECT_EQ(record_.wire_wait_ticks, 0);
}

TEST_F(ProxyFoldTest, RefusalAfterAcceptanceIsIgnored) {
  Send();
  ProxyFold fold = Fold();
  fold.Start(0, 1000);
  fold.Enter(0, StepState::kWireWait, 1010);
  fold.Refuse(0, 1020);
  fold.Stop(0, 1030);
  EXPECT_EQ(record_.wire_wait_ticks, 20);
  EXPECT_EQ(record_.refusals, 0u);
}

TEST_F(ProxyFoldTest, AForgottenStepGivesItsPlaceToTheNextAndIsNotCounted) {
  ProxyFold fold = Fold();
  fold.Start(0, 1000);
  fold.Enter(0, StepState::kWireWait, 1000);
  fold.Start(8, 1100);  // same place; step 0 was never stopped
  EXPECT_FALSE(fold.IsOpen(0));
  EXPECT_TRUE(fold.IsOpen(8));
  fold.Stop(8, 1110);
  EXPECT_EQ(record_.steps, 1u);
}

TEST_F(ProxyFoldTest, StepNumbersAreComparedInTheBitsThatHandlesCarry) {
  ProxyFold fold = Fold();
  fold.Start(4096 + 3, 1000);
  EXPECT_TRUE(fold.IsOpen(3));
  EXPECT_FALSE(fold.IsOpen(11));
}

TEST_F(ProxyFoldTest, HistogramClassesGrowByFour) {
  Send();
  ProxyFold fold = Fold();
  std::uint64_t now = 2000;
  for (const std::uint64_t wait :
       {99u, 100u, 399u, 400u, 1600u, 6400u, 25600u, 102400u, 409600u, 9999999u}) {
    fold.Start(0, now);
    fold.Enter(0, StepState::kWireWait, now);
    now += wait;
    fold.Stop(0, now);
  }
  const std::uint16_t expected[8] = {1, 2, 1, 1, 1, 1, 1, 2};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(record_.wire_histogram[i], expected[i]) << i;
}

TEST_F(ProxyFoldTest, HistogramSaturates) {
  Send();
  record_.wire_histogram[0] = 0xffff;
  ProxyFold fold = Fold();
  fold.Start(0, 1000);
  fold.Enter(0, StepState::kWireWait, 1000);
  fold.Stop(0, 1001);
  EXPECT_EQ(record_.wire_histogram[0], 0xffff);
}

TEST_F(ProxyFoldTest, WithoutAClockRateThereIsNoHistogram) {
  Send();
  g_ticks_per_4us.store(0);
  ProxyFold fold = Fold();
  fold.Start(0, 1000);
  fold.Enter(0, StepState::kWireWait, 1000);
  fold.Stop(0, 1500);
  for (const std::uint16_t count : record_.wire_histogram) EXPECT_EQ(count, 0);
  EXPECT_EQ(record_.longest_wire_wait_ticks, 500);
}

TEST_F(ProxyFoldTest, OffersBefore227GoToTheOldestWaitingStep) {
  Send();
  ProxyFold fold = Fold();
  fold.Start(0, 1000);
  fold.Start(1, 1000);
  fold.OfferOldest(1010);
  fold.OfferOldest(1020);
  fold.Enter(0, StepState::kWireWait, 1030);
  fold.OfferOldest(1040);
  fold.Enter(1, StepState::kWireWait, 1050);
  fold.Stop(0, 1060);
  fold.Stop(1, 1070);
  EXPECT_EQ(record_.gpu_wait_ticks, 10);
  EXPECT_EQ(record_.peer_wait_ticks, 20);
  EXPECT_EQ(record_.wire_wait_ticks, 40);
  EXPECT_EQ(record_.refusals, 1u);
}

TEST_F(ProxyFoldTest, AClockThatStandsStillOrGoesBackCostsNothing) {
  Send();
  ProxyFold fold = Fold();
  fold.Start(0, 1000);
  fold.Enter(0, StepState::kWireWait, 900);
  fold.Stop(0, 950);
  EXPECT_GE(record_.wire_wait_ticks, 0);
  EXPECT_LE(record_.wire_wait_ticks, 50);
}

}  // namespace
}  // namespace chokepoint::plugin
