// Finds functions in libraries that the program has loaded, or loads one, without needing libdl or
// a new glibc. Must not print, and must not unload anything: drivers do not survive it.
#pragma once

#include <dlfcn.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHOKEPOINT_SANITIZED_LOADER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define CHOKEPOINT_SANITIZED_LOADER 1
#endif

#if !defined(CHOKEPOINT_SANITIZED_LOADER)
// why: glibc 2.34 moved libdl into libc under a new version; the old one is still there, and is all
// that 2.28 has. Weak: a process of an old glibc that has not loaded libdl has no driver either.
extern "C" {
void* chokepoint_dlopen(const char*, int) __attribute__((weak));
void* chokepoint_dlsym(void*, const char*) __attribute__((weak));
}
#if defined(__x86_64__)
__asm__(".symver chokepoint_dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver chokepoint_dlsym,dlsym@GLIBC_2.2.5");
#else
__asm__(".symver chokepoint_dlopen,dlopen@GLIBC_2.17");
__asm__(".symver chokepoint_dlsym,dlsym@GLIBC_2.17");
#endif
#else
#define chokepoint_dlopen dlopen
#define chokepoint_dlsym dlsym
#endif

namespace chokepoint::counters {

class DynamicLibrary {
 public:
  // The library if the program has loaded it already.
  bool FindLoaded(const char* name) noexcept {
    return Open(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  }
  bool Load(const char* name) noexcept { return Open(name, RTLD_NOW | RTLD_LOCAL); }
  bool is_open() const noexcept { return handle_ != nullptr; }

  // null when it has no such function.
  template <class Function>
  void Find(const char* name, Function** out) const noexcept {
    *out =
        handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(chokepoint_dlsym(handle_, name));
  }

 private:
  bool Open(const char* name, int flags) noexcept {
#if !defined(CHOKEPOINT_SANITIZED_LOADER)
    if (chokepoint_dlopen == nullptr || chokepoint_dlsym == nullptr) return false;
#endif
    if (handle_ == nullptr) handle_ = chokepoint_dlopen(name, flags);
    return handle_ != nullptr;
  }

  void* handle_ = nullptr;
};

}  // namespace chokepoint::counters
