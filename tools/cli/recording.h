// The environment under which a job is recorded, and what is said when it has ended.
// Must not keep a job from running: what cannot be recorded is said, and the job runs.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace chokepoint::tools {

struct RecordingOptions {
  std::string out;  // "" = $CHOKEPOINT_DIR, else ./chokepoint-<process id>
  bool io = true;
  bool nccl = true;
};

struct Recording {
  std::string directory;  // absolute; may hold the patterns of CHOKEPOINT_DIR
  std::map<std::string, std::string> environment;
};

// Makes the directory and chooses the variables. Complains about what will not be recorded.
Recording PrepareRecording(const RecordingOptions& options);

// `value` before what the variable holds now, with a colon between.
std::string Prepended(const char* variable, const std::string& value);

}  // namespace chokepoint::tools
