// Finds ports, keeps their identity up to date, and reads their counters by the cheapest way that
// works. Must not read a file of counters/ more often than needed: each is a firmware command.
#include "counters/rdma.h"

#include <cstring>

#include "counters/text_scan.h"
#include "trace/raw_io.h"
#include "trace/text.h"

namespace chokepoint::counters {

using trace::RdmaDriver;
using trace::SamplerSource;
using trace::SourceState;

namespace {

constexpr char kClass[] = "/sys/class/infiniband/";
constexpr std::uint64_t kRarely = 10;  // rounds
constexpr const char* kFrequentNames[] = {"port_xmit_data", "port_rcv_data", "port_xmit_wait"};

struct DevicePath {
  DevicePath(const char* device, const char* file) noexcept {
    trace::Text(text, sizeof(text)).Add(kClass).Add(device).Add("/").Add(file);
  }
  char text[kMaxPathBytes];
};

struct PortPath {
  PortPath(const char* device, std::uint32_t number, const char* folder,
           const char* file) noexcept {
    trace::Text(text, sizeof(text))
        .Add(kClass)
        .Add(device)
        .Add("/ports/")
        .AddNumber(number)
        .Add("/")
        .Add(folder)
        .Add(file);
  }
  char text[kMaxPathBytes];
};

// "4: ACTIVE"
std::uint8_t LeadingNumber(std::string_view text) noexcept {
  std::string_view number;
  std::uint64_t value = 0;
  if (!TakeUpTo(&text, ':', &number) || !ParseUnsigned(number, &value) || value > 255) return 0;
  return static_cast<std::uint8_t>(value);
}

// "0c42:a103:00a1:b2c3"
std::uint64_t ParseGuid(std::string_view text) noexcept {
  std::uint64_t guid = 0;
  std::string_view part;
  while (TakeUpTo(&text, ':', &part)) {
    std::uint64_t value = 0;
    if (!ParseUnsigned(part, &value, 16) || value > 0xffff) return 0;
    guid = guid << 16 | value;
  }
  return guid;
}

trace::RdmaLinkLayer ParseLinkLayer(std::string_view text) noexcept {
  if (text == "InfiniBand") return trace::RdmaLinkLayer::kInfiniband;
  if (text == "Ethernet") return trace::RdmaLinkLayer::kEthernet;
  return trace::RdmaLinkLayer::kUnknown;
}

}  // namespace

std::uint32_t ParseRdmaRate(std::string_view text) noexcept {
  std::string_view number;
  std::string_view unit;
  if (!TakeWord(&text, &number) || !TakeWord(&text, &unit) || unit != "Gb/sec") return 0;
  std::string_view whole;
  std::uint64_t gigabits = 0;
  if (!TakeUpTo(&number, '.', &whole) || !ParseUnsigned(whole, &gigabits) || gigabits > 4'000'000) {
    return 0;
  }
  const std::uint64_t half = number == "5" ? 500 : 0;
  return static_cast<std::uint32_t>(gigabits * 1000 + half);
}

RdmaDriver RdmaDriverOf(std::string_view pci_driver, std::string_view device) noexcept {
  struct Prefix {
    std::string_view text;
    RdmaDriver driver;
  };
  constexpr Prefix kPciDrivers[] = {{"mlx5", RdmaDriver::kMlx5},   {"bnxt", RdmaDriver::kBnxtRe},
                                    {"ice", RdmaDriver::kIrdma},   {"i40e", RdmaDriver::kIrdma},
                                    {"irdma", RdmaDriver::kIrdma}, {"efa", RdmaDriver::kEfa},
                                    {"erdma", RdmaDriver::kErdma}, {"hns", RdmaDriver::kHns}};
  for (const Prefix& prefix : kPciDrivers) {
    if (StartsWith(pci_driver, prefix.text)) return prefix.driver;
  }
  if (!pci_driver.empty()) return RdmaDriver::kOther;
  for (const Prefix& prefix : kPciDrivers) {
    if (StartsWith(device, prefix.text)) return prefix.driver;
  }
  return StartsWith(device, "rxe") ? RdmaDriver::kRxe : RdmaDriver::kOther;
}

void RdmaReader::Init(bool by_netlink) noexcept { by_netlink_ = by_netlink; }

void RdmaReader::Close(SysTree* tree) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    for (SysFile& file : ports_[i].frequent) file.Close(tree);
  }
  netlink_.Close();
}

