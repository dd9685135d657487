// Arguments -> command. A command is its arguments and a function (commands.h).
// Must not do a command's work.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string_view>

#include "tools/cli/commands.h"
#include "tools/cli/exit_status.h"
#include "tools/cli/output.h"

namespace chokepoint::tools {
namespace {

// Arguments after "--" belong to the job and are never parsed.
struct Split {
  std::vector<std::string> ours;
  std::vector<std::string> theirs;
};
Split SplitArguments(int argc, char** argv) {
  Split split;
  bool after = false;
  for (int i = 1; i < argc; ++i) {
    if (!after && std::string_view(argv[i]) == "--") {
      after = true;
    } else {
      (after ? split.theirs : split.ours).emplace_back(argv[i]);
    }
  }
  return split;
}

void AddRun(CLI::App* app, const Split& split, int* status) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app->add_subcommand(
      "run", "Run a job under the recorder: chokepoint run [OPTIONS] -- CMD...");
  command->add_option("--out", arguments->recording.out,
                      "Directory for the traces (default ./chokepoint-PID)");
  command->add_flag("!--no-io", arguments->recording.io, "Do not record file reads and writes");
  command->add_flag("!--no-nccl", arguments->recording.nccl, "Do not record NCCL");
  command->prefix_command();
  command->callback([=] {
    arguments->command = command->remaining();
    arguments->command.insert(arguments->command.end(), split.theirs.begin(), split.theirs.end());
    if (arguments->command.empty())
      throw CLI::ValidationError("run: a command is required after --");
    *status = RunRun(*arguments);
  });
}

void AddDemo(CLI::App* app, const Split& split, int* status) {
  auto arguments = std::make_shared<DemoArguments>();
  CLI::App* command = app->add_subcommand(
      "demo", "Run a real NCCL job on this machine, no GPU needed, and report it");
  command->add_option("CASE", arguments->name, "What is wrong with the job")
      ->check(CLI::IsMember(DemoCases()))
      ->capture_default_str();
  command->add_option("--out", arguments->out, "Directory for the traces");
  command->callback([=] {
    arguments->job_arguments = split.theirs;
    *status = RunDemo(*arguments);
  });
}

void AddReport(CLI::App* app, int* status) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = app->add_subcommand("report", "Turn trace files into a bottleneck report");
  command->add_option("DIR", arguments->paths, "Directories with *.cpt files, or single files")
      ->required();
  command->add_option("--format", arguments->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_option("-o,--output", arguments->output,
                      "Write to this file instead of standard output");
  command->callback([=] { *status = RunReport(*arguments); });
}

void AddDump(CLI::App* app, int* status) {
  auto arguments = std::make_shared<DumpArguments>();
  CLI::App* command = app->add_subcommand("dump", "Print the blocks and events of one trace file");
  command->add_option("FILE", arguments->path, "A *.cpt file")->required();
  command->add_flag("--blocks", arguments->blocks, "Print the blocks instead of the events");
  command->add_flag("--json", arguments->json, "One JSON object per line");
  command->callback([=] { *status = RunDump(*arguments); });
}

int Main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has seen enough is not an error: see output.h
  CLI::App app("Records GPU training jobs and says why they are slow.", "chokepoint");
  app.require_subcommand(1);
  app.set_version_flag("--version", "chokepoint " CHOKEPOINT_VERSION);
  int status = kExitOk;
  Split split = SplitArguments(argc, argv);
  AddRun(&app, split, &status);
  AddReport(&app, &status);
  AddDump(&app, &status);
  AddDemo(&app, split, &status);
  try {
    std::reverse(split.ours.begin(), split.ours.end());  // the order that CLI11 takes
    app.parse(split.ours);
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    Complain(std::string(error.what()) + "; see chokepoint --help");
    return kExitUsage;
  }
  return status;
}

}  // namespace
}  // namespace chokepoint::tools

int main(int argc, char** argv) {
  try {
    return chokepoint::tools::Main(argc, argv);
  } catch (const std::exception& error) {  // out of memory, most likely
    std::fprintf(stderr, "chokepoint: %s; this is a defect, or the machine has too little memory\n",
                 error.what());
    return chokepoint::tools::kExitFailed;
  }
}
