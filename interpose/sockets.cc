// connect, accept and getaddrinfo: who this process talks to, by address and by the name that it
// asked for. Must not look at the data of a socket.
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "interpose/connections.h"
#include "interpose/process_state.h"
#include "interpose/real.h"
#include "interpose/record.h"
#include "interpose/text_arena.h"
#include "trace/raw_io.h"
#include "trace/recorder.h"

namespace chokepoint::interpose {

namespace {

namespace raw = trace::raw;

// The names that were looked up last, by address. Also in dormant processes: the connection may be
// what wakes them.
struct Known {
  std::atomic<std::uint32_t> version;  // odd while it is written
  std::uint8_t address[16];
  char name[112];
};
constexpr std::size_t kKnown = 64;
Known g_known[kKnown];
std::atomic<std::uint32_t> g_next_known{0};
std::atomic<std::uint64_t> g_next_cookie{1};

struct Endpoint {
  std::uint8_t address[16];
  std::uint16_t port;
  std::uint8_t family;
};

// False for what is neither IPv4 nor IPv6.
bool EndpointOf(const sockaddr* address, Endpoint* out) {
  *out = Endpoint{};
  if (address == nullptr) return false;
  out->family = static_cast<std::uint8_t>(address->sa_family);
  if (address->sa_family == AF_INET) {
    sockaddr_in v4;
    memcpy(&v4, address, sizeof(v4));
    out->address[10] = out->address[11] = 0xff;
    memcpy(out->address + 12, &v4.sin_addr, 4);
    out->port = ntohs(v4.sin_port);
    return true;
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6;
    memcpy(&v6, address, sizeof(v6));
    memcpy(out->address, &v6.sin6_addr, 16);
    out->port = ntohs(v6.sin6_port);
    return true;
  }
  return false;
}

void Remember(const addrinfo* list, const char* name) {
  int entries = 0;
  for (const addrinfo* entry = list; entry != nullptr && entries < 16;
       entry = entry->ai_next, ++entries) {
    Endpoint endpoint;
    if (!EndpointOf(entry->ai_addr, &endpoint)) continue;
    Known& known = g_known[g_next_known.fetch_add(1, std::memory_order_relaxed) % kKnown];
    const std::uint32_t version = known.version.fetch_add(1, std::memory_order_acquire);
    if ((version & 1) != 0) {
      known.version.fetch_sub(1, std::memory_order_release);
      continue;
    }
    memcpy(known.address, endpoint.address, 16);
    strncpy(known.name, name, sizeof(known.name) - 1);
    known.version.fetch_add(1, std::memory_order_release);
  }
}

// False when the address was not looked up lately.
bool NameOf(const std::uint8_t (&address)[16], char (&out)[112]) {
  for (Known& known : g_known) {
    const std::uint32_t version = known.version.load(std::memory_order_acquire);
    if (version == 0 || (version & 1) != 0 || memcmp(known.address, address, 16) != 0) continue;
    memcpy(out, known.name, sizeof(out));
    std::atomic_thread_fence(std::memory_order_acquire);
    if (known.version.load(std::memory_order_relaxed) == version) return out[0] != '\0';
  }
  return false;
}

void EmitConnection(int fd, std::uint8_t kind, const Endpoint& peer, std::uint64_t start,
                    std::uint64_t end, int error) {
  ThreadState* state = UseThreadState();
  if (state == nullptr || !WithinBudget(state, end)) return;
  Bypass bypass;
  trace::Connection record;
  record.call = kind;
  record.family = peer.family;
  record.descriptor = fd;
  record.start_ticks = start;
  record.end_after_ticks = static_cast<float>(end - start);
  record.error = static_cast<std::uint16_t>(error);
  record.peer_port = peer.port;
  memcpy(record.peer_address, peer.address, 16);
  sockaddr_storage local{};
  socklen_t bytes = sizeof(local);
  Endpoint own;
  if (raw::Call(SYS_getsockname, fd, raw::Word(static_cast<void*>(&local)),
                raw::Word(static_cast<void*>(&bytes))) == 0 &&
      EndpointOf(reinterpret_cast<sockaddr*>(&local), &own)) {
    record.local_port = own.port;
    memcpy(record.local_address, own.address, 16);
  }
  char name[112];
  if (NameOf(peer.address, name)) record.name = trace::InternName(name);
  record.cookie = g_next_cookie.fetch_add(1, std::memory_order_relaxed);
  if (error == 0 || error == EINPROGRESS) {
    SetDescriptor(fd, kIgnoredFile, kDescriptorConnection,
                  static_cast<std::int64_t>(record.cookie));
  }
  EmitGuarded(state, record);
}

// Begins and ends a call on a socket; `peer` is filled by the caller when the call has succeeded.
void NoteConnection(int fd, std::uint8_t kind, const sockaddr* peer, std::uint64_t start,
                    int error) {
  const int saved_errno = errno;
  Endpoint endpoint;
  if (EndpointOf(peer, &endpoint) && ActivateForNccl()) {
    EmitConnection(fd, kind, endpoint, start, trace::NowTicks(), error);
  }
  errno = saved_errno;
}

constexpr std::uint8_t kConnect = 1;
constexpr std::uint8_t kAccept = 2;

template <class Real>
int Accept(const Real& real) {
  if (!Watching() || MustForward()) return real();
  const std::uint64_t start = trace::NowTicks();
  const int fd = real();
  if (fd < 0) return fd;
  SetDescriptor(fd, kIgnoredFile, 0, kUnknownPosition);
  sockaddr_storage peer{};
  socklen_t bytes = sizeof(peer);
  if (raw::Call(SYS_getpeername, fd, raw::Word(static_cast<void*>(&peer)),
                raw::Word(static_cast<void*>(&bytes))) == 0) {
    NoteConnection(fd, kAccept, reinterpret_cast<sockaddr*>(&peer), start, 0);
  }
  return fd;
}

}  // namespace

void EndConnection(int fd, Descriptor* descriptor) {
  const auto cookie =
      static_cast<std::uint64_t>(descriptor->position.load(std::memory_order_relaxed));
  ThreadState* state = Active() ? UseThreadState() : nullptr;
  if (state == nullptr) return;
  tcp_info totals{};
  socklen_t bytes = sizeof(totals);
  if (raw::Call(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, raw::Word(static_cast<void*>(&totals)),
                raw::Word(static_cast<void*>(&bytes))) != 0) {
    return;
  }
  trace::ConnectionEnd record;
  record.descriptor = fd;
  record.cookie = cookie;
  record.ticks = trace::NowTicks();
  record.round_trip_us = totals.tcpi_rtt;
  record.retransmits = totals.tcpi_total_retrans;
  // The fields below came with kernel 4.1; glibc's struct ends before them.
  constexpr std::size_t kAckedOffset = 120;
  std::uint8_t longer[136] = {};
  bytes = sizeof(longer);
  if (raw::Call(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, raw::Word(static_cast<void*>(longer)),
                raw::Word(static_cast<void*>(&bytes))) == 0 &&
      bytes >= sizeof(longer)) {
    memcpy(&record.acked_bytes, longer + kAckedOffset, 8);
    memcpy(&record.received_bytes, longer + kAckedOffset + 8, 8);
  }
  EmitGuarded(state, record);
}

DEFINE_HOOK(int, connect, (int fd, const sockaddr* address, socklen_t bytes)) {
  if (!Watching() || MustForward()) return REAL(connect)(fd, address, bytes);
  const std::uint64_t start = trace::NowTicks();
  const int result = REAL(connect)(fd, address, bytes);
  NoteConnection(fd, kConnect, bytes >= sizeof(sockaddr_in) ? address : nullptr, start,
                 result == 0 ? 0 : errno);
  return result;
}

DEFINE_HOOK(int, accept, (int fd, sockaddr* address, socklen_t* bytes)) {
  return Accept([&] { return REAL(accept)(fd, address, bytes); });
}

DEFINE_HOOK(int, accept4, (int fd, sockaddr* address, socklen_t* bytes, int flags)) {
  return Accept([&] { return REAL(accept4)(fd, address, bytes, flags); });
}

DEFINE_HOOK(int, getaddrinfo,
            (const char* node, const char* service, const addrinfo* hints, addrinfo** out)) {
  if (node == nullptr || !Watching() || MustForward())
    return REAL(getaddrinfo)(node, service, hints, out);
  const std::uint64_t start = trace::NowTicks();
  const int result = REAL(getaddrinfo)(node, service, hints, out);
  const int saved_errno = errno;
  if (result == 0 && out != nullptr) Remember(*out, node);
  ThreadState* state = Active() ? UseThreadState() : nullptr;
  if (state != nullptr) {
    trace::NameLookup record;
    record.result = result;
    record.start_ticks = start;
    record.end_after_ticks = static_cast<float>(trace::NowTicks() - start);
    record.name = trace::InternName(node);
    EmitGuarded(state, record);
  }
  errno = saved_errno;
  return result;
}

}  // namespace chokepoint::interpose
