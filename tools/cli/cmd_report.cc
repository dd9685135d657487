// chokepoint report: traces -> report, as text or JSON.
// Must not do more than call the layers in order and say what could not be read.
#include <unistd.h>

#include "tools/cli/commands.h"
#include "tools/cli/exit_status.h"
#include "tools/cli/load_report.h"
#include "tools/cli/output.h"
#include "tools/report/render_json.h"
#include "tools/report/render_text.h"

namespace chokepoint::tools {

int RunReport(const ReportArguments& arguments) {
  Report report;
  if (const int status = LoadReport(arguments.paths, &report); status != kExitOk) return status;
  if (arguments.format == "json") return WriteOutput(arguments.output, RenderJson(report));
  TextOptions options;
  const bool to_terminal = arguments.output.empty() || arguments.output == "-";
  options.width = OutputWidth(to_terminal ? STDOUT_FILENO : -1);
  options.color = to_terminal && OutputColor(STDOUT_FILENO);
  return WriteOutput(arguments.output, RenderText(report, options));
}

}  // namespace chokepoint::tools
