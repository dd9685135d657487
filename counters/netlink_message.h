// Builds and takes apart netlink messages in memory that the caller owns.
// Must not trust a length in them: every step is checked against what is left.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace chokepoint::counters {

class NetlinkRequest {
 public:
  NetlinkRequest(std::uint16_t type, std::uint16_t flags) noexcept {
    header_.nlmsg_type = type;
    header_.nlmsg_flags = flags;
    header_.nlmsg_seq = 1;
    size_ = sizeof(nlmsghdr);
  }
  void AddU32(std::uint16_t attribute, std::uint32_t value) noexcept {
    nlattr head{static_cast<std::uint16_t>(sizeof(nlattr) + sizeof(value)), attribute};
    if (size_ + sizeof(head) + sizeof(value) > sizeof(bytes_)) return;
    std::memcpy(bytes_ + size_, &head, sizeof(head));
    std::memcpy(bytes_ + size_ + sizeof(head), &value, sizeof(value));
    size_ += sizeof(head) + sizeof(value);
  }
  const void* data() noexcept {
    header_.nlmsg_len = static_cast<std::uint32_t>(size_);
    std::memcpy(bytes_, &header_, sizeof(header_));
    return bytes_;
  }
  std::size_t size() const noexcept { return size_; }

 private:
  nlmsghdr header_{};
  std::size_t size_ = 0;
  alignas(8) std::byte bytes_[128] = {};
};

// One attribute: its number without the nesting bits, and its payload.
struct NetlinkAttribute {
  std::uint16_t type = 0;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;

  std::uint32_t U32() const noexcept { return static_cast<std::uint32_t>(Number(4)); }
  std::uint64_t U64() const noexcept { return Number(8); }
  std::string_view Text() const noexcept {
    const auto* text = reinterpret_cast<const char*>(data);
    return {text, strnlen(text, bytes)};
  }

 private:
  std::uint64_t Number(std::size_t most) const noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, data, bytes < most ? bytes : most);
    return value;
  }
};

// Takes the next attribute off `data`. False at the end or at the first one that does not fit.
inline bool NextAttribute(const std::byte** data, std::size_t* bytes,
                          NetlinkAttribute* out) noexcept {
  nlattr head;
  if (*bytes < sizeof(head)) return false;
  std::memcpy(&head, *data, sizeof(head));
  if (head.nla_len < sizeof(head) || head.nla_len > *bytes) return false;
  out->type = head.nla_type & NLA_TYPE_MASK;
  out->data = *data + sizeof(head);
  out->bytes = head.nla_len - sizeof(head);
  const std::size_t aligned = (head.nla_len + 3u) & ~std::size_t{3};
  const std::size_t step = aligned < *bytes ? aligned : *bytes;
  *data += step;
  *bytes -= step;
  return true;
}

// One message of an answer.
struct NetlinkMessage {
  std::uint16_t type = 0;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;

  // The error of an NLMSG_ERROR or NLMSG_DONE message: 0 or -errno.
  int Error() const noexcept {
    std::int32_t error = 0;
    if (bytes >= sizeof(error)) std::memcpy(&error, data, sizeof(error));
    return error;
  }
};

inline bool NextMessage(const std::byte** data, std::size_t* bytes, NetlinkMessage* out) noexcept {
  nlmsghdr head;
  if (*bytes < sizeof(head)) return false;
  std::memcpy(&head, *data, sizeof(head));
  if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > *bytes) return false;
  out->type = head.nlmsg_type;
  out->data = *data + sizeof(head);
  out->bytes = head.nlmsg_len - sizeof(head);
  const std::size_t aligned = (head.nlmsg_len + 3u) & ~std::size_t{3};
  const std::size_t step = aligned < *bytes ? aligned : *bytes;
  *data += step;
  *bytes -= step;
  return true;
}

}  // namespace chokepoint::counters
