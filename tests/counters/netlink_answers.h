// A kernel that answers RDMA netlink requests with messages that a test has composed, and remembers
// what it was asked. Must not share code with the parser under test.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "counters/rdma_netlink.h"

namespace chokepoint::tests {

class NetlinkAnswers {
 public:
  using Bytes = std::vector<std::byte>;
  struct Request {
    std::uint16_t type = 0;
    std::uint16_t flags = 0;
    std::map<std::uint16_t, std::uint32_t> attributes;
  };
  struct QueuePair {
    std::uint32_t port = 0;
    std::uint32_t pid = 0;
  };

  counters::NetlinkChannel channel() {
    return {.send = &Send, .receive = &Receive, .argument = this};
  }
  const std::vector<Request>& requests() const { return requests_; }

  // The answer to requests of `type`: messages with these payloads; a dump ends with NLMSG_DONE.
  void Answer(std::uint16_t type, const std::vector<Bytes>& payloads, bool dump) {
    Bytes all;
    for (const Bytes& payload : payloads) Append(&all, Message(type, payload));
    std::deque<Bytes> datagrams{all};
    if (dump) datagrams.push_back(Message(NLMSG_DONE, Number<std::int32_t>(0)));
    answers_[type] = datagrams;
  }
  void AnswerRaw(std::uint16_t type, const Bytes& payload) {
    answers_[type] = std::deque<Bytes>{Message(type, payload)};
  }
  void Refuse(std::uint16_t type, std::int32_t error) {
    answers_[type] = std::deque<Bytes>{Message(NLMSG_ERROR, Number(error))};
  }

  static Bytes Device(std::uint32_t index, const std::string& name) {
    Bytes payload = Attribute(1, Number(index));
    Append(&payload, Attribute(2, Text(name)));
    return payload;
  }
  static Bytes Counters(const std::vector<std::pair<std::string, std::uint64_t>>& counters) {
    Bytes entries;
    for (const auto& [name, value] : counters) {
      Bytes entry = Attribute(82, Text(name));
      Append(&entry, Attribute(83, Number(value)));
      Append(&entries, Attribute(81 | NLA_F_NESTED, entry));
    }
    Bytes payload = Attribute(1, Number<std::uint32_t>(3));
    Append(&payload, Attribute(80 | NLA_F_NESTED, entries));
    return payload;
  }
  static Bytes QueuePairs(const std::vector<QueuePair>& queue_pairs) {
    Bytes entries;
    for (const QueuePair& queue_pair : queue_pairs) {
      Bytes entry = Attribute(3, Number(queue_pair.port));
      Append(&entry, Attribute(21, Number<std::uint32_t>(77)));
      Append(&entry, Attribute(28, Number(queue_pair.pid)));
      Append(&entries, Attribute(20 | NLA_F_NESTED, entry));
    }
    return Attribute(19 | NLA_F_NESTED, entries);
  }

 private:
  template <class T>
  static Bytes Number(T value) {
    Bytes bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    return bytes;
  }
  static Bytes Text(const std::string& text) {
    Bytes bytes(text.size() + 1);
    std::memcpy(bytes.data(), text.c_str(), text.size() + 1);
    return bytes;
  }
  static void Append(Bytes* to, const Bytes& bytes) {
    to->insert(to->end(), bytes.begin(), bytes.end());
  }
  static Bytes Attribute(int type, const Bytes& payload) {
    Bytes bytes = Number(static_cast<std::uint16_t>(payload.size() + 4));
    Append(&bytes, Number(static_cast<std::uint16_t>(type)));
    Append(&bytes, payload);
    bytes.resize((bytes.size() + 3) / 4 * 4);
    return bytes;
  }
  static Bytes Message(std::uint16_t type, const Bytes& payload) {
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(sizeof(header) + payload.size());
    header.nlmsg_type = type;
    Bytes bytes = Number(header);
    Append(&bytes, payload);
    bytes.resize((bytes.size() + 3) / 4 * 4);
    return bytes;
  }

  static long Send(const void* message, std::size_t bytes, void* self) noexcept {
    auto* answers = static_cast<NetlinkAnswers*>(self);
    nlmsghdr header;
    std::memcpy(&header, message, sizeof(header));
    Request request{header.nlmsg_type, header.nlmsg_flags, {}};
    for (std::size_t at = sizeof(header); at + 8 <= bytes; at += 8) {
      std::uint16_t type = 0;
      std::uint32_t value = 0;
      std::memcpy(&type, static_cast<const char*>(message) + at + 2, sizeof(type));
      std::memcpy(&value, static_cast<const char*>(message) + at + 4, sizeof(value));
      request.attributes[type] = value;
    }
    answers->requests_.push_back(request);
    answers->pending_ = answers->answers_[header.nlmsg_type];
    return static_cast<long>(bytes);
  }
  static long Receive(void* buffer, std::size_t bytes, void* self) noexcept {
    auto* answers = static_cast<NetlinkAnswers*>(self);
    if (answers->pending_.empty()) return 0;
    const Bytes datagram = answers->pending_.front();
    answers->pending_.pop_front();
    const std::size_t size = datagram.size() < bytes ? datagram.size() : bytes;
    std::memcpy(buffer, datagram.data(), size);
    return static_cast<long>(size);
  }

  std::map<std::uint16_t, std::deque<Bytes>> answers_;
  std::deque<Bytes> pending_;
  std::vector<Request> requests_;
};

}  // namespace chokepoint::tests
