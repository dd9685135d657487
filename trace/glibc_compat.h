// Thread creation that links against glibc 2.28 as well as 2.36: old symbol versions, and weak
// where libpthread may be absent. Must not be included where a sanitizer should see the call: it is
// left out of the way there.
#pragma once

#include <pthread.h>

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHOKEPOINT_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define CHOKEPOINT_SANITIZED 1
#endif

#if !defined(CHOKEPOINT_SANITIZED)
#if defined(__x86_64__)
#define CHOKEPOINT_OLDEST_GLIBC "GLIBC_2.2.5"
#else
#define CHOKEPOINT_OLDEST_GLIBC "GLIBC_2.17"
#endif
// why: glibc 2.34 moved libpthread into libc under a new version; the old one is still there, and
// is all that 2.28 has.
extern "C" {
int chokepoint_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)
    __attribute__((weak));
int chokepoint_pthread_attr_setstacksize(pthread_attr_t*, size_t) __attribute__((weak));
}
__asm__(".symver chokepoint_pthread_create,pthread_create@" CHOKEPOINT_OLDEST_GLIBC);
__asm__(
    ".symver "
    "chokepoint_pthread_attr_setstacksize,pthread_attr_setstacksize@" CHOKEPOINT_OLDEST_GLIBC);
#else
#define chokepoint_pthread_create pthread_create
#define chokepoint_pthread_attr_setstacksize pthread_attr_setstacksize
#endif

namespace chokepoint::trace::compat {

// False in a process that has not loaded libpthread (glibc before 2.34 only).
inline bool HasThreads() noexcept {
#if defined(CHOKEPOINT_SANITIZED)
  return true;
#else
  return chokepoint_pthread_create != nullptr;
#endif
}

inline bool CreateDetachedThread(std::size_t stack_bytes, void* (*run)(void*)) noexcept {
  pthread_attr_t attributes;
  pthread_t thread;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
#if !defined(CHOKEPOINT_SANITIZED)
  if (chokepoint_pthread_attr_setstacksize != nullptr)
#endif
    chokepoint_pthread_attr_setstacksize(&attributes, stack_bytes);
  int result = chokepoint_pthread_create(&thread, &attributes, run, nullptr);
  if (result != 0) {
    // why: a program with much thread-local storage needs more stack than we ask for; the default
    // has room for it.
    pthread_attr_destroy(&attributes);
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    result = chokepoint_pthread_create(&thread, &attributes, run, nullptr);
  }
  pthread_attr_destroy(&attributes);
  return result == 0;
}

}  // namespace chokepoint::trace::compat
