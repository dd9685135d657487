// Says what an address stands for: the same host, a rank of the job, storage, a service of the
// site, the outside. Must not look anything up: it knows what it has been told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/sampler_enums.h"

struct sockaddr;

namespace chokepoint::counters {

// An IPv4 or IPv6 address in network byte order. IPv4 in IPv6 (::ffff:a.b.c.d) is kept as IPv4.
struct Address {
  std::uint8_t family = 0;  // 4, 6; 0 = none
  std::uint8_t bytes[16] = {};

  bool operator==(const Address&) const = default;
};

// family 0 when it is neither AF_INET nor AF_INET6. `port` may be null.
Address AddressOf(const sockaddr* address, std::uint16_t* port) noexcept;
// Parses "10.0.0.1"; IPv6 needs no parsing here. family 0 when it is none.
Address ParseIpv4(std::string_view text) noexcept;

bool IsLoopback(const Address& address) noexcept;
// Of a private, link-local, carrier or cloud-metadata range: not routed outside the site.
bool IsPrivate(const Address& address) noexcept;

// True when the port belongs to a storage protocol: NFS, Lustre, iSCSI, Ceph, ...
bool IsStoragePort(std::uint16_t port) noexcept;
// True when the host name is that of an object store, a parallel file system or a registry of
// files.
bool IsStorageName(std::string_view host_name) noexcept;

// Bounded sets of own and peer addresses. Contract: one thread.
class TrafficClassifier {
 public:
  void AddOwn(const Address& address) noexcept { Add(own_, &own_count_, address); }
  void AddPeer(const Address& address) noexcept { Add(peers_, &peer_count_, address); }
  bool IsPeer(const Address& address) const noexcept { return Has(peers_, peer_count_, address); }

  // `host_name`: what the program asked the resolver for, or "".
  trace::TrafficClass Classify(const Address& peer, std::uint16_t peer_port,
                               std::string_view host_name = {}) const noexcept;

 private:
  static constexpr std::size_t kMostOwn = 64;
  static constexpr std::size_t kMostPeers = 512;
  template <std::size_t kMost>
  static void Add(Address (&set)[kMost], std::size_t* count, const Address& address) noexcept {
    if (address.family == 0 || Has(set, *count, address) || *count == kMost) return;
    set[(*count)++] = address;
  }
  static bool Has(const Address* set, std::size_t count, const Address& address) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      if (set[i] == address) return true;
    }
    return false;
  }

  Address own_[kMostOwn];
  Address peers_[kMostPeers];
  std::size_t own_count_ = 0;
  std::size_t peer_count_ = 0;
};

}  // namespace chokepoint::counters
