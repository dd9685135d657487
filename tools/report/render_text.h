// Report -> text for a terminal or a file: the answer first, then the tables.
// Must not compute: every number comes from the Report.
#pragma once

#include <string>

#include "tools/report/report.h"

namespace chokepoint::tools {

struct TextOptions {
  std::size_t width = 80;
  bool color = false;
  bool headline_only = false;  // up to the verdict: what `chokepoint run` prints
};

std::string RenderText(const Report& report, const TextOptions& options);

}  // namespace chokepoint::tools
