// Which interface has which address: to name the interface of a socket.
// Must not allocate; must not resolve names.
#pragma once

#include <cstddef>

#include "counters/sysfs.h"
#include "counters/traffic_class.h"

namespace chokepoint::counters {

struct LocalAddress {
  Address address;
  char interface[16] = {};
};

class LocalAddresses {
 public:
  // Asks the kernel: one ioctl for IPv4, /proc/net/if_inet6 for IPv6.
  void Refresh(SysTree* tree) noexcept;
  // "" when no interface has it.
  const char* InterfaceOf(const Address& address) const noexcept;

  std::size_t count() const noexcept { return count_; }
  const LocalAddress& at(std::size_t index) const noexcept { return list_[index]; }

 private:
  void Add(const Address& address, const char* interface, std::size_t name_bytes) noexcept;
  void AddIpv4() noexcept;
  void AddIpv6(SysTree* tree) noexcept;

  static constexpr std::size_t kMost = 64;
  LocalAddress list_[kMost];
  std::size_t count_ = 0;
};

}  // namespace chokepoint::counters
