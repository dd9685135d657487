// Finds functions in the objects that are loaded, as the dynamic linker would for RTLD_NEXT.
// why not dlsym: before glibc 2.34 it is in a library of its own, which would be loaded into every
// process of the job; it costs three times as much for two hundred names, and it allocates when a
// name is missing. Must not allocate, lock or call the program's code.
#pragma once

#include <cstddef>

namespace chokepoint::interpose {

struct Wanted {
  const char* name;
  void** place;  // filled when found and still null
};

// In the objects that come after this library in link order.
void FindNext(const Wanted* wanted, std::size_t count);

// In any loaded object whose path contains `part`. Null when there is none.
void* FindIn(const char* part, const char* name);

}  // namespace chokepoint::interpose
