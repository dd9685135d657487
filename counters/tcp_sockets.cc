// Walk, identity, sampling policy and records of the process's TCP connections.
// Must not trust a descriptor number: programs close and reuse them at any moment.
#include "counters/tcp_sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "counters/text_scan.h"
#include "trace/clock.h"
#include "trace/raw_io.h"

namespace chokepoint::counters {

namespace raw = trace::raw;
using trace::TcpSampleReason;

namespace {

constexpr int kSoProtocol = 38;
constexpr int kSoCookie = 57;
constexpr int kTcpCongestion = 13;

long GetOption(int fd, int level, int option, void* out, socklen_t* bytes) noexcept {
  return raw::Call(SYS_getsockopt, fd, level, option, raw::Word(out),
                   raw::Word(static_cast<void*>(bytes)));
}

std::uint32_t NumberOption(int fd, int level, int option) noexcept {
  int value = 0;
  socklen_t bytes = sizeof(value);
  return GetOption(fd, level, option, &value, &bytes) < 0 || value < 0
             ? 0
             : static_cast<std::uint32_t>(value);
}

std::uint64_t Cookie(int fd) noexcept {
  std::uint64_t cookie = 0;
  socklen_t bytes = sizeof(cookie);
  return GetOption(fd, SOL_SOCKET, kSoCookie, &cookie, &bytes) < 0 ? 0 : cookie;
}

Address EndOf(int fd, long call, std::uint16_t* port) noexcept {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof(storage);
  if (raw::Call(call, fd, raw::Word(static_cast<void*>(&storage)),
                raw::Word(static_cast<void*>(&bytes))) < 0) {
    return {};
  }
  return AddressOf(reinterpret_cast<const sockaddr*>(&storage), port);
}

// Descriptors that are looked at in one walk, at a microsecond each.
constexpr std::size_t kMostVisits = 8192;

bool HasPeer(std::uint8_t state) noexcept {
  return state != static_cast<std::uint8_t>(TcpState::kListen) && state >= 1 && state <= 9 &&
         state != 7;  // 7: closed
}

bool LossMoved(const TcpInfo& before, const TcpInfo& now) noexcept {
  return before.total_retrans != now.total_retrans || before.dsack_dups != now.dsack_dups ||
         before.total_rto != now.total_rto || before.backoff != now.backoff;
}

// A connection without traffic is not worth a record each second: keep-alives and idle bootstrap
// sockets.
bool Moved(const TcpInfo& before, const TcpInfo& now) noexcept {
  return before.bytes_acked != now.bytes_acked || before.bytes_received != now.bytes_received ||
         before.segs_out != now.segs_out || LossMoved(before, now);
}

std::uint16_t FlagsOf(const TcpInfo& info, std::size_t bytes, bool busy) noexcept {
  unsigned flags = 0;
  if (bytes >= kTcpInfoWithBytes) flags |= trace::kTcpHasBytes;
  if (bytes >= kTcpInfoWithBusy) flags |= trace::kTcpHasBusy;
  if (bytes >= kTcpInfoWithLoss) flags |= trace::kTcpHasLoss;
  if (bytes >= kTcpInfoWithTimeouts) flags |= trace::kTcpHasTimeouts;
  if ((info.flags & 1) != 0) flags |= trace::kTcpAppLimited;
  if (busy) flags |= trace::kTcpBusiest;
  return static_cast<std::uint16_t>(flags);
}

trace::TcpSample SampleOf(const TcpInfo& info) noexcept {
  trace::TcpSample sample;
  sample.congestion_state = info.ca_state;
  sample.acked_bytes = info.bytes_acked;
  sample.received_bytes = info.bytes_received;
  sample.sent_bytes = info.bytes_sent;
  sample.retransmitted_bytes = info.bytes_retrans;
  sample.busy_us = info.busy_time;
  sample.receiver_limited_us = info.rwnd_limited;
  sample.buffer_limited_us = info.sndbuf_limited;
  sample.delivery_rate = info.delivery_rate;
  sample.pacing_rate = info.pacing_rate;
  sample.retransmits = info.total_retrans;
  sample.dsacks = info.dsack_dups;
  sample.reorderings = info.reord_seen;
  sample.data_segments_out = info.data_segs_out;
  sample.data_segments_in = info.data_segs_in;
  sample.out_of_order_in = info.rcv_ooopack;
  sample.delivered = info.delivered;
  sample.delivered_ce = info.delivered_ce;
  sample.timeouts = info.total_rto;
  sample.timeout_ms = info.total_rto_time;
  sample.rehashes = info.rehash;
  sample.rtt_us = info.rtt;
  sample.min_rtt_us = info.min_rtt;
  sample.rto_us = info.rto;
  sample.window_segments = info.snd_cwnd;
  sample.threshold_segments = info.snd_ssthresh;
  sample.segment_bytes = info.snd_mss;
  sample.unsent_bytes = info.notsent_bytes;
  sample.unacked_segments = info.unacked;
  sample.peer_window_bytes = info.snd_wnd;
  sample.backoffs = info.backoff > info.retransmits ? info.backoff : info.retransmits;
  return sample;
}

}  // namespace

void TcpSockets::Init(SysTree* tree, const Sink& sink) noexcept {
  tree_ = tree;
  sink_ = sink;
}

TcpSockets::Connection* TcpSockets::Find(int fd, std::uint64_t cookie) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (connections_[i].fd == fd && connections_[i].cookie == cookie) return &connections_[i];
  }
  return nullptr;
}

