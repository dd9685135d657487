// Our tcp_info against the system header's, as far as that goes.
// Must not include anything that declares it a second time.
#include <gtest/gtest.h>
#include <linux/tcp.h>

#include "counters/tcp_info.h"

namespace chokepoint::tests {
namespace {

TEST(TcpInfoLayout, AgreesWithTheSystemsHeader) {
#define SAME(ours, theirs) \
  EXPECT_EQ(offsetof(counters::TcpInfo, ours), offsetof(tcp_info, theirs)) << #ours
  SAME(state, tcpi_state);
  SAME(ca_state, tcpi_ca_state);
  SAME(retransmits, tcpi_retransmits);
  SAME(backoff, tcpi_backoff);
  SAME(options, tcpi_options);
  SAME(rto, tcpi_rto);
  SAME(snd_mss, tcpi_snd_mss);
  SAME(unacked, tcpi_unacked);
  SAME(lost, tcpi_lost);
  SAME(rtt, tcpi_rtt);
  SAME(snd_ssthresh, tcpi_snd_ssthresh);
  SAME(snd_cwnd, tcpi_snd_cwnd);
  SAME(reordering, tcpi_reordering);
  SAME(total_retrans, tcpi_total_retrans);
  SAME(pacing_rate, tcpi_pacing_rate);
  SAME(bytes_acked, tcpi_bytes_acked);
  SAME(bytes_received, tcpi_bytes_received);
  SAME(segs_out, tcpi_segs_out);
  SAME(notsent_bytes, tcpi_notsent_bytes);
  SAME(min_rtt, tcpi_min_rtt);
  SAME(data_segs_in, tcpi_data_segs_in);
  SAME(data_segs_out, tcpi_data_segs_out);
  SAME(delivery_rate, tcpi_delivery_rate);
  SAME(busy_time, tcpi_busy_time);
  SAME(rwnd_limited, tcpi_rwnd_limited);
  SAME(sndbuf_limited, tcpi_sndbuf_limited);
  SAME(delivered, tcpi_delivered);
  SAME(delivered_ce, tcpi_delivered_ce);
  SAME(bytes_sent, tcpi_bytes_sent);
  SAME(bytes_retrans, tcpi_bytes_retrans);
  SAME(dsack_dups, tcpi_dsack_dups);
  SAME(reord_seen, tcpi_reord_seen);
  SAME(rcv_ooopack, tcpi_rcv_ooopack);
  SAME(snd_wnd, tcpi_snd_wnd);
#undef SAME
}

}  // namespace
}  // namespace chokepoint::tests
