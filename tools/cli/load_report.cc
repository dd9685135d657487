// Paths -> Report: reading, detecting and building, with one line for each path that gives nothing.
// Must not print the report.
#include "tools/cli/load_report.h"

#include <sys/resource.h>

#include "tools/cli/exit_status.h"
#include "tools/cli/output.h"
#include "tools/detect/detector.h"
#include "tools/model/build_timeline.h"
#include "tools/model/trace_set.h"

namespace chokepoint::tools {
namespace {

// Every trace keeps a descriptor open while it is read; the usual soft limit of 1,024 is less than
// a large job has ranks.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int LoadReport(const std::vector<std::string>& paths, Report* report) {
  RaiseDescriptorLimit();
  TraceSet set = OpenTraceSet(paths);
  if (set.inputs.empty()) {
    for (const FileNote& note : set.notes) Complain(note.message);
    if (set.notes.empty()) {
      for (const std::string& path : paths) {
        Complain(path +
                 ": no trace files (*.cpt) in it; check CHOKEPOINT_DIR of the job, or whether NCCL "
                 "loaded the plugin");
      }
    }
    return kExitNoTraces;
  }
  const Timeline timeline = BuildTimeline(std::move(set));
  *report = BuildReport(timeline, RunDetectors(timeline), paths);
  return kExitOk;
}

}  // namespace chokepoint::tools
