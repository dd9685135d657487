// Two network namespaces with a cable between them, and TCP connections through it: a network that
// tests may break. Must not touch the namespaces of the machine. Needs root; Reason() says why it
// cannot be had.
#pragma once

#include <cstdint>
#include <string>

namespace chokepoint::tests {

// Runs a command line; its output, or "" with `*status` set.
std::string RunCommand(const std::string& command, int* status = nullptr);

class NetworkPair {
 public:
  NetworkPair();
  ~NetworkPair();
  NetworkPair(const NetworkPair&) = delete;
  NetworkPair& operator=(const NetworkPair&) = delete;

  // "" when the network stands; else the reason to skip.
  const std::string& Reason() const { return reason_; }

  // The namespaces: `near` has 10.77.0.1, `far` has 10.77.0.2.
  const std::string& near() const { return near_; }
  const std::string& far() const { return far_; }
  std::string NearCommand(const std::string& command) const {
    return "ip netns exec " + near_ + " " + command;
  }
  std::string FarCommand(const std::string& command) const {
    return "ip netns exec " + far_ + " " + command;
  }
  // One packet in `one_in` that arrives at `far` is lost.
  void LoseAtFar(int one_in);
  void LoseNothing();
  // `near` sends at most so many Mbit/s.
  void ShapeNear(int mbit);

 private:
  void Build();
  std::string near_, far_, reason_;
};

// A socket made in a namespace by a thread that enters it; the calling thread stays where it is.
struct Connection {
  int client = -1;  // in the first namespace
  int server = -1;  // in the second
};
// `near_namespace`, `far_namespace`: names, or "" for the namespace of the test itself (loopback).
Connection Connect(const std::string& near_namespace, const std::string& far_namespace,
                   const char* congestion_control = nullptr);
void Close(Connection* connection);

// Sends `bytes` from client to server, reading as fast as they come. False when a socket failed.
bool Transfer(const Connection& connection, std::uint64_t bytes);

}  // namespace chokepoint::tests
