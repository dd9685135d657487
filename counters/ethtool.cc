// The names that mean something, and the three commands that read them.
// Must not keep a socket: one is opened for a reading every half minute.
#include "counters/ethtool.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "counters/text_scan.h"
#include "trace/raw_io.h"
#include "trace/text.h"

namespace chokepoint::counters {

namespace raw = trace::raw;
using trace::NicCounterMeaning;

namespace {

// A `#` stands for a number. Order matters: the first that fits is taken.
struct Pattern {
  std::string_view text;
  NicCounterMeaning meaning;
};
constexpr Pattern kPatterns[] = {
    // mlx5
    {"rx_prio#_pause", NicCounterMeaning::kPauseReceived},
    {"tx_prio#_pause", NicCounterMeaning::kPauseSent},
    {"rx_prio#_pause_duration", NicCounterMeaning::kPauseReceivedUs},
    {"tx_prio#_pause_duration", NicCounterMeaning::kPauseSentUs},
    {"rx_pause_ctrl_phy", NicCounterMeaning::kPauseReceived},
    {"tx_pause_ctrl_phy", NicCounterMeaning::kPauseSent},
    {"rx_global_pause", NicCounterMeaning::kPauseReceived},
    {"tx_global_pause", NicCounterMeaning::kPauseSent},
    {"rx_global_pause_duration", NicCounterMeaning::kPauseReceivedUs},
    {"tx_global_pause_duration", NicCounterMeaning::kPauseSentUs},
    {"rx_discards_phy", NicCounterMeaning::kReceiveDiscards},
    {"rx_out_of_buffer", NicCounterMeaning::kReceiveDiscards},
    {"tx_discards_phy", NicCounterMeaning::kTransmitDiscards},
    {"link_down_events_phy", NicCounterMeaning::kLinkDown},
    {"rx_symbol_err_phy", NicCounterMeaning::kLineErrors},
    {"rx_pcs_symbol_err_phy", NicCounterMeaning::kLineErrors},
    {"rx_crc_errors_phy", NicCounterMeaning::kLineErrors},
    {"outbound_pci_stalled_rd_events", NicCounterMeaning::kPcieStall},
    {"outbound_pci_stalled_wr_events", NicCounterMeaning::kPcieStall},
    {"rx_vport_rdma_unicast_bytes", NicCounterMeaning::kRdmaBytesReceived},
    {"tx_vport_rdma_unicast_bytes", NicCounterMeaning::kRdmaBytesSent},
    // bnxt
    {"rx_pfc_ena_frames_pri#", NicCounterMeaning::kPauseReceived},
    {"tx_pfc_ena_frames_pri#", NicCounterMeaning::kPauseSent},
    // ice, i40e
    {"rx_priority_#_xoff", NicCounterMeaning::kPauseReceived},
    {"tx_priority_#_xoff", NicCounterMeaning::kPauseSent},
    {"link_xoff_rx", NicCounterMeaning::kPauseReceived},
    {"link_xoff_tx", NicCounterMeaning::kPauseSent},
    // hns3
    {"mac_rx_pri#_pfc_num", NicCounterMeaning::kPauseReceived},
    {"mac_tx_pri#_pfc_num", NicCounterMeaning::kPauseSent},
    // ENA: the instance's limits
    {"bw_in_allowance_exceeded", NicCounterMeaning::kProviderLimit},
    {"bw_out_allowance_exceeded", NicCounterMeaning::kProviderLimit},
    {"pps_allowance_exceeded", NicCounterMeaning::kProviderLimit},
    {"conntrack_allowance_exceeded", NicCounterMeaning::kProviderLimit},
    {"linklocal_allowance_exceeded", NicCounterMeaning::kProviderLimit},
    // many
    {"rx_missed_errors", NicCounterMeaning::kReceiveDiscards},
    {"rx_no_buffer_count", NicCounterMeaning::kReceiveDiscards},
    {"rx_crc_errors", NicCounterMeaning::kLineErrors}};

bool Fits(std::string_view name, std::string_view pattern) noexcept {
  const std::size_t hole = pattern.find('#');
  if (hole == std::string_view::npos) return name == pattern;
  const std::string_view before(pattern.data(), hole);
  const std::string_view after(pattern.data() + hole + 1, pattern.size() - hole - 1);
  if (name.size() <= before.size() + after.size()) return false;
  if (!StartsWith(name, before) || !EndsWith(name, after)) return false;
  std::uint64_t number = 0;
  return ParseUnsigned({name.data() + hole, name.size() - before.size() - after.size()}, &number);
}

long CallKernel(const char* interface, void* command, void*) noexcept {
  const long fd = raw::Call(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fd;
  ifreq request{};
  trace::Text(request.ifr_name, sizeof(request.ifr_name)).Add(interface);
  request.ifr_data = static_cast<char*>(command);
  const long result =
      raw::Call(SYS_ioctl, fd, SIOCETHTOOL, raw::Word(static_cast<void*>(&request)));
  raw::Close(static_cast<int>(fd));
  return result < 0 ? result : 0;
}

}  // namespace

NicCounterMeaning MeaningOfEthtool(std::string_view name) noexcept {
  for (const Pattern& pattern : kPatterns) {
    if (Fits(name, pattern.text)) return pattern.meaning;
  }
  return NicCounterMeaning::kOther;
}

EthtoolChannel EthtoolReader::Kernel() noexcept {
  return {.call = CallKernel, .argument = nullptr};
}

EthtoolReader::Interface* EthtoolReader::FindOrAdd(std::uint32_t nic_index) noexcept {
  Interface* free = nullptr;
  for (Interface& interface : interfaces_) {
    if (interface.nic_index == nic_index) return &interface;
    if (interface.nic_index == 0 && free == nullptr) free = &interface;
  }
  if (free != nullptr) free->nic_index = nic_index;
  return free;
}

long EthtoolReader::CountStats(const char* name) noexcept {
  alignas(8) char answer[sizeof(ethtool_sset_info) + sizeof(std::uint32_t)] = {};
  ethtool_sset_info command{};
  command.cmd = ETHTOOL_GSSET_INFO;
  command.sset_mask = std::uint64_t{1} << ETH_SS_STATS;
  std::memcpy(answer, &command, sizeof(command));
  const long result = channel_.call(name, answer, channel_.argument);
  if (result < 0) return result;
  std::uint32_t count = 0;
  std::memcpy(&command, answer, sizeof(command));
  std::memcpy(&count, answer + sizeof(command), sizeof(count));
  return command.sset_mask == 0 ? 0 : static_cast<long>(count);
}

// Finds the places of the counters that mean something. False when the driver's list does not fit
// or cannot be had.
bool EthtoolReader::Learn(const Round& round, const char* name, std::uint32_t stats,
                          Interface* interface) noexcept {
  interface->count = 0;
  const std::size_t needed = sizeof(ethtool_gstrings) + std::size_t{stats} * ETH_GSTRING_LEN;
  // why half: the kernel writes as many as the driver has at that moment, not as many as were asked
  // for.
  if (needed > round.buffer_bytes / 2) return false;
  ethtool_gstrings command{};
  command.cmd = ETHTOOL_GSTRINGS;
  command.string_set = ETH_SS_STATS;
  command.len = stats;
  std::memcpy(round.buffer, &command, sizeof(command));
  if (channel_.call(name, round.buffer, channel_.argument) < 0) return false;
  const char* names = round.buffer + sizeof(command);
  for (std::uint32_t i = 0; i < stats && interface->count < kMostCounters; ++i) {
    const char* text = names + std::size_t{i} * ETH_GSTRING_LEN;
    const std::string_view one(text, strnlen(text, ETH_GSTRING_LEN));
    const NicCounterMeaning meaning = MeaningOfEthtool(one);
    if (meaning == NicCounterMeaning::kOther) continue;
    char terminated[ETH_GSTRING_LEN + 1];
    trace::Text(terminated, sizeof(terminated)).Add(one.data(), one.size());
    Counter& counter = interface->counters[interface->count++];
    counter = Counter{};
    counter.place = static_cast<std::uint16_t>(i);
    counter.meaning = static_cast<std::uint8_t>(meaning);
    counter.name = round.sink->Name(terminated);
  }
  interface->stats = stats;
  return true;
}

void EthtoolReader::Read(const Round& round, const NicReader::Nic& nic,
                         Interface* interface) noexcept {
  round.tree->CountRead();
  long stats = CountStats(nic.name);
  if (stats > UINT16_MAX) stats = -E2BIG;
  if (stats > 0 && stats != interface->stats &&
      !Learn(round, nic.name, static_cast<std::uint32_t>(stats), interface)) {
    stats = -EIO;
  }
  const std::size_t needed =
      sizeof(ethtool_stats) + static_cast<std::size_t>(stats > 0 ? stats : 0) * 8;
  if (stats > 0 && interface->count > 0 && needed <= round.buffer_bytes / 2) {
    ethtool_stats command{};
    command.cmd = ETHTOOL_GSTATS;
    command.n_stats = static_cast<std::uint32_t>(stats);
    std::memcpy(round.buffer, &command, sizeof(command));
    const long result = channel_.call(nic.name, round.buffer, channel_.argument);
    if (result < 0) stats = result;
  }
  if (stats < 0) {
    round.tree->CountError();
    interface->refused = true;
    round.sink->Report(trace::SamplerSource::kNicDriver, StateOfError(stats),
                       static_cast<int>(-stats), round.now_ticks, nic.name);
    return;
  }
  const char* values = round.buffer + sizeof(ethtool_stats);
  for (std::size_t i = 0; i < interface->count; ++i) {
    Counter& counter = interface->counters[i];
    std::uint64_t value = 0;
    std::memcpy(&value, values + std::size_t{counter.place} * sizeof(value), sizeof(value));
    if (counter.written && counter.value == value) continue;
    trace::NicCounter record;
    record.meaning = counter.meaning;
    record.index = nic.index;
    record.name = counter.name;
    record.value = value;
    record.ticks = round.now_ticks;
    round.sink->Emit(record);
    counter.value = value;
    counter.written = true;
  }
}

void EthtoolReader::Sample(const Round& round, const NicReader& nics) noexcept {
  ++calls_;
  if (channel_.call == nullptr) return;
  for (std::size_t i = 0; i < nics.count(); ++i) {
    const NicReader::Nic& nic = nics.at(i);
    if (nic.index == 0 || (nic.identity.flags & trace::kNicVirtual) != 0) continue;
    Interface* interface = FindOrAdd(nic.index);
    if (interface == nullptr || interface->refused) continue;
    if (interface->read_at != 0 && calls_ - interface->read_at < kEvery) continue;
    interface->read_at = calls_;
    Read(round, nic, interface);
    return;  // one a second: the time of firmware is spread
  }
}

}  // namespace chokepoint::counters
