// /proc/net/dev for the numbers, /sys/class/net for the identity, /proc/net/route for the role.
// Must not trust `speed` of virtual interfaces: they say -1, or an invented number.
#include "counters/nic.h"

#include <cstring>

#include "counters/links.h"
#include "counters/text_scan.h"
#include "trace/text.h"

namespace chokepoint::counters {

namespace {

constexpr char kNetClass[] = "/sys/class/net/";

// "/sys/class/net/" + name + "/" + file.
struct NicPath {
  NicPath(const char* name, const char* file) noexcept {
    trace::Text(text, sizeof(text)).Add(kNetClass).Add(name).Add("/").Add(file);
  }
  char text[kMaxPathBytes];
};

std::uint32_t MbpsOf(SysTree* tree, const char* directory, const char* speed_file,
                     const char* width_file) noexcept {
  char path[kMaxPathBytes];
  char line[64];
  trace::Text(path, sizeof(path)).Add(directory).Add(speed_file);
  const unsigned generation = PcieGeneration(tree->ReadLine(path, line, sizeof(line)));
  std::uint64_t lanes = 0;
  trace::Text(path, sizeof(path)).Add(directory).Add(width_file);
  if (generation == 0 || !tree->ReadUnsigned(path, &lanes) || lanes > 32) return 0;
  return PcieMbytes(generation, static_cast<unsigned>(lanes)) * 8;
}

std::uint32_t NumberOf(SysTree* tree, const char* name, const char* file) noexcept {
  std::uint64_t value = 0;
  return tree->ReadUnsigned(NicPath(name, file).text, &value) && value <= UINT32_MAX
             ? static_cast<std::uint32_t>(value)
             : 0;
}

}  // namespace

PcieLink ReadPcieLink(SysTree* tree, const char* device_directory) noexcept {
  PcieLink link;
  char path[kMaxPathBytes];
  trace::Text(path, sizeof(path)).Add(device_directory).Add("/current_link_speed");
  if (!tree->Exists(path)) return link;
  link.now_mbps = MbpsOf(tree, device_directory, "/current_link_speed", "/current_link_width");
  link.max_mbps = MbpsOf(tree, device_directory, "/max_link_speed", "/max_link_width");
  return link;
}

NicReader::Nic* NicReader::FindOrAdd(std::string_view name) noexcept {
  Nic* free = nullptr;
  for (std::size_t i = 0; i < count_; ++i) {
    if (name == nics_[i].name) return &nics_[i];
    if (nics_[i].index == 0) free = &nics_[i];
  }
  if (free == nullptr && count_ < kMost) free = &nics_[count_++];
  if (free == nullptr || name.size() >= sizeof(Nic::name)) return nullptr;
  *free = Nic{};
  trace::Text(free->name, sizeof(free->name)).Add(name.data(), name.size());
  free->index = next_index_++;
  return free;
}

// "eth0: rx bytes packets errs drop fifo frame compressed multicast, tx bytes packets errs drop
// fifo colls carrier compressed"
void NicReader::ReadLine(const Round& round, std::string_view line) noexcept {
  std::string_view name;
  if (line.find(':') == std::string_view::npos || !TakeUpTo(&line, ':', &name)) return;
  std::uint64_t v[16] = {};
  if (TakeNumbers(&line, v, 16) < 16) return;
  Nic* nic = FindOrAdd(Trimmed(name));
  if (nic == nullptr) return;
  nic->seen = true;
  const std::uint64_t readings[kValues] = {v[0],  v[8], v[1],  v[9], v[2],
                                           v[10], v[3], v[11], v[4], v[14]};
  for (std::size_t i = 0; i < kValues; ++i) {
    if (nic->values[i].Add(readings[i], CounterWidth{}) == CounterStep::kReset) ++nic->resets;
  }
  std::uint64_t moved = 0;
  for (std::size_t i = 2; i < kValues; ++i) moved += nic->values[i].total();
  if (nic->recorded && moved == nic->written) return;
  trace::NicSample sample;
  sample.resets = nic->resets;
  sample.index = nic->index;
  sample.ticks = round.now_ticks;
  std::uint64_t totals[kValues];
  for (std::size_t i = 0; i < kValues; ++i) totals[i] = nic->values[i].total();
  static_assert(sizeof(trace::NicSample) == 16 + sizeof(totals));
  std::memcpy(&sample.rx_bytes, totals, sizeof(totals));
  round.sink->Emit(sample);
  nic->written = moved;
  nic->recorded = true;
}

void NicReader::Sample(const Round& round) noexcept {
  long result = 0;
  std::string_view text = round.Read(&file_, &result);
  if (!presence_.Note(round, trace::SamplerSource::kNic, result)) return;
  const std::uint32_t before = next_index_;
  for (std::size_t i = 0; i < count_; ++i) nics_[i].seen = false;
  std::string_view line;
  while (TakeLine(&text, &line)) ReadLine(round, line);
  RecordGone(round);
  // why: the buffer is shared, so identities are read when the lines are done with.
  if (next_index_ != before) Refresh(round);
}

void NicReader::RecordGone(const Round& round) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    Nic& nic = nics_[i];
    if (nic.index == 0 || nic.seen) continue;
    nic.identity.flags |= trace::kNicGone;
    nic.identity.ticks = round.now_ticks;
    round.sink->Emit(nic.identity);
    round.sink->Report(trace::SamplerSource::kNic, trace::SourceState::kGone, 0, round.now_ticks,
                       nic.name);
    nic = Nic{};
  }
}

