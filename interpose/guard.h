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
extern constinit thread_local std::uintptr_t t_bypass_stack
    CHOKEPOINT_TLS;  // stack pointer of who set it first
#undef CHOKEPOINT_TLS

inline std::uintptr_t StackPointer() {
  std::uintptr_t pointer;
#if defined(__x86_64__)
  __asm__("mov %%rsp, %0" : "=r"(pointer));
#else
  __asm__("mov %0, sp" : "=r"(pointer));
#endif
  return pointer;
}

// True when the code that noted `stack` was left without returning: a signal handler jumped out of
// it. What it had claimed is free. why: whoever interrupts it runs below it on the stack, or on
// another stack.
bool Abandoned(std::uintptr_t stack);

// t_bypass is set: true when that still holds.
bool StillBypassed();

// True when hooks must only forward.
inline bool MustForward() {
  if (__builtin_expect((chokepoint_vforked | t_bypass) == 0, 1)) return false;
  return chokepoint_vforked != 0 || StillBypassed();
}

// While it lives, hooks of this thread only forward, and errno is given back at the end.
class Bypass {
 public:
  Bypass() : errno_(errno) {
    if (t_bypass++ == 0) t_bypass_stack = StackPointer();
  }
  ~Bypass() {
    --t_bypass;
    errno = errno_;
  }
  Bypass(const Bypass&) = delete;
  Bypass& operator=(const Bypass&) = delete;

 private:
  int errno_;
};

// For a thread that never records. For ever.
inline void BypassForGood() {
  t_bypass_stack = ~std::uintptr_t{0};
  ++t_bypass;
}

}  // namespace chokepoint::interpose