RdmaReader::Port* RdmaReader::Find(const char* device, std::uint32_t number) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (ports_[i].number == number && std::strcmp(ports_[i].device, device) == 0) {
      return &ports_[i];
    }
  }
  return nullptr;
}

void RdmaReader::IdentifyDevice(const Round& round, const Port& port,
                                trace::RdmaPort* identity) noexcept {
  SysTree* tree = round.tree;
  char text[128];
  tree->LinkName(DevicePath(port.device, "device").text, text, sizeof(text));
  identity->pci_address = round.sink->Name(text);
  const std::string_view driver =
      tree->LinkName(DevicePath(port.device, "device/driver").text, text, sizeof(text));
  identity->driver = static_cast<std::uint8_t>(RdmaDriverOf(driver, port.device));
  if (driver == "i40e") identity->flags |= trace::kRdmaPortSlowRefresh;
  tree->ReadLine(DevicePath(port.device, "fw_ver").text, text, sizeof(text));
  identity->firmware = round.sink->Name(text);
  if (tree->ReadLine(DevicePath(port.device, "board_id").text, text, sizeof(text)).empty()) {
    tree->ReadLine(DevicePath(port.device, "hca_type").text, text, sizeof(text));
  }
  identity->board = round.sink->Name(text);
  std::int64_t node = -1;
  tree->ReadSigned(DevicePath(port.device, "device/numa_node").text, &node);
  identity->numa_node = static_cast<std::int32_t>(node);
  identity->node_guid =
      ParseGuid(tree->ReadLine(DevicePath(port.device, "node_guid").text, text, sizeof(text)));
}

trace::RdmaPort RdmaReader::Identify(const Round& round, const Port& port) noexcept {
  SysTree* tree = round.tree;
  const auto line = [&](const char* file, char* text) {
    return tree->ReadLine(PortPath(port.device, port.number, "", file).text, text, 128);
  };
  char text[128];
  trace::RdmaPort identity = port.identity;
  identity.state = LeadingNumber(line("state", text));
  identity.physical_state = LeadingNumber(line("phys_state", text));
  identity.link_layer = static_cast<std::uint8_t>(ParseLinkLayer(line("link_layer", text)));
  identity.rate_mbps = ParseRdmaRate(line("rate", text));
  identity.rate_text = round.sink->Name(text);
  line("gid_attrs/ndevs/0", text);
  identity.network_device = round.sink->Name(text);
  unsigned flags = identity.flags & trace::kRdmaPortSlowRefresh;
  if (port.used == 2) flags |= trace::kRdmaPortUsed;
  if (port.used == 0) flags |= trace::kRdmaPortUseUnknown;
  if (netlink_.is_open() && port.netlink_index != ~0u && !port.netlink_failed) {
    flags |= trace::kRdmaPortByNetlink;
  }
  if (port.gone) flags |= trace::kRdmaPortGone;
  identity.flags = static_cast<std::uint8_t>(flags);
  identity.known = port.counters.Known();
  return identity;
}

void RdmaReader::StartPort(const Round& round, Port* port) noexcept {
  IdentifyDevice(round, *port, &port->identity);
  port->counters.Choose(static_cast<RdmaDriver>(port->identity.driver));
  for (std::size_t i = 0; i < kFrequent; ++i) {
    port->frequent[i].SetPath(
        PortPath(port->device, port->number, "counters/", kFrequentNames[i]).text);
  }
}

