// The ranges, ports and names by which traffic is told apart; the order of the tests is the
// meaning. Must not call a public address "the internet": object stores of the same region have
// public addresses too.
#include "counters/traffic_class.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "counters/text_scan.h"

namespace chokepoint::counters {

namespace {

struct Range4 {
  std::uint8_t first[4];
  int bits;
};
constexpr Range4 kPrivate4[] = {
    {{10, 0, 0, 0}, 8},     {{172, 16, 0, 0}, 12},
    {{192, 168, 0, 0}, 16}, {{100, 64, 0, 0}, 10},  // carrier-grade NAT; clouds use it inside
    {{169, 254, 0, 0}, 16},  // link-local; 169.254.169.254 is the metadata service
};

bool InRange(const std::uint8_t* bytes, const std::uint8_t* first, int bits) noexcept {
  for (int i = 0; bits > 0; ++i, bits -= 8) {
    const int mask = bits >= 8 ? 0xff : 0xff & (0xff00 >> bits);
    if ((bytes[i] & mask) != (first[i] & mask)) return false;
  }
  return true;
}

struct PortRange {
  std::uint16_t first, last;
};
constexpr PortRange kStoragePorts[] = {
    {111, 111},                                  // portmapper: NFS mounts
    {988, 988},                                  // Lustre
    {2049, 2049},                                // NFS
    {3260, 3260},                                // iSCSI
    {3300, 3300},   {6789, 6789}, {6800, 7300},  // Ceph
    {4420, 4420},                                // NVMe over TCP
    {1191, 1191},                                // GPFS
    {8003, 8011},                                // BeeGFS
    {14000, 14000},                              // WEKA
};

constexpr std::string_view kStorageNameParts[] = {
    "amazonaws.com",
    "blob.core.windows.net",
    "storage.googleapis.com",
    "r2.cloudflarestorage.com",
    "huggingface.co",
    "hf.co",
    "aliyuncs.com",
    "objectstorage.",
    "minio",
    "ceph",
    "lustre",
    "weka",
    "nfs",
    "beegfs",
    "vast",
    "s3.",
};

}  // namespace

Address AddressOf(const sockaddr* address, std::uint16_t* port) noexcept {
  Address result;
  if (address->sa_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, address, sizeof(in));
    result.family = 4;
    std::memcpy(result.bytes, &in.sin_addr, 4);
    if (port != nullptr) *port = ntohs(in.sin_port);
  } else if (address->sa_family == AF_INET6) {
    sockaddr_in6 in;
    std::memcpy(&in, address, sizeof(in));
    if (port != nullptr) *port = ntohs(in.sin6_port);
    constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&in.sin6_addr);
    if (std::memcmp(bytes, kMapped, sizeof(kMapped)) == 0) {
      result.family = 4;
      std::memcpy(result.bytes, bytes + 12, 4);
    } else {
      result.family = 6;
      std::memcpy(result.bytes, bytes, 16);
    }
  }
  return result;
}

Address ParseIpv4(std::string_view text) noexcept {
  Address result;
  std::string_view part;
  int count = 0;
  while (TakeUpTo(&text, '.', &part)) {
    std::uint64_t number = 0;
    if (count == 4 || !ParseUnsigned(part, &number) || number > 255) return {};
    result.bytes[count++] = static_cast<std::uint8_t>(number);
  }
  if (count != 4) return {};
  result.family = 4;
  return result;
}

bool IsLoopback(const Address& address) noexcept {
  if (address.family == 4) return address.bytes[0] == 127;
  constexpr std::uint8_t kLoopback[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return address.family == 6 && std::memcmp(address.bytes, kLoopback, 16) == 0;
}

bool IsPrivate(const Address& address) noexcept {
  if (address.family == 4) {
    for (const Range4& range : kPrivate4) {
      if (InRange(address.bytes, range.first, range.bits)) return true;
    }
    return false;
  }
  const bool unique_local = (address.bytes[0] & 0xfe) == 0xfc;
  const bool link_local = address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80;
  return address.family == 6 && (unique_local || link_local);
}

bool IsStoragePort(std::uint16_t port) noexcept {
  for (const PortRange& range : kStoragePorts) {
    if (port >= range.first && port <= range.last) return true;
  }
  return false;
}

bool IsStorageName(std::string_view host_name) noexcept {
  for (const std::string_view part : kStorageNameParts) {
    if (Contains(host_name, part)) return true;
  }
  return false;
}

trace::TrafficClass TrafficClassifier::Classify(const Address& peer, std::uint16_t peer_port,
                                                std::string_view host_name) const noexcept {
  using trace::TrafficClass;
  if (peer.family == 0) return TrafficClass::kUnknown;
  // why: ranks of one host talk over loopback or their own address; a peer address is more telling
  // than "same host".
  if (IsLoopback(peer)) return TrafficClass::kLocal;
  if (IsPeer(peer)) return TrafficClass::kJobPeer;
  if (Has(own_, own_count_, peer)) return TrafficClass::kLocal;
  if (!IsPrivate(peer)) return TrafficClass::kInternet;
  if (IsStoragePort(peer_port) || IsStorageName(host_name)) return TrafficClass::kStorage;
  return TrafficClass::kSite;
}

}  // namespace chokepoint::counters
