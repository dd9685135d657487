// struct tcp_info as the newest kernel that we know writes it, and the call that reads it.
// Must not include the system's headers for it: they stop at different fields. What the kernel did
// not write is 0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chokepoint::counters {

// The kernel writes min(its size, ours) bytes. Sizes by version: docs/counters.md.
struct TcpInfo {
  std::uint8_t state;
  std::uint8_t ca_state;
  std::uint8_t retransmits;
  std::uint8_t probes;
  std::uint8_t backoff;
  std::uint8_t options;
  std::uint8_t wscale;  // two times four bits
  std::uint8_t flags;   // bit 0: delivery_rate_app_limited; bits 1, 2: fast open client failure
  std::uint32_t rto;    // us
  std::uint32_t ato;    // us
  std::uint32_t snd_mss;
  std::uint32_t rcv_mss;
  std::uint32_t unacked;  // segments in flight now; on a listening socket the accept queue
  std::uint32_t sacked;
  std::uint32_t lost;
  std::uint32_t retrans;
  std::uint32_t fackets;
  std::uint32_t last_data_sent;  // ms ago
  std::uint32_t last_ack_sent;
  std::uint32_t last_data_recv;
  std::uint32_t last_ack_recv;
  std::uint32_t pmtu;
  std::uint32_t rcv_ssthresh;
  std::uint32_t rtt;  // us
  std::uint32_t rttvar;
  std::uint32_t snd_ssthresh;
  std::uint32_t snd_cwnd;
  std::uint32_t advmss;
  std::uint32_t reordering;
  std::uint32_t rcv_rtt;
  std::uint32_t rcv_space;
  std::uint32_t total_retrans;
  std::uint64_t pacing_rate;  // bytes/s
  std::uint64_t max_pacing_rate;
  std::uint64_t bytes_acked;
  std::uint64_t bytes_received;
  std::uint32_t segs_out;
  std::uint32_t segs_in;
  std::uint32_t notsent_bytes;
  std::uint32_t min_rtt;  // us
  std::uint32_t data_segs_in;
  std::uint32_t data_segs_out;
  std::uint64_t delivery_rate;  // bytes/s
  std::uint64_t busy_time;      // us
  std::uint64_t rwnd_limited;
  std::uint64_t sndbuf_limited;
  std::uint32_t delivered;
  std::uint32_t delivered_ce;
  std::uint64_t bytes_sent;
  std::uint64_t bytes_retrans;
  std::uint32_t dsack_dups;
  std::uint32_t reord_seen;
  std::uint32_t rcv_ooopack;
  std::uint32_t snd_wnd;
  std::uint32_t rcv_wnd;
  std::uint32_t rehash;
  std::uint16_t total_rto;
  std::uint16_t total_rto_recoveries;
  std::uint32_t total_rto_time;  // ms
};

// Bytes that a kernel must have written before a group of fields means anything.
inline constexpr std::size_t kTcpInfoLeast = 104;         // up to total_retrans
inline constexpr std::size_t kTcpInfoWithBytes = 136;     // bytes_acked, bytes_received
inline constexpr std::size_t kTcpInfoWithSegments = 160;  // data_segs_*, min_rtt, notsent_bytes
inline constexpr std::size_t kTcpInfoWithBusy = 192;      // busy_time and its parts
inline constexpr std::size_t kTcpInfoWithLoss = 224;      // bytes_retrans, dsack_dups, reord_seen
inline constexpr std::size_t kTcpInfoWithTimeouts = 248;  // total_rto, total_rto_time

static_assert(offsetof(TcpInfo, rto) == 8 && offsetof(TcpInfo, unacked) == 24);
static_assert(offsetof(TcpInfo, last_data_sent) == 44 && offsetof(TcpInfo, pmtu) == 60);
static_assert(offsetof(TcpInfo, rtt) == 68 && offsetof(TcpInfo, snd_cwnd) == 80);
static_assert(offsetof(TcpInfo, rcv_rtt) == 92 && offsetof(TcpInfo, total_retrans) == 100);
static_assert(offsetof(TcpInfo, pacing_rate) == kTcpInfoLeast);
static_assert(offsetof(TcpInfo, segs_out) == kTcpInfoWithBytes);
static_assert(offsetof(TcpInfo, min_rtt) == 148 && offsetof(TcpInfo, data_segs_out) == 156);
static_assert(offsetof(TcpInfo, delivery_rate) == kTcpInfoWithSegments);
static_assert(offsetof(TcpInfo, busy_time) == 168 && offsetof(TcpInfo, sndbuf_limited) == 184);
static_assert(offsetof(TcpInfo, delivered) == kTcpInfoWithBusy);
static_assert(offsetof(TcpInfo, bytes_sent) == 200 && offsetof(TcpInfo, dsack_dups) == 216);
static_assert(offsetof(TcpInfo, rcv_ooopack) == kTcpInfoWithLoss);
static_assert(offsetof(TcpInfo, rcv_wnd) == 232 && offsetof(TcpInfo, total_rto) == 240);
static_assert(sizeof(TcpInfo) == kTcpInfoWithTimeouts);

enum class TcpState : std::uint8_t { kEstablished = 1, kCloseWait = 8, kListen = 10 };

// Reads TCP_INFO of a descriptor into `out`, zeroes first. Returns the bytes that the kernel wrote,
// or -errno. Takes the socket's lock: may wait for a sender. Not for the program's own threads.
long ReadTcpInfo(int fd, TcpInfo* out) noexcept;

}  // namespace chokepoint::counters
