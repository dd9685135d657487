// The commands: what each is given. One file each, cmd_<name>.cc; main.cc turns arguments into
// these calls. Must not parse arguments.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/recording.h"

namespace chokepoint::tools {

struct RunArguments {
  std::vector<std::string> command;
  RecordingOptions recording;
};
int RunRun(const RunArguments& arguments);  // the job's exit status

struct ReportArguments {
  std::vector<std::string> paths;
  std::string format = "text";
  std::string output;  // "" = standard output
};
int RunReport(const ReportArguments& arguments);

struct DumpArguments {
  std::string path;
  bool blocks = false;
  bool json = false;
};
int RunDump(const DumpArguments& arguments);

struct DemoArguments {
  std::string name = "healthy";
  std::string out;
  std::vector<std::string> job_arguments;  // added to the demo job's own
};
int RunDemo(const DemoArguments& arguments);
std::vector<std::string> DemoCases();

}  // namespace chokepoint::tools
