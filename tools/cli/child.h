// Runs a program as if it had been started directly: its output, signals and exit status are its
// own. Must not know what is recorded.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace chokepoint::tools {

// Runs `command` with `environment` on top of ours, until it has ended. Signals that are sent to us
// go on to it. Returns its exit status; 128 + signal when it was killed; 126 or 127 when it could
// not be started, and has complained then.
int RunChild(const std::vector<std::string>& command,
             const std::map<std::string, std::string>& environment);

}  // namespace chokepoint::tools