void RdmaReader::AddPort(const Round& round, const char* device, std::uint32_t number) noexcept {
  Port* port = Find(device, number);
  if (port == nullptr) {
    if (count_ == kMost || std::strlen(device) >= sizeof(Port::device)) {
      round.sink->Report(SamplerSource::kRdma, SourceState::kIncomplete, 0, round.now_ticks,
                         device);
      return;
    }
    port = &ports_[count_++];
    *port = Port{};
    trace::Text(port->device, sizeof(port->device)).Add(device);
    port->number = number;
    port->identity.index = static_cast<std::uint32_t>(count_);
    port->identity.port = static_cast<std::uint8_t>(number);
    port->identity.device = round.sink->Name(device);
    StartPort(round, port);
  } else if (port->gone) {
    port->gone = port->netlink_failed = false;
    round.sink->Report(SamplerSource::kRdma, SourceState::kPresent, 0, round.now_ticks, device);
  }
  port->seen = true;
}

namespace {

struct Visit {
  void* reader;
  const Round* round;
  const char* device;
};

}  // namespace

void RdmaReader::VisitDevice(const char* name, void* argument) noexcept {
  Visit visit = *static_cast<Visit*>(argument);
  visit.device = name;
  ForEachEntry(
      visit.round->tree, DevicePath(name, "ports").text,
      [](const char* port, void* opaque) noexcept {
        const auto* in = static_cast<const Visit*>(opaque);
        std::uint64_t number = 0;
        if (!ParseUnsigned(port, &number) || number == 0 || number > 255) return;
        static_cast<RdmaReader*>(in->reader)
            ->AddPort(*in->round, in->device, static_cast<std::uint32_t>(number));
      },
      &visit);
}

void RdmaReader::MarkGone(const Round& round, Port* port) noexcept {
  if (port->gone) return;
  port->gone = true;
  port->netlink_index = ~0u;
  for (SysFile& file : port->frequent) file.Close(round.tree);
  round.sink->Report(SamplerSource::kRdma, SourceState::kGone, 0, round.now_ticks, port->device);
}

void RdmaReader::MatchNetlinkDevices() noexcept {
  if (!by_netlink_ || count_ == 0) return;
  if (!netlink_.is_open() && netlink_.Open() < 0) {
    by_netlink_ = false;  // this kernel or container has none: sysfs it is
    return;
  }
  netlink_.Devices(
      [](std::uint32_t index, std::string_view name, void* self) noexcept {
        auto* reader = static_cast<RdmaReader*>(self);
        for (std::size_t i = 0; i < reader->count_; ++i) {
          if (name == reader->ports_[i].device) reader->ports_[i].netlink_index = index;
        }
      },
      this);
}

void RdmaReader::Refresh(const Round& round) noexcept {
  for (std::size_t i = 0; i < count_; ++i) ports_[i].seen = false;
  Visit visit{this, &round, nullptr};
  const long found = ForEachEntry(round.tree, "/sys/class/infiniband", VisitDevice, &visit);
  presence_.Note(round, SamplerSource::kRdma, found);
  MatchNetlinkDevices();
  for (std::size_t i = 0; i < count_; ++i) {
    Port& port = ports_[i];
    if (!port.seen) MarkGone(round, &port);
    trace::RdmaPort identity = Identify(round, port);
    identity.ticks = port.identity.ticks;
    const bool first = port.identity.ticks == 0;
    if (!first && std::memcmp(&identity, &port.identity, sizeof(identity)) == 0) continue;
    identity.ticks = round.now_ticks;
    port.identity = identity;
    round.sink->Emit(identity);
  }
  refreshed_ = true;
}

void RdmaReader::RepeatIdentities(const Sink& sink) const noexcept {
  for (std::size_t i = 0; i < count_; ++i) sink.Emit(ports_[i].identity);
}

// By netlink. False when the files have to be read instead.
bool RdmaReader::ReadHardware(const Round& round, Port* port) noexcept {
  if (!netlink_.is_open() || port->netlink_index == ~0u || port->netlink_failed) return false;
  round.tree->CountRead();
  const long got = netlink_.Counters(
      port->netlink_index, port->number,
      [](std::string_view name, std::uint64_t value, void* argument) noexcept {
        static_cast<RdmaPortCounters*>(argument)->AddByName(name, false, value);
      },
      &port->counters);
  if (got >= 0) return true;
  round.tree->CountError();
  port->netlink_failed = true;
  round.sink->Report(SamplerSource::kRdma, StateOfError(got), static_cast<int>(-got),
                     round.now_ticks, port->device, "netlink");
  return false;
}

