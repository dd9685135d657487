// Forks, loads the plugin there, plays, exits; the parent reads the trace file.
// Must not load the plugin in the parent: every script begins with a fresh recorder.
#include "tests/plugin/plugin_trace.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "trace/reader.h"

namespace chokepoint::tests {
namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "chokepoint-plugin-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

template <class Event>
void Keep(const trace::TraceFile& file, const trace::EventView& view, std::vector<Event>* into) {
  Event event;
  if (file.Decode(view, &event)) into->push_back(event);
}

void KeepAll(const trace::TraceFile& file, const trace::EventView& view, PluginTrace* into) {
  if (view.snapshot) return;  // it comes again
  Keep(file, view, &into->communicators);
  Keep(file, view, &into->communicator_ends);
  Keep(file, view, &into->collectives);
  Keep(file, view, &into->point_to_points);
  Keep(file, view, &into->proxies);
  Keep(file, view, &into->steps);
  Keep(file, view, &into->kernels);
  Keep(file, view, &into->groups);
  Keep(file, view, &into->calls);
  Keep(file, view, &into->copies);
  Keep(file, view, &into->losses);
  Keep(file, view, &into->costs);
}

void ReadOne(const std::string& path, PluginTrace* into) {
  std::unique_ptr<trace::TraceFile> file;
  const trace::Status status = trace::TraceFile::Open(path, &file);
  ASSERT_TRUE(status.ok()) << status.message();
  const trace::ReadResult result =
      file->Read([&](const trace::EventView& view) { KeepAll(*file, view, into); });
  into->files += 1;
  into->ended = result.ended;
  into->lost_bytes += result.lost_bytes;
  into->unknown_events += result.unknown_events;
  for (const auto& [key, value] : file->all_meta()) into->meta[key] = value;
  for (std::uint32_t id = 1; id < 1024; ++id) {
    const std::string_view name = file->name(id);
    if (name != "?" && !name.empty()) into->names[id] = std::string(name);
  }
}

[[noreturn]] void RunChild(const PlayOptions& options, const std::string& directory,
                           const std::function<void(FakeNccl&)>& script) {
  for (const char* name :
       {"CHOKEPOINT_DETAIL", "CHOKEPOINT_EVENT_MASK", "CHOKEPOINT_DISABLE", "NCCL_PROFILER_PLUGIN"})
    unsetenv(name);
  setenv("CHOKEPOINT_DIR", directory.c_str(), 1);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  SetFakeNcclVersion(options.nccl_version);
  auto nccl = FakeNccl::Load(CHOKEPOINT_PLUGIN);
  if (nccl == nullptr) std::_Exit(3);
  script(*nccl);
  nccl.reset();
  std::exit(testing::Test::HasFailure() ? 2 : 0);
}

}  // namespace

std::string PluginTrace::name(std::uint32_t id) const {
  const auto found = names.find(id);
  return found == names.end() ? "" : found->second;
}

PluginTrace ReadPluginTrace(const std::string& path) {
  PluginTrace trace;
  ReadOne(path, &trace);
  return trace;
}

PluginTrace ReadPluginTraces(const std::string& directory) {
  PluginTrace trace;
  if (!std::filesystem::exists(directory)) return trace;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().string().ends_with(".nccl.cpt")) ReadOne(entry.path().string(), &trace);
  }
  return trace;
}

std::string VersionName(const testing::TestParamInfo<int>& tested) {
  std::string name(1, 'v');
  return name.append(std::to_string(tested.param));
}

Played Play(const PlayOptions& options, const std::function<void(FakeNccl&)>& script) {
  const TemporaryDirectory directory;
  Played played;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) RunChild(options, directory.path(), script);
  waitpid(child, &played.raw_status, 0);
  played.exited = WIFEXITED(played.raw_status) && WEXITSTATUS(played.raw_status) == 0;
  played.trace = ReadPluginTraces(directory.path());
  return played;
}

Played Play(const std::function<void(FakeNccl&)>& script) { return Play(PlayOptions{}, script); }

Played PlayAt(int version, const std::function<void(FakeProfiler&)>& script,
              std::map<std::string, std::string> environment) {
  PlayOptions options;
  options.environment = std::move(environment);
  options.nccl_version = ReleaseWithProfiler(version).code;
  return Play(options, [&](FakeNccl& nccl) {
    const auto profiler = nccl.Profiler(version);
    ASSERT_NE(profiler, nullptr);
    ASSERT_EQ(profiler->version(), version);
    script(*profiler);
  });
}

}  // namespace chokepoint::tests
