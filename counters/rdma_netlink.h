// Asks the kernel's RDMA core by netlink: devices, hardware counters of a port, and the ports that
// this process's queue pairs use. Must not change any setting, nor wait: the kernel answers within
// the call or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace chokepoint::counters {

// How requests go out and answers come in: a socket, or recorded messages in tests.
struct NetlinkChannel {
  // Bytes sent or received, or -errno. `receive` gives one datagram; 0 when there is none.
  long (*send)(const void* message, std::size_t bytes, void* argument) noexcept = nullptr;
  long (*receive)(void* buffer, std::size_t bytes, void* argument) noexcept = nullptr;
  void* argument = nullptr;
};

class RdmaNetlink {
 public:
  // Opens the socket. -errno when this kernel has none (EPROTONOSUPPORT), or none may be had.
  long Open() noexcept;
  void OpenWith(const NetlinkChannel& channel) noexcept { channel_ = channel; }
  bool is_open() const noexcept { return channel_.send != nullptr; }
  void Close() noexcept;

  // Each device: its index and name. Returns the number, or -errno.
  using OnDevice = void (*)(std::uint32_t index, std::string_view name, void* argument) noexcept;
  long Devices(OnDevice on_device, void* argument) noexcept;
  // Each hardware counter of a port, in one answer. Returns the number, or -errno.
  using OnCounter = void (*)(std::string_view name, std::uint64_t value, void* argument) noexcept;
  long Counters(std::uint32_t device, std::uint32_t port, OnCounter on_counter,
                void* argument) noexcept;
  // Each queue pair of process `pid` on a device: its port. Costs a firmware command per queue pair
  // of the whole device: once after communicators were made, never periodically. Returns the number
  // of the process's queue pairs, or -errno.
  using OnQueuePair = void (*)(std::uint32_t port, void* argument) noexcept;
  long QueuePairs(std::uint32_t device, std::uint32_t pid, OnQueuePair on_queue_pair,
                  void* argument) noexcept;

 private:
  template <class OnMessage>
  long Exchange(class NetlinkRequest* request, bool is_dump, const OnMessage& on_message) noexcept;

  NetlinkChannel channel_;
  int fd_ = -1;
  alignas(8) std::byte buffer_[32 * 1024];
};

}  // namespace chokepoint::counters
