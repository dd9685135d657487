// Where the parts of an installation lie, seen from the executable: the build tree and the
// installed tree. Must not start or change anything.
#include "tools/cli/layout.h"

#include <cstdlib>
#include <filesystem>

namespace chokepoint::tools {
namespace {

namespace fs = std::filesystem;

fs::path ExecutableFolder() {
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path(".") : executable.parent_path();
}

// The first of `<executable's folder>/<place>` that holds `file`.
std::string FolderWith(const char* file) {
  // Installed: a folder of our own, so that LD_LIBRARY_PATH does not put a system folder before the
  // job's own libraries.
  for (const char* place : {"../" CHOKEPOINT_LIBDIR "/chokepoint", "../lib/chokepoint", "../lib"}) {
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(ExecutableFolder() / place, error);
    if (!error && fs::exists(folder / file, error)) return folder.string();
  }
  return {};
}

}  // namespace

std::string PluginFolder() { return FolderWith(kPluginLibrary); }

std::string IoLibrary() {
  const std::string folder = FolderWith("libchokepoint-io.so");
  return folder.empty() ? folder : folder + "/libchokepoint-io.so";
}

std::string DemoFolder() {
  const char* chosen = std::getenv("CHOKEPOINT_DEMO_DIR");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  std::error_code error;
  return fs::weakly_canonical(ExecutableFolder() / "../demo", error).string();
}

}  // namespace chokepoint::tools
