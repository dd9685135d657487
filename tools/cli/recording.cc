// The environment under which a job is recorded, and what is said when it has ended.
// Must not keep a job from running: what cannot be recorded is said, and the job runs.
#include "tools/cli/recording.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tools/cli/layout.h"
#include "tools/cli/output.h"

namespace chokepoint::tools {
namespace {

namespace fs = std::filesystem;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string ChooseDirectory(const RecordingOptions& options) {
  std::string directory = options.out.empty() ? Variable("CHOKEPOINT_DIR") : options.out;
  if (directory.empty()) directory = fmt::format("chokepoint-{}", getpid());
  std::error_code error;
  const fs::path absolute = fs::absolute(directory, error);
  return error ? directory : absolute.lexically_normal().string();
}

// Parents as usual, the directory itself for its owner and group only.
void MakeDirectory(const std::string& directory) {
  if (directory.find('%') != std::string::npos) return;  // the recorder expands patterns
  std::error_code error;
  fs::create_directories(fs::path(directory).parent_path(), error);
  if (mkdir(directory.c_str(), 0750) == 0 || errno == EEXIST) return;
  Complain(fmt::format(
      "{}: cannot be made: {}; the recorder falls back to /tmp, choose another place with --out",
      directory, std::strerror(errno)));
}

// By soname and library path: the form that every NCCL from 2.23 on understands (2.27.3 does not
// take absolute paths), and NCCL_NET_PLUGIN stays what the site has set.
void AddPlugin(Recording* recording) {
  const std::string folder = PluginFolder();
  if (folder.empty()) {
    Complain(fmt::format(
        "{} is not beside this command; NCCL will not be recorded, build or install the plugin",
        kPluginLibrary));
    return;
  }
  const std::string theirs = Variable("NCCL_PROFILER_PLUGIN");
  if (!theirs.empty() && theirs.find("chokepoint") == std::string::npos) {
    Complain(fmt::format(
        "NCCL_PROFILER_PLUGIN={} is replaced for this run: NCCL loads one profiler only", theirs));
  }
  recording->environment["NCCL_PROFILER_PLUGIN"] = kPluginLibrary;
  recording->environment["LD_LIBRARY_PATH"] = Prepended("LD_LIBRARY_PATH", folder);
}

}  // namespace

std::string Prepended(const char* variable, const std::string& value) {
  const std::string before = Variable(variable);
  return before.empty() ? value : fmt::format("{}:{}", value, before);
}

Recording PrepareRecording(const RecordingOptions& options) {
  Recording recording;
  recording.directory = ChooseDirectory(options);
  MakeDirectory(recording.directory);
  recording.environment["CHOKEPOINT_DIR"] = recording.directory;
  if (options.nccl) AddPlugin(&recording);
  if (const std::string library = IoLibrary(); options.io && !library.empty()) {
    recording.environment["LD_PRELOAD"] = Prepended("LD_PRELOAD", library);
  }
  return recording;
}

}  // namespace chokepoint::tools