void RdmaReader::ReadHardwareFiles(const Round& round, Port* port) noexcept {
  for (std::size_t i = 0; i < port->counters.count(); ++i) {
    const RdmaCounterSpec& spec = port->counters.spec(i);
    if (spec.of_port) continue;
    std::uint64_t value = 0;
    const PortPath path(port->device, port->number, "hw_counters/", spec.name);
    if (round.tree->ReadUnsigned(path.text, &value)) port->counters.Add(i, value);
  }
}

void RdmaReader::ReadPortFiles(const Round& round, Port* port, bool all) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kFrequent; ++i) {
    char text[64];
    if (port->frequent[i].gone() && !all) continue;
    const long size = port->frequent[i].Read(round.tree, text, sizeof(text));
    if (size <= 0) continue;
    if (ParseUnsigned(Trimmed({text, static_cast<std::size_t>(size)}), &value)) {
      port->counters.AddByName(kFrequentNames[i], true, value);
    }
  }
  if (!all) return;
  for (std::size_t i = 0; i < port->counters.count(); ++i) {
    const RdmaCounterSpec& spec = port->counters.spec(i);
    bool frequent = !spec.of_port;
    for (const char* name : kFrequentNames) frequent |= std::strcmp(name, spec.name) == 0;
    const PortPath path(port->device, port->number, "counters/", spec.name);
    if (!frequent && round.tree->ReadUnsigned(path.text, &value)) port->counters.Add(i, value);
  }
}

void RdmaReader::Sample(const Round& round) noexcept {
  if (!refreshed_) Refresh(round);
  // why: without netlink each counter of each port is a file; with many ports that is spread over
  // time.
  const std::uint64_t file_rounds = count_ > 2 ? 5 : 1;
  for (std::size_t i = 0; i < count_; ++i) {
    Port& port = ports_[i];
    if (port.gone) continue;
    const bool rarely = port.rounds % kRarely == 0;
    const bool files_due = (port.rounds + i) % file_rounds == 0 || port.rounds == 0;
    ++port.rounds;
    ReadPortFiles(round, &port, rarely);
    if (!ReadHardware(round, &port) && files_due) ReadHardwareFiles(round, &port);
    trace::RdmaSample sample = port.counters.Sum();
    sample.index = port.identity.index;
    sample.ticks = round.now_ticks;
    if (sample.known != 0) round.sink->Emit(sample);
    if (rarely) port.counters.RecordMoved(round, port.identity.index, port.device);
  }
}

void RdmaReader::FindUsed(const Round& round) noexcept {
  if (!netlink_.is_open()) return;
  const std::uint32_t pid = trace::raw::ProcessId();
  for (std::size_t i = 0; i < count_; ++i) {
    if (ports_[i].netlink_index == ~0u || ports_[i].gone) continue;
    struct Argument {
      RdmaReader* reader;
      const char* device;
    } argument{this, ports_[i].device};
    bool asked_before = false;
    for (std::size_t j = 0; j < i; ++j) {
      asked_before |= std::strcmp(ports_[j].device, ports_[i].device) == 0;
    }
    if (asked_before) continue;
    round.tree->CountRead();
    const long got = netlink_.QueuePairs(
        ports_[i].netlink_index, pid,
        [](std::uint32_t number, void* opaque) noexcept {
          auto* in = static_cast<Argument*>(opaque);
          if (Port* port = in->reader->Find(in->device, number)) port->used = 2;
        },
        &argument);
    for (std::size_t j = i; j < count_ && got >= 0; ++j) {
      const bool same_device = std::strcmp(ports_[j].device, ports_[i].device) == 0;
      if (same_device && ports_[j].used == 0) ports_[j].used = 1;
    }
  }
  Refresh(round);
}

}  // namespace chokepoint::counters
