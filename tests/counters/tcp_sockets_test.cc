// The process's TCP connections, on real sockets: over loopback, and over a network that loses,
// delays and stalls. Must not compare with a clock: bytes, counts and the kernel's own tools are
// the truth.
#include "counters/tcp_sockets.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <thread>

#include "tests/counters/network.h"
#include "tests/counters/system_tree.h"

namespace chokepoint::tests {
namespace {

using trace::TcpSampleReason;

// The sockets of this test process, with what was recorded of them.
struct Watch {
  Watch() : sockets(std::make_unique<counters::TcpSockets>()) {
    tree.Init("", 0);
    sockets->Init(&tree, events.sink());
  }
  // The latest sample of the connection whose descriptor was `fd`.
  trace::TcpSample Latest(int fd) const {
    trace::TcpSample latest;
    for (const auto& identity : events.All<trace::TcpConnection>()) {
      if (identity.fd != fd) continue;
      for (const auto& sample : events.All<trace::TcpSample>()) {
        if (sample.connection == identity.connection) latest = sample;
      }
    }
    return latest;
  }
  counters::SysTree tree;
  RecordingSink events;
  std::unique_ptr<counters::TcpSockets> sockets;
};

TEST(TcpSockets, IdentityIsTheKernels) {
  Watch watch;
  Connection connection = Connect("", "");
  ASSERT_GE(connection.server, 0);
  watch.sockets->Walk(1);
  const auto all = watch.events.All<trace::TcpConnection>();
  ASSERT_EQ(all.size(), 2u);
  const auto& client = all[0].fd == connection.client ? all[0] : all[1];
  const auto& server = all[0].fd == connection.client ? all[1] : all[0];
  EXPECT_EQ(client.family, 4);
  EXPECT_EQ(client.local_port, server.peer_port);
  EXPECT_EQ(client.peer_port, server.local_port);
  EXPECT_EQ(client.peer_address[0], 127);
  EXPECT_EQ(client.peer_address[3], 1);
  EXPECT_EQ(watch.events.name(client.interface), "lo");
  EXPECT_EQ(client.traffic, static_cast<std::uint8_t>(trace::TrafficClass::kLocal));
  struct stat status;
  fstat(connection.client, &status);
  EXPECT_EQ(client.inode, status.st_ino);
  EXPECT_NE(client.cookie, 0u);
  EXPECT_NE(client.cookie, server.cookie);
  EXPECT_FALSE(watch.events.name(client.congestion_control).empty());
  EXPECT_GT(client.send_buffer_bytes, 0u);
  EXPECT_GE(client.info_bytes, counters::kTcpInfoWithBytes);
  EXPECT_TRUE(client.flags & trace::kTcpSack);
  Close(&connection);
}

TEST(TcpSockets, ListenersPipesAndDatagramsAreNotConnections) {
  Watch watch;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  listen(listener, 1);
  const int unconnected = socket(AF_INET, SOCK_STREAM, 0);
  const int datagram = socket(AF_INET, SOCK_DGRAM, 0);
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  watch.sockets->Walk(1);
  EXPECT_TRUE(watch.events.All<trace::TcpConnection>().empty());
  for (const int fd : {listener, unconnected, datagram, pair[0], pair[1]}) close(fd);
}

TEST(TcpSockets, BytesAreThoseThatWereSent) {
  Watch watch;
  Connection connection = Connect("", "");
  watch.sockets->Walk(1);
  const auto before = watch.Latest(connection.client);
  const auto before_server = watch.Latest(connection.server);
  constexpr std::uint64_t kBytes = 32 << 20;
  ASSERT_TRUE(Transfer(connection, kBytes));
  watch.sockets->SampleAll(2, TcpSampleReason::kPeriodic);
  EXPECT_EQ(watch.Latest(connection.client).acked_bytes - before.acked_bytes, kBytes);
  EXPECT_EQ(watch.Latest(connection.server).received_bytes - before_server.received_bytes, kBytes);
  EXPECT_EQ(watch.Latest(connection.client).flags & (trace::kTcpHasBytes | trace::kTcpHasBusy),
            trace::kTcpHasBytes | trace::kTcpHasBusy);
  Close(&connection);
}

TEST(TcpSockets, AReusedDescriptorIsAnotherConnection) {
  Watch watch;
  Connection first = Connect("", "");
  watch.sockets->Walk(1);
  ASSERT_TRUE(Transfer(first, 4 << 20));
  watch.sockets->SampleAll(2, TcpSampleReason::kPeriodic);
  Connection second = Connect("", "");
  ASSERT_EQ(dup2(second.client, first.client), first.client);
  watch.sockets->SampleAll(3, TcpSampleReason::kPeriodic);
  watch.sockets->Walk(4);
  EXPECT_GE(watch.events.All<trace::TcpConnectionEnd>().size(), 1u);
  std::uint32_t number = 0;
  for (const auto& identity : watch.events.All<trace::TcpConnection>()) {
    if (identity.fd == first.client) number = identity.connection;
  }
  EXPECT_GT(number, 2u) << "the new connection goes by the old one's number";
  for (const auto& sample : watch.events.All<trace::TcpSample>()) {
    if (sample.connection == number) {
      EXPECT_LT(sample.acked_bytes, 4u << 20);
    }
  }
  Close(&first);
  Close(&second);
}

TEST(TcpSockets, ClosedConnectionsEnd) {
  Watch watch;
  Connection connection = Connect("", "");
  watch.sockets->Walk(1);
  EXPECT_EQ(watch.sockets->count(), 2u);
  Close(&connection);
  watch.sockets->Walk(2);
  EXPECT_EQ(watch.sockets->count(), 0u);
  EXPECT_EQ(watch.events.All<trace::TcpConnectionEnd>().size(), 2u);
}

TEST(TcpSockets, QuietConnectionsAreNotRecordedAgain) {
  Watch watch;
  Connection connection = Connect("", "");
  watch.sockets->Walk(1);
  watch.sockets->SampleAll(2, TcpSampleReason::kPeriodic);
  const std::size_t after_first = watch.events.count();
  for (std::uint64_t i = 3; i < 20; ++i) {
    watch.sockets->SampleAll(i, TcpSampleReason::kPeriodic);
    watch.sockets->SampleBusiest(i);
  }
  EXPECT_EQ(watch.events.count(), after_first);
  Close(&connection);
}

TEST(TcpSockets, TheBusiestSixteenAreChosen) {
  Watch watch;
  std::vector<Connection> connections;
  for (int i = 0; i < 20; ++i) connections.push_back(Connect("", ""));
  watch.sockets->Walk(1);
  watch.sockets->SampleAll(2, TcpSampleReason::kPeriodic);
  for (std::size_t i = 0; i < connections.size(); ++i) {
    ASSERT_TRUE(Transfer(connections[i], i < 10 ? (2 << 20) + i * 4096 : 1000));
  }
  watch.sockets->SampleAll(3, TcpSampleReason::kPeriodic);
  for (const Connection& connection : connections) Transfer(connection, 500'000);
  watch.events.Clear();
  watch.sockets->SampleAll(4, TcpSampleReason::kPeriodic);
  int busiest = 0;
  for (const auto& sample : watch.events.All<trace::TcpSample>()) {
    if ((sample.flags & trace::kTcpBusiest) != 0) ++busiest;
  }
  EXPECT_EQ(busiest, 16) << "of 20 busy ends (10 connections) sixteen are followed";
  for (Connection& connection : connections) Close(&connection);
}

TEST(TcpSockets, ASlowOperationGetsTheReadingBeforeItAndOneNow) {
  Watch watch;
  Connection connection = Connect("", "");
  watch.sockets->Walk(1);
  const auto first = watch.Latest(connection.client);
  watch.sockets->SampleAll(2, TcpSampleReason::kPeriodic);
  ASSERT_TRUE(Transfer(connection, 8 << 20));
  watch.sockets->SampleAll(3, TcpSampleReason::kPeriodic);
  ASSERT_TRUE(Transfer(connection, 8 << 20));
  watch.sockets->SampleBusiest(4);  // read; recorded only if a segment was sent again
  ASSERT_TRUE(Transfer(connection, 8 << 20));
  watch.sockets->SampleSlow(5);
  std::vector<trace::TcpSample> of_client;
  for (const auto& sample : watch.events.All<trace::TcpSample>()) {
    if (sample.connection == first.connection) of_client.push_back(sample);
  }
  ASSERT_GE(of_client.size(), 3u);
  const trace::TcpSample& now = of_client.back();
  const trace::TcpSample& before = of_client[of_client.size() - 2];
  EXPECT_EQ(now.reason, static_cast<std::uint8_t>(TcpSampleReason::kSlowOperation));
  EXPECT_TRUE(before.reason == static_cast<std::uint8_t>(TcpSampleReason::kBeforeSlow) ||
              before.reason == static_cast<std::uint8_t>(TcpSampleReason::kLossMoved));
  EXPECT_EQ(now.acked_bytes - before.acked_bytes, 8u << 20);
  Close(&connection);
}

// ---- over a network that can be broken ----

std::uint64_t NumberAfter(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return 0;
  return std::strtoull(text.c_str() + at + key.size(), nullptr, 10);
}

class BrokenNetwork : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!network_.Reason().empty()) GTEST_SKIP() << network_.Reason();
    connection_ = Connect(network_.near(), network_.far(), GetParam());
    ASSERT_GE(connection_.server, 0);
    watch_.sockets->Walk(1);
  }
  void TearDown() override { Close(&connection_); }
  std::uint64_t NearRetransSegs() {
    return NumberAfter(RunCommand(network_.NearCommand("nstat -asz TcpRetransSegs")),
                       "TcpRetransSegs");
  }
  trace::TcpSample Now() {
    watch_.sockets->SampleAll(++round_, TcpSampleReason::kPeriodic);
    return watch_.Latest(connection_.client);
  }

