// Finds the functions that stand behind ours.
// Must not allocate, and must work before any constructor has run.
#include "interpose/real.h"

#include <errno.h>

#include <cstddef>
#include <initializer_list>

#include "interpose/elf_lookup.h"

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

void* OrMissing(void* found) {
  return found != nullptr ? found : reinterpret_cast<void*>(&Missing);
}

}  // namespace

void ResolveReal() {
  const int saved_errno = errno;
  RealCalls found{};
  const Wanted wanted[] = {
#define HOOK(result, name, parameters) {#name, reinterpret_cast<void**>(&found.name)},
#define LATE(result, name, parameters)
#define ALIAS(name, target)
#define THUNK(name) {#name, reinterpret_cast<void**>(&found.name)},
#include "interpose/hooks.def"
#undef HOOK
#undef LATE
#undef ALIAS
#undef THUNK
  };
  FindNext(wanted, sizeof(wanted) / sizeof(wanted[0]));
#define HOOK(result, name, parameters) \
  chokepoint_real.name =               \
      reinterpret_cast<decltype(found.name)>(OrMissing(reinterpret_cast<void*>(found.name)));
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
  void* found = nullptr;
  const Wanted wanted{name, &found};
  FindNext(&wanted, 1);
  for (const char* part : {"libaio", "liburing"}) {
    if (found == nullptr) found = FindIn(part, name);
  }
  errno = saved_errno;
  return OrMissing(found);
}

}  // namespace chokepoint::interpose
