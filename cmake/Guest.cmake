# chokepoint_guest: how code that runs inside somebody else's process is compiled and linked.
# No exceptions, no RTTI, nothing exported by accident, the C++ runtime linked in: libc is the only dependency.
add_library(chokepoint_guest INTERFACE)
target_compile_options(chokepoint_guest INTERFACE
  -fno-exceptions -fno-rtti -fvisibility=hidden -fvisibility-inlines-hidden
  $<$<COMPILE_LANGUAGE:CXX>:-fno-threadsafe-statics>)
target_compile_definitions(chokepoint_guest INTERFACE _FORTIFY_SOURCE=0)

# For the two shared libraries only.
add_library(chokepoint_guest_link INTERFACE)
if(CHOKEPOINT_SANITIZER STREQUAL "")
  target_link_options(chokepoint_guest_link INTERFACE
    -static-libstdc++ -static-libgcc -Wl,-z,now -Wl,-z,relro -Wl,-z,defs -Wl,-z,nodelete -Wl,--exclude-libs,ALL)
else()
  target_link_options(chokepoint_guest_link INTERFACE -Wl,-z,nodelete)
endif()
