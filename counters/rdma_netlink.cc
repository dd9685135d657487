// The requests and the attributes of the answers. Numbers are the kernel's user interface
// (rdma_netlink.h of 5.4 and later). Must not use the system's header: distributions ship one that
// is too old.
#include "counters/rdma_netlink.h"

#include <sys/socket.h>

#include <cerrno>

#include "counters/netlink_message.h"
#include "trace/raw_io.h"

namespace chokepoint::counters {

namespace raw = trace::raw;

namespace {

constexpr int kNetlinkRdma = 20;
constexpr std::uint16_t TypeOf(std::uint16_t command) noexcept {
  constexpr std::uint16_t kClientNldev = 5;
  return static_cast<std::uint16_t>(kClientNldev << 10 | command);
}
constexpr std::uint16_t kGet = TypeOf(1), kResourceQpGet = TypeOf(10), kStatGet = TypeOf(17);

enum Attribute : std::uint16_t {
  kDevIndex = 1,
  kDevName = 2,
  kPortIndex = 3,
  kResQp = 19,
  kResQpEntry = 20,
  kResPid = 28,
  kHwCounters = 80,
  kHwCounterEntry = 81,
  kHwCounterName = 82,
  kHwCounterValue = 83,
};

template <class OnAttribute>
void ForEachAttribute(const std::byte* data, std::size_t bytes,
                      const OnAttribute& on_attribute) noexcept {
  NetlinkAttribute attribute;
  while (NextAttribute(&data, &bytes, &attribute)) on_attribute(attribute);
}

long SendToKernel(const void* message, std::size_t bytes, void* argument) noexcept {
  return raw::Call(SYS_sendto, static_cast<long>(*static_cast<int*>(argument)), raw::Word(message),
                   raw::Word(bytes), MSG_NOSIGNAL, 0, 0);
}

long ReceiveFromKernel(void* buffer, std::size_t bytes, void* argument) noexcept {
  const long got =
      raw::Call(SYS_recvfrom, static_cast<long>(*static_cast<int*>(argument)),
                raw::Word(static_cast<const void*>(buffer)), raw::Word(bytes), MSG_DONTWAIT, 0, 0);
  return got == -EAGAIN ? 0 : got;
}

}  // namespace

long RdmaNetlink::Open() noexcept {
  const long fd =
      raw::Call(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, kNetlinkRdma);
  if (fd < 0) return fd;
  fd_ = raw::MoveDescriptorUp(static_cast<int>(fd));
  if (fd_ < 0) return -EMFILE;
  channel_ = {.send = SendToKernel, .receive = ReceiveFromKernel, .argument = &fd_};
  return 0;
}

void RdmaNetlink::Close() noexcept {
  struct stat status;
  // why: a program that closes all descriptors may have opened a file under this number.
  if (fd_ >= 0 && raw::FStat(fd_, &status) >= 0 && S_ISSOCK(status.st_mode)) raw::Close(fd_);
  fd_ = -1;
  channel_ = {};
}

// Calls on_message for each message that is no error. Returns 0 or -errno.
template <class OnMessage>
long RdmaNetlink::Exchange(NetlinkRequest* request, bool is_dump,
                           const OnMessage& on_message) noexcept {
  if (!is_open()) return -ENOTCONN;
  long got = 0;
  while ((got = channel_.receive(buffer_, sizeof(buffer_), channel_.argument)) > 0) {
    // an answer to an earlier question that was given up
  }
  const long sent = channel_.send(request->data(), request->size(), channel_.argument);
  if (sent < 0) return sent;
  while ((got = channel_.receive(buffer_, sizeof(buffer_), channel_.argument)) > 0) {
    const std::byte* data = buffer_;
    std::size_t left = static_cast<std::size_t>(got);
    NetlinkMessage message;
    while (NextMessage(&data, &left, &message)) {
      if (message.type == NLMSG_ERROR) return message.Error();
      if (message.type == NLMSG_DONE) return 0;
      on_message(message);
    }
    if (!is_dump) return 0;
  }
  return got;
}

long RdmaNetlink::Devices(OnDevice on_device, void* argument) noexcept {
  NetlinkRequest request(kGet, NLM_F_REQUEST | NLM_F_DUMP);
  long count = 0;
  const long result = Exchange(&request, true, [&](const NetlinkMessage& message) {
    std::uint32_t index = 0;
    std::string_view name;
    ForEachAttribute(message.data, message.bytes, [&](const NetlinkAttribute& attribute) {
      if (attribute.type == kDevIndex) index = attribute.U32();
      if (attribute.type == kDevName) name = attribute.Text();
    });
    if (name.empty()) return;
    on_device(index, name, argument);
    ++count;
  });
  return result < 0 ? result : count;
}

long RdmaNetlink::Counters(std::uint32_t device, std::uint32_t port, OnCounter on_counter,
                           void* argument) noexcept {
  NetlinkRequest request(kStatGet, NLM_F_REQUEST);
  request.AddU32(kDevIndex, device);
  request.AddU32(kPortIndex, port);
  long count = 0;
  const auto on_entry = [&](const NetlinkAttribute& entry) {
    std::string_view name;
    std::uint64_t value = 0;
    bool has_value = false;
    ForEachAttribute(entry.data, entry.bytes, [&](const NetlinkAttribute& part) {
      if (part.type == kHwCounterName) name = part.Text();
      if (part.type == kHwCounterValue && part.bytes == sizeof(value)) {
        value = part.U64();
        has_value = true;
      }
    });
    if (name.empty() || !has_value) return;
    on_counter(name, value, argument);
    ++count;
  };
  const long result = Exchange(&request, false, [&](const NetlinkMessage& message) {
    ForEachAttribute(message.data, message.bytes, [&](const NetlinkAttribute& attribute) {
      if (attribute.type != kHwCounters) return;
      ForEachAttribute(attribute.data, attribute.bytes, [&](const NetlinkAttribute& entry) {
        if (entry.type == kHwCounterEntry) on_entry(entry);
      });
    });
  });
  return result < 0 ? result : count;
}

long RdmaNetlink::QueuePairs(std::uint32_t device, std::uint32_t pid, OnQueuePair on_queue_pair,
                             void* argument) noexcept {
  NetlinkRequest request(kResourceQpGet, NLM_F_REQUEST | NLM_F_DUMP);
  request.AddU32(kDevIndex, device);
  long count = 0;
  const auto on_entry = [&](const NetlinkAttribute& entry) {
    std::uint32_t port = 0;
    std::uint32_t owner = 0;
    ForEachAttribute(entry.data, entry.bytes, [&](const NetlinkAttribute& part) {
      if (part.type == kPortIndex) port = part.U32();
      if (part.type == kResPid) owner = part.U32();
    });
    if (owner != pid || port == 0) return;
    on_queue_pair(port, argument);
    ++count;
  };
  const long result = Exchange(&request, true, [&](const NetlinkMessage& message) {
    ForEachAttribute(message.data, message.bytes, [&](const NetlinkAttribute& attribute) {
      if (attribute.type != kResQp) return;
      ForEachAttribute(attribute.data, attribute.bytes, [&](const NetlinkAttribute& entry) {
        if (entry.type == kResQpEntry) on_entry(entry);
      });
    });
  });
  return result < 0 ? result : count;
}

}  // namespace chokepoint::counters
