// What a thread must know before it may record: whether it is in a vfork child, or inside our own
// code. Must not grow: it lives in static thread-local storage of every thread of every process of
// the job.
#pragma once

#include <errno.h>

#include <cstdint>

namespace chokepoint::interpose {

struct ThreadState;

#define CHOKEPOINT_TLS __attribute__((tls_model("initial-exec"), visibility("hidden")))
extern "C" constinit thread_local std::uint32_t chokepoint_vforked
    CHOKEPOINT_TLS;  // set by thunks.cc: in a vfork child
extern constinit thread_local std::uint32_t t_bypass
    CHOKEPOINT_TLS;  // depth inside our own code, or a library below a hook
extern constinit thread_local ThreadState* t_state
    CHOKEPOINT_TLS;  // null until this thread records
#undef CHOKEPOINT_TLS

// True when hooks must only forward.
inline bool MustForward() { return (chokepoint_vforked | t_bypass) != 0; }

// While it lives, hooks of this thread only forward, and errno is given back at the end.
class Bypass {
 public:
  Bypass() : errno_(errno) { ++t_bypass; }
  ~Bypass() {
    --t_bypass;
    errno = errno_;
  }
  Bypass(const Bypass&) = delete;
  Bypass& operator=(const Bypass&) = delete;

 private:
  int errno_;
};

}  // namespace chokepoint::interpose
