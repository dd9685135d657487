// RDMA ports on recorded trees of every driver, and on messages as the kernel sends them.
// Must not need a device: none of this runs on hardware here.
#include "counters/rdma.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "counters/netlink_message.h"
#include "tests/counters/netlink_answers.h"
#include "tests/counters/system_tree.h"
#include "trace/raw_io.h"

namespace chokepoint::tests {
namespace {

using counters::RdmaReader;

std::string TreeFile(const std::string& driver, const std::string& file) {
  return CHOKEPOINT_TEST_TREES "/" + driver + "/" + file;
}

// Writes the files that tree.txt describes.
void Plant(SystemTree* tree, const std::string& driver) {
  std::ifstream list(TreeFile(driver, "tree.txt"));
  ASSERT_TRUE(list) << driver;
  std::string line;
  while (std::getline(list, line)) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t link = line.find(" -> ");
    const std::size_t file = line.find(" = ");
    if (link != std::string::npos) {
      tree->Link(line.substr(0, link), line.substr(link + 4));
    } else {
      ASSERT_NE(file, std::string::npos) << line;
      tree->Write(line.substr(0, file), line.substr(file + 3) + "\n");
    }
  }
}

std::string DriverName(std::uint8_t driver) {
  switch (static_cast<trace::RdmaDriver>(driver)) {
#define X(number, name, title)  \
  case trace::RdmaDriver::name: \
    return title;
    CHOKEPOINT_RDMA_DRIVERS(X)
#undef X
  }
  return "?";
}

std::map<std::string, std::string> Describe(SystemTree& tree) {
  const auto port = tree.events().All<trace::RdmaPort>().back();
  const auto sample = tree.events().All<trace::RdmaSample>().back();
  const auto name = [&](std::uint32_t id) { return tree.events().name(id); };
  const char* const link_layers[] = {"unknown", "infiniband", "ethernet"};
  char guid[17];
  std::snprintf(guid, sizeof(guid), "%016llx", static_cast<unsigned long long>(port.node_guid));
  std::map<std::string, std::string> lines = {
      {"driver", DriverName(port.driver)},
      {"device", name(port.device)},
      {"state", std::to_string(port.state)},
      {"physical_state", std::to_string(port.physical_state)},
      {"link_layer", link_layers[port.link_layer]},
      {"rate_mbps", std::to_string(port.rate_mbps)},
      {"network_device", name(port.network_device)},
      {"pci_address", name(port.pci_address)},
      {"firmware", name(port.firmware)},
      {"board", name(port.board)},
      {"numa_node", std::to_string(port.numa_node)},
      {"node_guid", guid}};
  // In the order of the record, from the catalogue itself.
  std::vector<std::string> fields;
#define EVENT(id, name, doc)
#define FIELD(type, name, unit, doc) fields.emplace_back(#name);
#define ARRAY(type, length, name, unit, doc)
#define END_EVENT(name)                     \
  if (std::string(#name) != "RdmaSample") { \
    fields.clear();                         \
  } else {                                  \
    wanted = fields;                        \
  }
  std::vector<std::string> wanted;
#include "trace/events.def"
#undef EVENT
#undef FIELD
#undef ARRAY
#undef END_EVENT
  std::uint64_t values[trace::kRdmaMetrics];
  std::memcpy(values, &sample.tx_bytes, sizeof(values));
  for (int i = 0; i < trace::kRdmaMetrics; ++i) {
    const std::string& field =
        wanted[wanted.size() - trace::kRdmaMetrics + static_cast<std::size_t>(i)];
    const std::uint64_t bit = std::uint64_t{1} << i;
    std::string text = "unknown";
    if ((sample.known & bit) != 0) text = std::to_string(values[i]);
    if ((sample.at_least & bit) != 0) text = ">= " + text;
    lines[field] = text;
  }
  return lines;
}

class RecordedDriver : public testing::TestWithParam<const char*> {};

TEST_P(RecordedDriver, GivesTheCanonicalMetrics) {
  SystemTree tree;
  Plant(&tree, GetParam());
  auto reader = std::make_unique<RdmaReader>();
  reader->Init(false);
  reader->Sample(tree.NextRound());
  const std::map<std::string, std::string> lines = Describe(tree);
  std::ifstream expected(TreeFile(GetParam(), "expected.txt"));
  std::string line;
  std::size_t compared = 0;
  while (std::getline(expected, line)) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t at = line.find(" =");
    const std::string key = line.substr(0, at);
    const std::string value = line.size() > at + 3 ? line.substr(at + 3) : "";
    ASSERT_TRUE(lines.contains(key)) << key;
    EXPECT_EQ(lines.at(key), value) << key;
    ++compared;
  }
  EXPECT_EQ(compared, lines.size());
  reader->Close(tree.tree());
}

INSTANTIATE_TEST_SUITE_P(All, RecordedDriver,
                         testing::Values("mlx5", "mlx5_infiniband", "bnxt_re", "irdma", "efa",
                                         "erdma", "hns", "rxe"),
                         [](const auto& instance) { return std::string(instance.param); });

class Mlx5 : public testing::Test {
 protected:
  Mlx5() {
    Plant(&tree_, "mlx5");
    reader_->Init(false);
  }
  void Counter(const std::string& name, const std::string& value) {
    tree_.Write("/sys/class/infiniband/mlx5_0/ports/1/" + name, value + "\n");
  }
  // Rounds until files that are read rarely have been read again.
  void Rounds(int count) {
    for (int i = 0; i < count; ++i) reader_->Sample(tree_.NextRound());
  }
  trace::RdmaSample Latest() { return tree_.events().All<trace::RdmaSample>().back(); }
  SystemTree tree_;
  std::unique_ptr<RdmaReader> reader_ = std::make_unique<RdmaReader>();
};

TEST_F(Mlx5, A32BitCounterWraps) {
  Counter("hw_counters/packet_seq_err", "4294967290");
  Rounds(1);
  const std::uint64_t before = Latest().retransmit_fast;
  Counter("hw_counters/packet_seq_err", "4");
  Rounds(1);
  EXPECT_EQ(Latest().retransmit_fast - before, 10u);
  EXPECT_EQ(Latest().resets, 0u);
}

TEST_F(Mlx5, AResetBeginsAgainOnTop) {
  Rounds(1);
  const trace::RdmaSample before = Latest();
  Counter("counters/port_xmit_data", "100");
  Rounds(1);
  EXPECT_EQ(Latest().tx_bytes - before.tx_bytes, 400u);
  EXPECT_EQ(Latest().resets, 1u);
}

TEST_F(Mlx5, SaturationIsSaidAndLeavesAfterAReset) {
  Rounds(1);
  const std::uint64_t bit = std::uint64_t{1} << static_cast<int>(trace::RdmaMetric::kSymbolErrors);
  EXPECT_TRUE(Latest().at_least & bit);
  Counter("counters/symbol_error", "3");
  Rounds(10);
  EXPECT_FALSE(Latest().at_least & bit);
  EXPECT_EQ(Latest().symbol_errors, 65'535u + 3);
}

TEST_F(Mlx5, MissingCountersAreListedOnceByName) {
  Rounds(25);
  std::vector<std::string> missing;
  for (const auto& status : tree_.events().All<trace::SourceStatus>()) {
    EXPECT_EQ(status.state, static_cast<std::uint8_t>(trace::SourceState::kMissing));
    EXPECT_EQ(tree_.events().name(status.device), "mlx5_0");
    missing.push_back(tree_.events().name(status.counter));
  }
  const std::vector<std::string> expected = {
      "roce_slow_restart", "roce_slow_restart_cnps",   "rx_icrc_encapsulated",     "req_cqe_error",
      "resp_cqe_error",    "req_remote_access_errors", "resp_remote_access_errors"};
  EXPECT_EQ(missing, expected);
}

TEST_F(Mlx5, ARemovedDeviceIsGoneAndContinuesWhenItIsBack) {
  Rounds(1);
  reader_->Refresh(tree_.NextRound());
  const trace::RdmaSample before = Latest();
  tree_.Remove("/sys/class/infiniband/mlx5_0");
  reader_->Refresh(tree_.NextRound());
  EXPECT_TRUE(tree_.events().All<trace::RdmaPort>().back().flags & trace::kRdmaPortGone);
  EXPECT_EQ(tree_.events().All<trace::SourceStatus>().back().state,
            static_cast<std::uint8_t>(trace::SourceState::kGone));
  const std::size_t samples = tree_.events().All<trace::RdmaSample>().size();
  Rounds(3);
  EXPECT_EQ(tree_.events().All<trace::RdmaSample>().size(), samples);
  Plant(&tree_, "mlx5");
  Counter("counters/port_xmit_data", "10");
  reader_->Refresh(tree_.NextRound());
  EXPECT_FALSE(tree_.events().All<trace::RdmaPort>().back().flags & trace::kRdmaPortGone);
  Rounds(1);
  EXPECT_EQ(Latest().index, before.index);
  EXPECT_EQ(Latest().tx_bytes, before.tx_bytes + 40);
}

TEST_F(Mlx5, AFileThatDisappearsWhileReadIsNoValue) {
  Rounds(1);
  const trace::RdmaSample before = Latest();
  tree_.Remove("/sys/class/infiniband/mlx5_0/ports/1/hw_counters");
  tree_.Remove("/sys/class/infiniband/mlx5_0/ports/1/counters");
  Rounds(12);
  EXPECT_EQ(Latest().tx_bytes, before.tx_bytes);
  EXPECT_EQ(Latest().retransmit_fast, before.retransmit_fast);
}

TEST_F(Mlx5, AChangeOfRateIsRecorded) {
  Rounds(1);
  reader_->Refresh(tree_.NextRound());
  const std::size_t before = tree_.events().All<trace::RdmaPort>().size();
  reader_->Refresh(tree_.NextRound());
  EXPECT_EQ(tree_.events().All<trace::RdmaPort>().size(), before);
  Counter("rate", "100 Gb/sec (1X NDR)");
  Counter("state", "2: INIT");
  reader_->Refresh(tree_.NextRound());
  ASSERT_EQ(tree_.events().All<trace::RdmaPort>().size(), before + 1);
  EXPECT_EQ(tree_.events().All<trace::RdmaPort>().back().rate_mbps, 100'000u);
  EXPECT_EQ(tree_.events().All<trace::RdmaPort>().back().state, 2);
}

TEST_F(Mlx5, ErrorCountersAreRecordedByNameWhenTheyMove) {
  Rounds(1);
  const auto named = [&](const char* name) {
    std::vector<std::uint64_t> values;
    for (const auto& counter : tree_.events().All<trace::RdmaCounter>()) {
      if (tree_.events().name(counter.name) == name) values.push_back(counter.value);
    }
    return values;
  };
  EXPECT_EQ(named("local_ack_timeout_err"), std::vector<std::uint64_t>{3});
  EXPECT_TRUE(named("port_xmit_data").empty());
  Rounds(20);
  EXPECT_EQ(named("local_ack_timeout_err").size(), 1u);
  Counter("hw_counters/local_ack_timeout_err", "5");
  Rounds(11);
  EXPECT_EQ(named("local_ack_timeout_err"), (std::vector<std::uint64_t>{3, 5}));
}

TEST(RdmaRate, OfEveryGeneration) {
  EXPECT_EQ(counters::ParseRdmaRate("100 Gb/sec (4X EDR)"), 100'000u);
  EXPECT_EQ(counters::ParseRdmaRate("2.5 Gb/sec (1X SDR)"), 2500u);
  EXPECT_EQ(counters::ParseRdmaRate("800 Gb/sec (4X XDR)"), 800'000u);
  for (const char* bad : {"", "fast", "100 MB/s", "x Gb/sec", "99999999999 Gb/sec"}) {
    EXPECT_EQ(counters::ParseRdmaRate(bad), 0u) << bad;
  }
}

TEST(RdmaTable, EveryMetricNameIsOfSomeDriverAndNoCounterIsTwice) {
  for (std::size_t i = 0; i < counters::RdmaCounterCount(); ++i) {
    const auto& a = counters::RdmaCounterAt(i);
    for (std::size_t j = i + 1; j < counters::RdmaCounterCount(); ++j) {
      const auto& b = counters::RdmaCounterAt(j);
      EXPECT_FALSE(a.of_port == b.of_port && a.driver == b.driver &&
                   std::strcmp(a.name, b.name) == 0)
          << a.name;
    }
  }
}

// ---- by netlink ----

class Mlx5ByNetlink : public Mlx5 {
 protected:
  Mlx5ByNetlink() {
    reader_->Init(true);
    reader_->netlink()->OpenWith(answers_.channel());
    answers_.Answer(kGet, {NetlinkAnswers::Device(3, "mlx5_0"), NetlinkAnswers::Device(4, "other")},
                    true);
    answers_.Answer(
        kStatGet, {NetlinkAnswers::Counters({{"packet_seq_err", 1000}, {"duplicate_request", 5}})},
        false);
  }
  static constexpr std::uint16_t kGet = (5 << 10) + 1, kQpGet = (5 << 10) + 10,
                                 kStatGet = (5 << 10) + 17;
  NetlinkAnswers answers_;
};

TEST_F(Mlx5ByNetlink, CountersComeInOneAnswerAndFilesAreNotRead) {
  Rounds(1);
  EXPECT_EQ(Latest().retransmit_fast, 1000u);
  EXPECT_EQ(Latest().seen_duplicates, 5u);
  EXPECT_EQ(Latest().tx_bytes, 1'000'000'000'000u) << "port counters still come from files";
  EXPECT_TRUE(tree_.events().All<trace::RdmaPort>().back().flags & trace::kRdmaPortByNetlink);
  const auto& request = answers_.requests().back();
  EXPECT_EQ(request.type, kStatGet);
  EXPECT_EQ(request.flags, NLM_F_REQUEST);
  EXPECT_EQ(request.attributes, (std::map<std::uint16_t, std::uint32_t>{{1, 3}, {3, 1}}));
}

TEST_F(Mlx5ByNetlink, ARefusalFallsBackToFilesOnceAndSaysSo) {
  answers_.Refuse(kStatGet, -EPERM);
  Rounds(3);
  EXPECT_EQ(Latest().retransmit_fast, 303u);
  int said = 0;
  for (const auto& status : tree_.events().All<trace::SourceStatus>()) {
    if (tree_.events().name(status.counter) != "netlink") continue;
    ++said;
    EXPECT_EQ(status.error, EPERM);
    EXPECT_EQ(status.state, static_cast<std::uint8_t>(trace::SourceState::kForbidden));
  }
  EXPECT_EQ(said, 1);
}

TEST_F(Mlx5ByNetlink, PortsInUseAreThoseOfOurOwnQueuePairs) {
  Rounds(1);
  EXPECT_TRUE(tree_.events().All<trace::RdmaPort>().back().flags & trace::kRdmaPortUseUnknown);
  answers_.Answer(
      kQpGet, {NetlinkAnswers::QueuePairs({{.port = 1, .pid = 1}, {.port = 1, .pid = 999'999}})},
      true);
  reader_->FindUsed(tree_.NextRound());
  EXPECT_FALSE(tree_.events().All<trace::RdmaPort>().back().flags &
               (trace::kRdmaPortUsed | trace::kRdmaPortUseUnknown));
  answers_.Answer(
      kQpGet, {NetlinkAnswers::QueuePairs({{.port = 1, .pid = trace::raw::ProcessId()}})}, true);
  reader_->FindUsed(tree_.NextRound());
  EXPECT_TRUE(tree_.events().All<trace::RdmaPort>().back().flags & trace::kRdmaPortUsed);
}

TEST_F(Mlx5ByNetlink, TornAnswersAreReadAsFarAsTheyGo) {
  const std::vector<std::byte> whole =
      NetlinkAnswers::Counters({{"packet_seq_err", 1000}, {"duplicate_request", 5}});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    answers_.AnswerRaw(
        kStatGet, std::vector<std::byte>(whole.begin(), whole.begin() + static_cast<long>(length)));
    reader_->Sample(tree_.NextRound());
    const std::uint64_t known = Latest().retransmit_fast;
    EXPECT_TRUE(known == 0 || known == 1000) << length;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::vector<std::byte> broken = whole;
      broken[at] ^= static_cast<std::byte>(flip);
      answers_.AnswerRaw(kStatGet, broken);
      reader_->Sample(tree_.NextRound());
    }
  }
}

TEST(RdmaNetlink, AKernelWithoutRdmaSaysSo) {
  counters::RdmaNetlink netlink;
  const long result = netlink.Open();
  if (result == 0) {
    netlink.Close();
    GTEST_SKIP() << "this kernel has RDMA netlink";
  }
  EXPECT_EQ(result, -EPROTONOSUPPORT);
  EXPECT_FALSE(netlink.is_open());
}

}  // namespace
}  // namespace chokepoint::tests
