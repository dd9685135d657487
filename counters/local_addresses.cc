// SIOCGIFCONF and /proc/net/if_inet6 into one small table.
// Must not keep a descriptor.
#include "counters/local_addresses.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>
#include <iterator>

#include "counters/text_scan.h"
#include "trace/raw_io.h"
#include "trace/text.h"

namespace chokepoint::counters {

namespace raw = trace::raw;

void LocalAddresses::Add(const Address& address, const char* interface,
                         std::size_t name_bytes) noexcept {
  if (address.family == 0 || count_ == kMost) return;
  LocalAddress& entry = list_[count_++];
  entry.address = address;
  trace::Text(entry.interface, sizeof(entry.interface)).Add(interface, name_bytes);
}

void LocalAddresses::AddIpv4() noexcept {
  const long fd = raw::Call(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  ifreq requests[kMost];
  ifconf list{};
  list.ifc_len = sizeof(requests);
  list.ifc_req = requests;
  if (raw::Call(SYS_ioctl, fd, SIOCGIFCONF, raw::Word(static_cast<void*>(&list))) >= 0) {
    const std::size_t found = static_cast<std::size_t>(list.ifc_len) / sizeof(ifreq);
    for (std::size_t i = 0; i < found && i < std::size(requests); ++i) {
      Add(AddressOf(&requests[i].ifr_addr, nullptr), requests[i].ifr_name,
          strnlen(requests[i].ifr_name, IFNAMSIZ));
    }
  }
  raw::Close(static_cast<int>(fd));
}

// A line: 32 hex digits, interface number, prefix length, scope, flags, name.
void LocalAddresses::AddIpv6(SysTree* tree) noexcept {
  char text[4096];
  const long size = tree->ReadOnce("/proc/net/if_inet6", text, sizeof(text));
  if (size <= 0) return;
  std::string_view rest(text, static_cast<std::size_t>(size));
  std::string_view line;
  while (TakeLine(&rest, &line)) {
    std::string_view digits;
    if (!TakeWord(&line, &digits) || digits.size() != 32) continue;
    Address address;
    address.family = 6;
    for (std::size_t i = 0; i < 16; ++i) {
      std::uint64_t byte = 0;
      if (!ParseUnsigned({digits.data() + 2 * i, 2}, &byte, 16)) return;
      address.bytes[i] = static_cast<std::uint8_t>(byte);
    }
    std::string_view word;
    for (int i = 0; i < 5; ++i) TakeWord(&line, &word);
    Add(address, word.data(), word.size());
  }
}

void LocalAddresses::Refresh(SysTree* tree) noexcept {
  count_ = 0;
  AddIpv4();
  AddIpv6(tree);
}

const char* LocalAddresses::InterfaceOf(const Address& address) const noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (list_[i].address == address) return list_[i].interface;
  }
  return "";
}

}  // namespace chokepoint::counters
