// Finds the trace files below the given paths and opens each; whatever is not a readable trace
// becomes a note of one line. Must not interpret events, and must not refuse anything silently.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/model/timeline.h"
#include "trace/reader.h"

namespace chokepoint::tools {

struct TraceInput {
  std::unique_ptr<trace::TraceFile> file;
  bool process_alive = false;  // its ring file says that the process still runs on this machine
  bool ring_attached = false;
  bool recently_written = false;
};

struct TraceSet {
  std::vector<TraceInput> inputs;  // sorted by path
  std::vector<FileNote> notes;
};

// `paths`: directories (searched three levels deep) or files. Salvages ring files of dead processes
// as it goes.
TraceSet OpenTraceSet(const std::vector<std::string>& paths);

}  // namespace chokepoint::tools
