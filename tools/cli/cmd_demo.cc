// chokepoint demo: a real NCCL job without a GPU under the recorder, then its report.
// Must not pretend: if the rig is not built, it says what to build.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tools/cli/child.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_status.h"
#include "tools/cli/layout.h"
#include "tools/cli/output.h"
#include "tools/cli/recording.h"
#include "trace/reader.h"

namespace chokepoint::tools {
namespace {

namespace fs = std::filesystem;

struct DemoCase {
  const char* name;
  const char* about;
  std::vector<std::string> job_arguments;
};

const std::vector<DemoCase>& Cases() {
  static const std::vector<DemoCase> cases = {
      {"healthy", "nothing is wrong", {}},
      {"late-rank",
       "rank 2 computes 30 ms longer than the others in each step",
       {"--fault", "late-rank:2:30"}},
  };
  return cases;
}

// "" when all parts are there.
std::string MissingPart(const std::string& folder) {
  for (const char* part : {"softgpu-run", "training_job", "nccl_library"}) {
    std::error_code error;
    if (!fs::exists(folder + "/" + part, error)) return fmt::format("{}/{}", folder, part);
  }
  return {};
}

}  // namespace

std::vector<std::string> DemoCases() {
  std::vector<std::string> names;
  for (const DemoCase& demo : Cases()) names.emplace_back(demo.name);
  return names;
}

int RunDemo(const DemoArguments& arguments) {
  const DemoCase* demo = &Cases().front();
  for (const DemoCase& known : Cases()) {
    if (known.name == arguments.name) demo = &known;
  }
  const std::string folder = DemoFolder();
  if (const std::string missing = MissingPart(folder); !missing.empty()) {
    Complain(fmt::format("{}: not there, the demo needs it; build it: bash tools/setup.sh demo",
                         missing));
    return kExitCannotStart;
  }
  std::string library;
  std::getline(std::ifstream(folder + "/nccl_library"), library);

  RecordingOptions options;
  options.out = arguments.out.empty() ? fmt::format("chokepoint-demo-{}-{}", demo->name, getpid())
                                      : arguments.out;
  Recording recording = PrepareRecording(options);
  std::string& path = recording.environment["LD_LIBRARY_PATH"];
  path = fmt::format("{}{}{}", fs::path(library).parent_path().string(), path.empty() ? "" : ":",
                     path);

  std::vector<std::string> command = {folder + "/softgpu-run",
                                      folder + "/training_job",
                                      "--ranks",
                                      "4",
                                      "--nodes",
                                      "2",
                                      "--out",
                                      recording.directory + "-job"};
  command.insert(command.end(), demo->job_arguments.begin(), demo->job_arguments.end());
  command.insert(command.end(), arguments.job_arguments.begin(), arguments.job_arguments.end());
  WriteError(fmt::format("demo {}: a real NCCL job without a GPU, 4 processes on 2 \"nodes\"; {}\n",
                         demo->name, demo->about));
  const int status = RunChild(command, recording.environment);
  trace::SalvageRingFiles(recording.directory);
  OutputStream blank;
  blank.Add("\n");
  blank.Finish();
  const int reported = RunReport({.paths = {recording.directory}, .format = "text", .output = {}});
  return status != 0 ? status : reported;
}

}  // namespace chokepoint::tools