void TcpSockets::Add(int fd, std::uint64_t cookie, const TcpInfo& info, std::uint32_t info_bytes,
                     std::uint64_t now_ticks) noexcept {
  constexpr int kTimestamps = 1, kSack = 2, kEcn = 8;  // bits of tcpi_options
  trace::TcpConnection identity;
  const Address local = EndOf(fd, SYS_getsockname, &identity.local_port);
  const Address peer = EndOf(fd, SYS_getpeername, &identity.peer_port);
  if (peer.family == 0) return;
  identity.family = peer.family;
  identity.traffic = static_cast<std::uint8_t>(classifier_.Classify(peer, identity.peer_port));
  identity.connection = next_number_++;
  identity.fd = fd;
  std::memcpy(identity.local_address, local.bytes, sizeof(local.bytes));
  std::memcpy(identity.peer_address, peer.bytes, sizeof(peer.bytes));
  struct stat status {};
  if (raw::FStat(fd, &status) >= 0) identity.inode = status.st_ino;
  identity.cookie = cookie;
  identity.ticks = now_ticks;
  char algorithm[17] = {};
  socklen_t bytes = sizeof(algorithm) - 1;
  if (GetOption(fd, IPPROTO_TCP, kTcpCongestion, algorithm, &bytes) >= 0) {
    identity.congestion_control = sink_.Name(algorithm);
  }
  identity.interface = sink_.Name(addresses_.InterfaceOf(local));
  identity.send_buffer_bytes = NumberOption(fd, SOL_SOCKET, SO_SNDBUF);
  identity.receive_buffer_bytes = NumberOption(fd, SOL_SOCKET, SO_RCVBUF);
  identity.info_bytes = info_bytes;
  identity.flags = ((info.options & kEcn) != 0 ? trace::kTcpEcn : 0u) |
                   ((info.options & kSack) != 0 ? trace::kTcpSack : 0u) |
                   ((info.options & kTimestamps) != 0 ? trace::kTcpTimestamps : 0u);
  sink_.Emit(identity);

  Connection& connection = connections_[count_++];
  connection = Connection{};
  connection.number = identity.connection;
  connection.fd = fd;
  connection.cookie = cookie;
  connection.seen = true;
  connection.identity = identity;
  connection.last = info;
  connection.info_bytes = info_bytes;
  connection.last_ticks = now_ticks;
  connection.round_bytes = info.bytes_acked + info.bytes_received;
  Record(&connection, TcpSampleReason::kFirst);
}

void TcpSockets::Visit(int fd, std::uint64_t now_ticks) noexcept {
  tree_->CountRead();
  if (NumberOption(fd, SOL_SOCKET, kSoProtocol) != IPPROTO_TCP) return;
  const std::uint64_t cookie = Cookie(fd);
  if (Connection* known = Find(fd, cookie)) {
    known->seen = true;
    return;
  }
  TcpInfo info;
  const long bytes = ReadTcpInfo(fd, &info);
  if (bytes < static_cast<long>(kTcpInfoLeast) || !HasPeer(info.state)) return;
  if (count_ == kMost) {
    if (!said_full_) {
      sink_.Report(trace::SamplerSource::kTcp, trace::SourceState::kIncomplete, 0, now_ticks);
    }
    said_full_ = true;
    return;
  }
  Add(fd, cookie, info, static_cast<std::uint32_t>(bytes), now_ticks);
}

void TcpSockets::Walk(std::uint64_t now_ticks) noexcept {
  addresses_.Refresh(tree_);
  for (std::size_t i = 0; i < addresses_.count(); ++i) {
    classifier_.AddOwn(addresses_.at(i).address);
  }
  for (std::size_t i = 0; i < count_; ++i) connections_[i].seen = false;
  struct Argument {
    TcpSockets* sockets;
    std::uint64_t now_ticks;
    std::size_t visits;
  } argument{this, now_ticks, 0};
  SysTree own;  // why: descriptors are this process's, whatever root the counters are read from
  own.Init("", 0);
  const long found = ForEachEntry(
      &own, "/proc/self/fd",
      [](const char* name, void* opaque) noexcept {
        auto* in = static_cast<Argument*>(opaque);
        std::uint64_t fd = 0;
        if (in->visits++ < kMostVisits && ParseUnsigned(name, &fd) && fd < INT32_MAX) {
          in->sockets->Visit(static_cast<int>(fd), in->now_ticks);
        }
      },
      &argument);
  if (found < 0) tree_->CountError();
  if (found < 0 || argument.visits > kMostVisits) return;  // what is not found is not gone
  for (std::size_t i = count_; i-- > 0;) {
    if (!connections_[i].seen) Remove(i, now_ticks);
  }
}

