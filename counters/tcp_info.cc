// The one system call that reads TCP_INFO.
// Must not touch errno or the socket.
#include "counters/tcp_info.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "trace/raw_io.h"

namespace chokepoint::counters {

long ReadTcpInfo(int fd, TcpInfo* out) noexcept {
  constexpr int kTcpInfoOption = 11;
  std::memset(out, 0, sizeof(*out));
  socklen_t bytes = sizeof(*out);
  const long result =
      trace::raw::Call(SYS_getsockopt, fd, IPPROTO_TCP, kTcpInfoOption, trace::raw::Word(out),
                       trace::raw::Word(static_cast<void*>(&bytes)));
  return result < 0 ? result : static_cast<long>(bytes);
}

}  // namespace chokepoint::counters
