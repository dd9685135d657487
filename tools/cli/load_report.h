// Paths -> Report: reading, detecting and building, with one line for each path that gives nothing.
// Must not print the report.
#pragma once

#include <string>
#include <vector>

#include "tools/report/report.h"

namespace chokepoint::tools {

// Returns an ExitStatus; has complained when it is not kExitOk.
int LoadReport(const std::vector<std::string>& paths, Report* report);

}  // namespace chokepoint::tools