  NetworkPair network_;
  Connection connection_;
  Watch watch_;
  std::uint64_t round_ = 1;
};

TEST_P(BrokenNetwork, RetransmitsAgreeWithTheKernelsTools) {
  network_.LoseAtFar(100);
  if (!network_.Reason().empty()) GTEST_SKIP() << network_.Reason();
  const auto before = watch_.Latest(connection_.client);
  const std::uint64_t nstat_before = NearRetransSegs();
  ASSERT_TRUE(Transfer(connection_, 64 << 20));
  const std::string ss = RunCommand(network_.NearCommand("ss -tin state established"));
  const trace::TcpSample after = Now();
  const std::uint64_t retransmits = after.retransmits - before.retransmits;
  const std::uint64_t by_nstat = NearRetransSegs() - nstat_before;
  const std::uint64_t by_ss = NumberAfter(ss, "retrans:0/");
  std::printf("%s: %llu retransmits of %u segments; nstat %llu, ss %llu; dsacks %u\n", GetParam(),
              static_cast<unsigned long long>(retransmits), after.data_segments_out,
              static_cast<unsigned long long>(by_nstat), static_cast<unsigned long long>(by_ss),
              after.dsacks);
  EXPECT_GT(retransmits, 100u);
  EXPECT_NEAR(static_cast<double>(retransmits), static_cast<double>(by_nstat),
              0.05 * static_cast<double>(by_nstat));
  EXPECT_NEAR(static_cast<double>(retransmits), static_cast<double>(by_ss),
              0.05 * static_cast<double>(by_ss));
  // What was lost, not what was sent again: bbr sends again much that had only been slow.
  const double lost =
      static_cast<double>(retransmits - std::min<std::uint64_t>(retransmits, after.dsacks));
  EXPECT_NEAR(lost / after.data_segments_out, 0.01, 0.005);
  EXPECT_EQ(
      watch_.events.name(watch_.events.All<trace::TcpConnection>().front().congestion_control),
      GetParam());
}

