// The drivers' own counters, on recorded answers and on a real interface of this machine.
// Must not depend on which driver this machine has.
#include "counters/ethtool.h"

#include <gtest/gtest.h>
#include <linux/ethtool.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/counters/system_tree.h"

namespace chokepoint::tests {
namespace {

using counters::EthtoolReader;
using trace::NicCounterMeaning;

// A driver with these counters.
struct FakeDriver {
  std::vector<std::pair<std::string, std::uint64_t>> stats;
  long refuse = 0;
  int gstats_calls = 0;
  int gstrings_calls = 0;

  counters::EthtoolChannel channel() { return {.call = &Call, .argument = this}; }
  static long Call(const char*, void* command, void* self) noexcept {
    auto* driver = static_cast<FakeDriver*>(self);
    if (driver->refuse != 0) return driver->refuse;
    std::uint32_t number = 0;
    std::memcpy(&number, command, sizeof(number));
    auto* bytes = static_cast<char*>(command);
    if (number == ETHTOOL_GSSET_INFO) {
      const auto count = static_cast<std::uint32_t>(driver->stats.size());
      std::memcpy(bytes + sizeof(ethtool_sset_info), &count, sizeof(count));
    } else if (number == ETHTOOL_GSTRINGS) {
      ++driver->gstrings_calls;
      for (std::size_t i = 0; i < driver->stats.size(); ++i) {
        char* name = bytes + sizeof(ethtool_gstrings) + i * ETH_GSTRING_LEN;
        std::memset(name, 0, ETH_GSTRING_LEN);
        std::memcpy(name, driver->stats[i].first.data(),
                    std::min<std::size_t>(driver->stats[i].first.size(), ETH_GSTRING_LEN));
      }
    } else if (number == ETHTOOL_GSTATS) {
      ++driver->gstats_calls;
      for (std::size_t i = 0; i < driver->stats.size(); ++i) {
        std::memcpy(bytes + sizeof(ethtool_stats) + i * 8, &driver->stats[i].second, 8);
      }
    }
    return 0;
  }
};

class Ethtool : public testing::Test {
 protected:
  Ethtool() {
    tree_.Write(
        "/proc/net/dev",
        "h\nh\neth0: 5 5 0 0 0 0 0 0 5 5 0 0 0 0 0 0\nveth0: 5 5 0 0 0 0 0 0 5 5 0 0 0 0 0 0\n");
    tree_.Link("/sys/class/net/eth0/device", "../../../0000:1b:00.0");
    nics_->Init();
    nics_->Sample(tree_.NextRound());
    reader_->Init(driver_.channel());
  }
  void Rounds(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) reader_->Sample(tree_.NextRound(), *nics_);
  }
  SystemTree tree_;
  FakeDriver driver_;
  std::unique_ptr<counters::NicReader> nics_ = std::make_unique<counters::NicReader>();
  std::unique_ptr<EthtoolReader> reader_ = std::make_unique<EthtoolReader>();
};

TEST_F(Ethtool, CountersThatMeanSomethingWithTheirMeaning) {
  driver_.stats = {{"rx_packets", 1},
                   {"rx_prio3_pause_duration", 500},
                   {"ch0_poll", 7},
                   {"bw_out_allowance_exceeded", 9}};
  Rounds(1);
  const auto all = tree_.events().All<trace::NicCounter>();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(tree_.events().name(all[0].name), "rx_prio3_pause_duration");
  EXPECT_EQ(all[0].value, 500u);
  EXPECT_EQ(all[0].meaning, static_cast<std::uint8_t>(NicCounterMeaning::kPauseReceivedUs));
  EXPECT_EQ(all[0].index, 1u);
  EXPECT_EQ(all[1].meaning, static_cast<std::uint8_t>(NicCounterMeaning::kProviderLimit));
}

TEST_F(Ethtool, AskedRarelyAndRecordedWhenMoved) {
  driver_.stats = {{"rx_discards_phy", 1}, {"tx_discards_phy", 2}};
  Rounds(2 * EthtoolReader::kEvery);
  EXPECT_EQ(driver_.gstats_calls, 2);
  EXPECT_EQ(driver_.gstrings_calls, 1);
  EXPECT_EQ(tree_.events().All<trace::NicCounter>().size(), 2u);
  driver_.stats[0].second = 5;
  Rounds(EthtoolReader::kEvery);
  ASSERT_EQ(tree_.events().All<trace::NicCounter>().size(), 3u);
  EXPECT_EQ(tree_.events().All<trace::NicCounter>().back().value, 5u);
}

TEST_F(Ethtool, AListThatGrowsIsLearntAgain) {
  driver_.stats = {{"rx_discards_phy", 1}};
  Rounds(1);
  driver_.stats.insert(driver_.stats.begin(), {"rx_packets", 99});
  Rounds(EthtoolReader::kEvery);
  EXPECT_EQ(driver_.gstrings_calls, 2);
  EXPECT_EQ(tree_.events().All<trace::NicCounter>().back().value, 1u);
}

TEST_F(Ethtool, ADriverWithoutThemIsSaidOnce) {
  driver_.refuse = -EOPNOTSUPP;
  Rounds(3 * EthtoolReader::kEvery);
  const auto status = tree_.events().All<trace::SourceStatus>();
  ASSERT_EQ(status.size(), 1u);
  EXPECT_EQ(status[0].source, static_cast<std::uint8_t>(trace::SamplerSource::kNicDriver));
  EXPECT_EQ(tree_.events().name(status[0].device), "eth0");
}

TEST_F(Ethtool, AListThatIsTooLongIsRefusedNotCut) {
  driver_.stats.assign(5000, {"rx_discards_phy", 1});
  Rounds(1);
  EXPECT_TRUE(tree_.events().All<trace::NicCounter>().empty());
  EXPECT_EQ(tree_.events().All<trace::SourceStatus>().size(), 1u);
}

TEST(EthtoolNames, PatternsWithNumbers) {
  EXPECT_EQ(counters::MeaningOfEthtool("rx_prio0_pause"), NicCounterMeaning::kPauseReceived);
  EXPECT_EQ(counters::MeaningOfEthtool("tx_prio7_pause_duration"), NicCounterMeaning::kPauseSentUs);
  EXPECT_EQ(counters::MeaningOfEthtool("rx_pfc_ena_frames_pri5"),
            NicCounterMeaning::kPauseReceived);
  EXPECT_EQ(counters::MeaningOfEthtool("tx_priority_3_xoff"), NicCounterMeaning::kPauseSent);
  EXPECT_EQ(counters::MeaningOfEthtool("mac_rx_pri2_pfc_num"), NicCounterMeaning::kPauseReceived);
  for (const char* other :
       {"rx_prio_pause", "rx_priox_pause", "rx_prio3_pause_transition", "", "rx_packets"}) {
    EXPECT_EQ(counters::MeaningOfEthtool(other), NicCounterMeaning::kOther) << other;
  }
}

TEST(EthtoolKernel, ARealInterfaceAnswersOrSaysThatItCannot) {
  SystemTree tree(std::string(""));
  auto nics = std::make_unique<counters::NicReader>();
  nics->Init();
  nics->Sample(tree.NextRound());
  bool has_device = false;
  for (std::size_t i = 0; i < nics->count(); ++i) {
    has_device |= (nics->at(i).identity.flags & trace::kNicVirtual) == 0;
  }
  if (!has_device) GTEST_SKIP() << "no interface of this machine has a device";
  auto reader = std::make_unique<EthtoolReader>();
  int calls = 0;
  static int* counted = nullptr;
  counted = &calls;
  reader->Init({.call =
                    [](const char* name, void* command, void*) noexcept {
                      ++*counted;
                      const counters::EthtoolChannel kernel = EthtoolReader::Kernel();
                      return kernel.call(name, command, kernel.argument);
                    },
                .argument = nullptr});
  reader->Sample(tree.NextRound(), *nics);
  EXPECT_GT(calls, 0);
}

}  // namespace
}  // namespace chokepoint::tests