void TcpSockets::Remove(std::size_t index, std::uint64_t now_ticks) noexcept {
  Connection& connection = connections_[index];
  if (!connection.recorded) Record(&connection, TcpSampleReason::kLast);
  trace::TcpConnectionEnd end;
  end.connection = connection.number;
  end.ticks = now_ticks;
  sink_.Emit(end);
  connection = connections_[--count_];
  said_full_ = false;
}

// False when the descriptor is no longer this connection.
bool TcpSockets::Read(Connection* connection, std::uint64_t now_ticks) noexcept {
  TcpInfo info;
  tree_->CountRead();
  const long bytes = ReadTcpInfo(connection->fd, &info);
  if (bytes < static_cast<long>(kTcpInfoLeast) || !HasPeer(info.state)) return false;
  const TcpInfo& last = connection->last;
  const bool went_back = info.bytes_acked < last.bytes_acked ||
                         info.bytes_received < last.bytes_received ||
                         info.data_segs_out - last.data_segs_out > INT32_MAX;
  if (went_back && Cookie(connection->fd) != connection->cookie) return false;
  connection->last = info;
  connection->last_ticks = now_ticks;
  connection->info_bytes = static_cast<std::uint32_t>(bytes);
  connection->recorded = false;
  return true;
}

void TcpSockets::Record(Connection* connection, TcpSampleReason reason) noexcept {
  trace::TcpSample sample = SampleOf(connection->last);
  sample.reason = static_cast<std::uint8_t>(reason);
  sample.connection = connection->number;
  sample.ticks = connection->last_ticks;
  sample.flags = FlagsOf(connection->last, connection->info_bytes, connection->busy);
  sink_.Emit(sample);
  connection->written = connection->last;
  connection->recorded = true;
}

void TcpSockets::SampleAll(std::uint64_t now_ticks, TcpSampleReason reason) noexcept {
  for (std::size_t i = count_; i-- > 0;) {
    Connection& connection = connections_[i];
    if (!Read(&connection, trace::NowTicks())) {
      Remove(i, now_ticks);
      continue;
    }
    const std::uint64_t bytes = connection.last.bytes_acked + connection.last.bytes_received;
    connection.moved_bytes = bytes - connection.round_bytes;
    connection.round_bytes = bytes;
    if (Moved(connection.written, connection.last)) Record(&connection, reason);
  }
  ChooseBusiest();
}

void TcpSockets::ChooseBusiest() noexcept {
  constexpr std::uint64_t kWorthFollowing =
      1'000'000;  // bytes in a round: less is bootstrap or control
  for (std::size_t i = 0; i < count_; ++i) connections_[i].busy = false;
  for (std::size_t chosen = 0; chosen < kMostBusy; ++chosen) {
    Connection* best = nullptr;
    for (std::size_t i = 0; i < count_; ++i) {
      Connection& connection = connections_[i];
      if (connection.busy || connection.moved_bytes < kWorthFollowing) continue;
      if (best == nullptr || connection.moved_bytes > best->moved_bytes) best = &connection;
    }
    if (best == nullptr) return;
    best->busy = true;
  }
}

void TcpSockets::SampleBusiest(std::uint64_t now_ticks) noexcept {
  for (std::size_t i = count_; i-- > 0;) {
    Connection& connection = connections_[i];
    if (!connection.busy) continue;
    if (!Read(&connection, trace::NowTicks())) {
      Remove(i, now_ticks);
    } else if (LossMoved(connection.written, connection.last)) {
      Record(&connection, TcpSampleReason::kLossMoved);
    }
  }
}

void TcpSockets::RepeatIdentities() noexcept {
  for (std::size_t i = 0; i < count_; ++i) sink_.Emit(connections_[i].identity);
}

void TcpSockets::SampleSlow(std::uint64_t now_ticks) noexcept {
  for (std::size_t i = count_; i-- > 0;) {
    Connection& connection = connections_[i];
    const Connection before = connection;
    if (!Read(&connection, trace::NowTicks())) {
      Remove(i, now_ticks);
    } else if (Moved(before.last, connection.last)) {
      if (!before.recorded) {
        Connection earlier = before;
        Record(&earlier, TcpSampleReason::kBeforeSlow);
      }
      Record(&connection, TcpSampleReason::kSlowOperation);
    }
  }
}

}  // namespace chokepoint::counters