TEST_P(BrokenNetwork, ACleanTransferShowsNoNetLoss) {
  const auto before = watch_.Latest(connection_.client);
  ASSERT_TRUE(Transfer(connection_, 64 << 20));
  const trace::TcpSample after = Now();
  const auto net_loss = static_cast<std::int64_t>(after.retransmits - before.retransmits) -
                        static_cast<std::int64_t>(after.dsacks - before.dsacks);
  EXPECT_LE(net_loss, static_cast<std::int64_t>(after.data_segments_out / 2000));
  EXPECT_EQ(after.timeouts, before.timeouts);
}

TEST_P(BrokenNetwork, AShaperShowsQueueingAndNoLoss) {
  network_.ShapeNear(200);
  if (!network_.Reason().empty()) GTEST_SKIP() << network_.Reason();
  double best_rate = 0;  // of three: the machine may be busy with other things
  for (int i = 0; i < 3; ++i) {
    const auto before = watch_.Latest(connection_.client);
    ASSERT_TRUE(Transfer(connection_, 12 << 20));
    const trace::TcpSample after = Now();
    EXPECT_GT(after.rtt_us, 3 * after.min_rtt_us);
    const auto net_loss = static_cast<std::int64_t>(after.retransmits - before.retransmits) -
                          static_cast<std::int64_t>(after.dsacks - before.dsacks);
    EXPECT_LE(net_loss, static_cast<std::int64_t>(after.data_segments_out / 1000));
    best_rate = std::max(best_rate, static_cast<double>(after.acked_bytes - before.acked_bytes) *
                                        8 / static_cast<double>(after.busy_us - before.busy_us));
  }
  std::printf("%s: %.0f Mbit/s while busy\n", GetParam(), best_rate);
  EXPECT_NEAR(best_rate, 200, 20);
}

