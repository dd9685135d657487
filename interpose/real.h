// The functions that stand behind ours: the next definition in link order, so that other preload
// libraries keep working. Must not be asked for a name that hooks.def does not list.
#pragma once

#include <aio.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

namespace chokepoint::interpose {

struct RealCalls {
#define HOOK(result, name, parameters) result(*name) parameters;
#define LATE(result, name, parameters) result(*name) parameters;
#define ALIAS(name, target)
#define THUNK(name) long (*name)(...);
#include "interpose/hooks.def"
#undef HOOK
#undef LATE
#undef ALIAS
#undef THUNK
};

// Filled before the first hook needs it. A function that this libc lacks fails with ENOSYS.
// why C linkage and a name of its own: the assembly of thunks.cc jumps through it.
extern "C" RealCalls chokepoint_real __attribute__((visibility("hidden")));

// Looks all names up but the late ones. Any thread, any number of times, before any constructor
// too.
void ResolveReal();

// Finds a late one: in link order, else in any loaded object. The ENOSYS stand-in when there is
// none.
void* FindLate(const char* name);

template <class Function>
Function* LateReal(Function** place, const char* name) {
  if (__builtin_expect(*place == nullptr, 0)) *place = reinterpret_cast<Function*>(FindLate(name));
  return *place;
}

}  // namespace chokepoint::interpose

// The original of `name`.
#define REAL(name)                                                               \
  (__builtin_expect(::chokepoint::interpose::chokepoint_real.name != nullptr, 1) \
       ? ::chokepoint::interpose::chokepoint_real.name                           \
       : (::chokepoint::interpose::ResolveReal(), ::chokepoint::interpose::chokepoint_real.name))

// The original of a LATE `name`.
#define REAL_LATE(name) \
  (::chokepoint::interpose::LateReal(&::chokepoint::interpose::chokepoint_real.name, #name))

// Begins the definition of a hook: a function whose symbol is `name`.
// why an assembler label: the headers of libc declare the same names with attributes that ours must
// not have (noexcept would turn the cancellation of a thread inside a hook into std::terminate).
#define DEFINE_HOOK(result, name, parameters)                                                 \
  extern "C" __attribute__((visibility("default"))) result Hook_##name parameters asm(#name); \
  extern "C" result Hook_##name parameters
