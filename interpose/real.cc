// Finds the functions that stand behind ours.
// Must not allocate, and must work before any constructor has run.
#include "interpose/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include <cstddef>
#include <cstring>

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

// Objects that may hold a late function. By name: two libraries have them.
struct Candidates {
  const char* names[8];
  int count;
};

int Collect(dl_phdr_info* object, std::size_t /*bytes*/, void* argument) {
  auto* candidates = static_cast<Candidates*>(argument);
  const char* name = object->dlpi_name;
  if (name == nullptr) return 0;
  if (std::strstr(name, "libaio") == nullptr && std::strstr(name, "liburing") == nullptr) return 0;
  if (candidates->count < 8) candidates->names[candidates->count++] = name;
  return 0;
}

void* FindInLoadedObjects(const char* function) {
  Candidates candidates{};
  dl_iterate_phdr(&Collect, &candidates);
  // why not in Collect: the loader's lock is held there, and dlopen would take another one after
  // it.
  for (int i = 0; i < candidates.count; ++i) {
    void* handle = dlopen(candidates.names[i], RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* found = dlsym(handle, function);
    dlclose(handle);
    if (found != nullptr) return found;
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