TEST_P(BrokenNetwork, AReaderThatStallsShowsAsReceiverLimited) {
  const auto before = watch_.Latest(connection_.client);
  std::vector<char> data(1 << 20);
  fcntl(connection_.client, F_SETFL, O_NONBLOCK);
  for (int i = 0; i < 40; ++i) {  // nobody reads
    while (send(connection_.client, data.data(), data.size(), MSG_NOSIGNAL) > 0) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  const trace::TcpSample after = Now();
  const std::uint64_t busy = after.busy_us - before.busy_us;
  EXPECT_GT(after.receiver_limited_us - before.receiver_limited_us, busy / 2);
  EXPECT_GT(after.unsent_bytes, 0u);
}

TEST_P(BrokenNetwork, AnOutageShowsAsTimeouts) {
  ASSERT_TRUE(Transfer(connection_, 8 << 20));
  const trace::TcpSample before = Now();
  RunCommand(network_.FarCommand("ip link set cable1 down"));
  std::thread mender([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    watch_.sockets->SampleSlow(++round_);
    RunCommand(network_.FarCommand("ip link set cable1 up"));
  });
  ASSERT_TRUE(Transfer(connection_, 8 << 20));
  mender.join();
  const trace::TcpSample after = Now();
  std::uint16_t most_backoffs = 0;
  for (const auto& sample : watch_.events.All<trace::TcpSample>()) {
    most_backoffs = std::max(most_backoffs, sample.backoffs);
  }
  EXPECT_GT(most_backoffs, 0) << "a stall is not seen while it lasts";
  if ((after.flags & trace::kTcpHasTimeouts) == 0) {
    GTEST_SKIP() << "this kernel's tcp_info does not count timeouts";
  }
  EXPECT_GT(after.timeouts, before.timeouts);
  EXPECT_GT(after.timeout_ms, before.timeout_ms + 200);
}

INSTANTIATE_TEST_SUITE_P(All, BrokenNetwork, testing::Values("cubic", "bbr"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace chokepoint::tests
