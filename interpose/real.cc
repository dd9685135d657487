// Finds the functions that stand behind ours.
// Must not allocate, and must work before any constructor has run.
#include "interpose/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

namespace chokepoint::interpose {

extern "C" {
RealCalls chokepoint_real;
}

namespace {

// Stands for functions that are not there. Same answer as a kernel without the call.
long Missing() {
  errno = ENOSYS;
  return -1;
}

void* FindInLoadedObjects(const char* name) {
  Dl_info own{};
  dladdr(reinterpret_cast<void*>(&FindInLoadedObjects), &own);
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
    if (map->l_name == nullptr || map->l_name[0] == '\0') continue;
    void* handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* found = dlsym(handle, name);
    dlclose(handle);
    Dl_info info{};
    if (found != nullptr && dladdr(found, &info) != 0 && info.dli_fbase != own.dli_fbase) {
      return found;
    }
  }
  return nullptr;
}

void* Next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  return found != nullptr ? found : reinterpret_cast<void*>(&Missing);
}

}  // namespace

void ResolveReal() {
  const int saved_errno = errno;
#define HOOK(result, name, parameters) \
  chokepoint_real.name = reinterpret_cast<decltype(chokepoint_real.name)>(Next(#name));
#define LATE(result, name, parameters)
#define ALIAS(name, target)
#define THUNK(name) HOOK(long, name, ())
#include "interpose/hooks.def"
#undef HOOK
#undef LATE
#undef ALIAS
#undef THUNK
  errno = saved_errno;
}

void* FindLate(const char* name) {
  const int saved_errno = errno;
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) found = FindInLoadedObjects(name);
  errno = saved_errno;
  return found != nullptr ? found : reinterpret_cast<void*>(&Missing);
}

}  // namespace chokepoint::interpose
