// chokepoint run: starts a job under the recorder and says in a few lines what the traces say.
// Must not change what the job does: its output, signals and exit status are its own.
#include <fmt/format.h>
#include <unistd.h>

#include "tools/cli/child.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_status.h"
#include "tools/cli/load_report.h"
#include "tools/cli/output.h"
#include "tools/cli/recording.h"
#include "tools/report/render_text.h"
#include "trace/reader.h"

namespace chokepoint::tools {
namespace {

// On standard error: standard output is the job's.
void Summarise(const std::string& directory) {
  if (directory.find('%') != std::string::npos) {
    Complain(fmt::format(
        "the traces are in {} (patterns of CHOKEPOINT_DIR); give that place to chokepoint report",
        directory));
    return;
  }
  trace::SalvageRingFiles(directory);
  Report report;
  if (LoadReport({directory}, &report) != kExitOk) return;
  TextOptions options;
  options.width = OutputWidth(STDERR_FILENO);
  options.color = OutputColor(STDERR_FILENO);
  options.headline_only = true;
  WriteError(fmt::format("\n{}\nThe whole report: chokepoint report {}\n",
                         RenderText(report, options), directory));
}

}  // namespace

int RunRun(const RunArguments& arguments) {
  const Recording recording = PrepareRecording(arguments.recording);
  const int status = RunChild(arguments.command, recording.environment);
  Summarise(recording.directory);
  return status;
}

}  // namespace chokepoint::tools
