// Where the parts of an installation lie, seen from the executable: the build tree and the
// installed tree. Must not start or change anything.
#pragma once

#include <string>

namespace chokepoint::tools {

// Folder that holds libnccl-profiler-chokepoint.so and nothing else that a job could load by
// accident; "" = not there.
std::string PluginFolder();
// libchokepoint-io.so; "" = not there.
std::string IoLibrary();
// What `chokepoint demo` runs: $CHOKEPOINT_DEMO_DIR, else `demo` beside the executable's folder. It
// may not exist.
std::string DemoFolder();

inline constexpr const char* kPluginLibrary = "libnccl-profiler-chokepoint.so";

}  // namespace chokepoint::tools