// Lines: interface, destination, gateway, flags, ... in hex; destination 0 with a gateway is the
// default route.
void NicReader::FindDefaultRoutes(const Round& round) noexcept {
  for (std::size_t i = 0; i < count_; ++i) nics_[i].default_route = false;
  const long size = round.tree->ReadOnce("/proc/net/route", round.buffer, round.buffer_bytes);
  if (size <= 0) return;
  std::string_view text(round.buffer, static_cast<std::size_t>(size));
  std::string_view line;
  while (TakeLine(&text, &line)) {
    std::string_view name;
    std::uint64_t v[3] = {};
    constexpr std::uint64_t kHasGateway = 2;
    if (!TakeWord(&line, &name) || TakeNumbers(&line, v, 3, 16) != 3) continue;
    if (v[0] != 0 || (v[2] & kHasGateway) == 0) continue;
    for (std::size_t i = 0; i < count_; ++i) {
      if (name == nics_[i].name) nics_[i].default_route = true;
    }
  }
}

trace::NicInterface NicReader::Identify(const Round& round, const Nic& nic) noexcept {
  constexpr std::uint64_t kTypeLoopback = 772;
  SysTree* tree = round.tree;
  trace::NicInterface identity;
  char text[128];
  identity.index = nic.index;
  identity.name = round.sink->Name(nic.name);
  identity.mtu_bytes = NumberOf(tree, nic.name, "mtu");
  identity.carrier_changes = NumberOf(tree, nic.name, "carrier_changes");
  identity.numa_node = -1;
  unsigned flags = 0;
  if (nic.default_route) flags |= trace::kNicDefaultRoute;
  const std::string_view up =
      tree->ReadLine(NicPath(nic.name, "operstate").text, text, sizeof(text));
  const bool loopback = NumberOf(tree, nic.name, "type") == kTypeLoopback;
  if (up == "up" || (loopback && up == "unknown")) flags |= trace::kNicUp;
  if (loopback) flags |= trace::kNicLoopback;
  if (tree->Exists(NicPath(nic.name, "bonding").text)) flags |= trace::kNicBondMaster;
  if (tree->Exists(NicPath(nic.name, "bonding_slave").text)) flags |= trace::kNicBondSlave;
  tree->LinkName(NicPath(nic.name, "master").text, text, sizeof(text));
  identity.master = round.sink->Name(text);
  if (tree->LinkName(NicPath(nic.name, "device").text, text, sizeof(text)).empty()) {
    flags |= trace::kNicVirtual;
  } else {
    identity.pci_address = round.sink->Name(text);
    tree->LinkName(NicPath(nic.name, "device/driver").text, text, sizeof(text));
    identity.driver = round.sink->Name(text);
    if (tree->Exists(NicPath(nic.name, "device/infiniband").text)) flags |= trace::kNicHasRdma;
    std::int64_t node = -1;
    tree->ReadSigned(NicPath(nic.name, "device/numa_node").text, &node);
    identity.numa_node = static_cast<std::int32_t>(node);
    const PcieLink link = ReadPcieLink(tree, NicPath(nic.name, "device").text);
    identity.pci_nominal_mbps = link.now_mbps;
    identity.pci_max_mbps = link.max_mbps;
  }
  const bool has_speed = (flags & trace::kNicVirtual) == 0 || (flags & trace::kNicBondMaster) != 0;
  if (has_speed) identity.speed_mbps = NumberOf(tree, nic.name, "speed");
  identity.flags = static_cast<std::uint16_t>(flags);
  return identity;
}

void NicReader::Refresh(const Round& round) noexcept {
  FindDefaultRoutes(round);
  for (std::size_t i = 0; i < count_; ++i) {
    Nic& nic = nics_[i];
    if (nic.index == 0) continue;
    trace::NicInterface identity = Identify(round, nic);
    identity.ticks = nic.identity.ticks;
    if (std::memcmp(&identity, &nic.identity, sizeof(identity)) == 0) continue;
    identity.ticks = round.now_ticks;
    nic.identity = identity;
    round.sink->Emit(identity);
  }
}

void NicReader::RepeatIdentities(const Sink& sink) const noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (nics_[i].index != 0) sink.Emit(nics_[i].identity);
  }
}

}  // namespace chokepoint::counters
