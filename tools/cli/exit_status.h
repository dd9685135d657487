// What the command's exit status says: the list in docs/report.md.
// Must not be used for `chokepoint run`, whose status is the job's.
#pragma once

namespace chokepoint::tools {

enum ExitStatus : int {
  kExitOk = 0,
  kExitFailed = 1,       // something unforeseen, said on standard error
  kExitUsage = 2,        // wrong arguments
  kExitNoTraces = 3,     // nothing that could be read was found
  kExitCannotWrite = 4,  // the output could not be written
  kExitCannotStart = 5,  // something needed to do it is missing on this machine
};

}  // namespace chokepoint::tools
