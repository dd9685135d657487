// Builds the namespaces with ip, breaks them with nft and tc, and connects through them.
// Must not leave anything behind: the destructor deletes both namespaces and with them all that is
// in them.
#include "tests/counters/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace chokepoint::tests {

std::string RunCommand(const std::string& command, int* status) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  char buffer[4096];
  std::size_t got = 0;
  while ((got = fread(buffer, 1, sizeof(buffer), pipe)) > 0) output.append(buffer, got);
  const int result = pclose(pipe);
  if (status != nullptr) *status = result;
  return output;
}

namespace {

void InNamespace(const std::string& name, const std::function<void()>& work) {
  std::thread([&] {
    if (!name.empty()) {
      const int fd = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
      if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) return;
      close(fd);
    }
    work();
  }).join();
}

// why: with segmentation offload one lost packet is many lost segments.
void SwitchOffloadsOff(const std::string& name, const char* interface) {
  InNamespace(name, [&] {
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (const int command : {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO}) {
      ethtool_value value{static_cast<std::uint32_t>(command), 0};
      ifreq request{};
      std::snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
      request.ifr_data = reinterpret_cast<char*>(&value);
      ioctl(fd, SIOCETHTOOL, &request);
    }
    close(fd);
  });
}

}  // namespace

NetworkPair::NetworkPair() {
  static int count = 0;
  const std::string id = std::to_string(getpid()) + "-" + std::to_string(count++);
  near_ = "cpt-near-" + id;
  far_ = "cpt-far-" + id;
  if (geteuid() != 0) {
    reason_ = "network namespaces need root";
    return;
  }
  Build();
}

void NetworkPair::Build() {
  const std::vector<std::string> commands = {
      "ip netns add " + near_,
      "ip netns add " + far_,
      "ip link add cable0 netns " + near_ + " type veth peer name cable1 netns " + far_,
      NearCommand("ip addr add 10.77.0.1/24 dev cable0"),
      FarCommand("ip addr add 10.77.0.2/24 dev cable1"),
      NearCommand("ip link set cable0 up"),
      FarCommand("ip link set cable1 up"),
      NearCommand("ip link set lo up"),
      FarCommand("ip link set lo up")};
  for (const std::string& command : commands) {
    int status = 0;
    const std::string output = RunCommand(command, &status);
    if (status != 0) {
      reason_ = "'" + command + "': " + output;
      return;
    }
  }
  SwitchOffloadsOff(near_, "cable0");
  SwitchOffloadsOff(far_, "cable1");
}

NetworkPair::~NetworkPair() {
  RunCommand("ip netns del " + near_);
  RunCommand("ip netns del " + far_);
}

void NetworkPair::LoseAtFar(int one_in) {
  int status = 0;
  const std::string output =
      RunCommand(FarCommand("nft 'table inet t { \n chain i { \n type filter hook input priority "
                            "0; \n meta l4proto tcp "
                            "numgen random mod " +
                            std::to_string(one_in) + " < 1 counter drop \n } \n }'"),
                 &status);
  if (status != 0) reason_ = "nft: " + output;
}

void NetworkPair::LoseNothing() { RunCommand(FarCommand("nft flush ruleset")); }

void NetworkPair::ShapeNear(int mbit) {
  int status = 0;
  const std::string output =
      RunCommand(NearCommand("tc qdisc add dev cable0 root tbf rate " + std::to_string(mbit) +
                             "mbit burst 128k latency 50ms"),
                 &status);
  if (status != 0) reason_ = "tc: " + output;
}

Connection Connect(const std::string& near_namespace, const std::string& far_namespace,
                   const char* congestion_control) {
  Connection connection;
  int listener = -1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(far_namespace.empty() ? INADDR_LOOPBACK : 0x0a4d0002);
  socklen_t bytes = sizeof(address);
  InNamespace(far_namespace, [&] {
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bind(listener, reinterpret_cast<sockaddr*>(&address), bytes);
    listen(listener, 1);
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &bytes);
  });
  InNamespace(near_namespace, [&] {
    connection.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (congestion_control != nullptr) {
      setsockopt(connection.client, IPPROTO_TCP, TCP_CONGESTION, congestion_control,
                 static_cast<socklen_t>(std::strlen(congestion_control)));
    }
    if (connect(connection.client, reinterpret_cast<sockaddr*>(&address), bytes) != 0) {
      close(connection.client);
      connection.client = -1;
    }
  });
  if (connection.client >= 0) connection.server = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  close(listener);
  return connection;
}

void Close(Connection* connection) {
  if (connection->client >= 0) close(connection->client);
  if (connection->server >= 0) close(connection->server);
  *connection = Connection{};
}

bool Transfer(const Connection& connection, std::uint64_t bytes) {
  std::uint64_t received = 0;
  std::thread reader([&] {
    std::vector<char> buffer(1 << 20);
    while (received < bytes) {
      const ssize_t got = recv(connection.server, buffer.data(), buffer.size(), 0);
      if (got <= 0) return;
      received += static_cast<std::uint64_t>(got);
    }
  });
  std::vector<char> data(1 << 20, 'x');
  for (std::uint64_t sent = 0; sent < bytes;) {
    const std::size_t piece = bytes - sent < data.size() ? bytes - sent : data.size();
    const ssize_t done = send(connection.client, data.data(), piece, MSG_NOSIGNAL);
    if (done <= 0) {
      shutdown(connection.client, SHUT_RDWR);
      break;
    }
    sent += static_cast<std::uint64_t>(done);
  }
  reader.join();
  return received == bytes;
}

}  // namespace chokepoint::tests
