// Report -> JSON for programs: stable, versioned, units in the names. docs/report.md describes
// every field. Must not compute: every number comes from the Report.
#pragma once

#include <string>

#include "tools/report/report.h"

namespace chokepoint::tools {

std::string RenderJson(const Report& report);

}  // namespace chokepoint::tools
