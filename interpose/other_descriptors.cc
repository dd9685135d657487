// Descriptors that are no files: entered as such when they are made, so that their reads cost one
// comparison. Must not record.
#include "interpose/fd_table.h"
#include "interpose/guard.h"
#include "interpose/real.h"

namespace chokepoint::interpose {

namespace {

int Ignore(int fd) {
  if (fd >= 0 && chokepoint_vforked == 0) SetDescriptor(fd, kIgnoredFile, 0, kUnknownPosition);
  return fd;
}

int IgnorePair(int result, const int* pair) {
  if (result == 0) {
    Ignore(pair[0]);
    Ignore(pair[1]);
  }
  return result;
}

}  // namespace

DEFINE_HOOK(int, socket, (int domain, int type, int protocol)) {
  return Ignore(REAL(socket)(domain, type, protocol));
}
DEFINE_HOOK(int, socketpair, (int domain, int type, int protocol, int* out)) {
  return IgnorePair(REAL(socketpair)(domain, type, protocol, out), out);
}
DEFINE_HOOK(int, pipe, (int* out)) { return IgnorePair(REAL(pipe)(out), out); }
DEFINE_HOOK(int, pipe2, (int* out, int flags)) { return IgnorePair(REAL(pipe2)(out, flags), out); }
DEFINE_HOOK(int, eventfd, (unsigned count, int flags)) {
  return Ignore(REAL(eventfd)(count, flags));
}
DEFINE_HOOK(int, epoll_create, (int size)) { return Ignore(REAL(epoll_create)(size)); }
DEFINE_HOOK(int, epoll_create1, (int flags)) { return Ignore(REAL(epoll_create1)(flags)); }
DEFINE_HOOK(int, timerfd_create, (int clock, int flags)) {
  return Ignore(REAL(timerfd_create)(clock, flags));
}
DEFINE_HOOK(int, signalfd, (int fd, const void* mask, int flags)) {
  return Ignore(REAL(signalfd)(fd, mask, flags));
}
DEFINE_HOOK(int, inotify_init, ()) { return Ignore(REAL(inotify_init)()); }
DEFINE_HOOK(int, inotify_init1, (int flags)) { return Ignore(REAL(inotify_init1)(flags)); }

}  // namespace chokepoint::interpose
