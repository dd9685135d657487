// A temporary directory of one test, and running the real command in it.
// Must not be shared between tests: each has its own directory.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace chokepoint::tests {

inline std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct CommandResult {
  int status = -1;  // exit status; 128 + signal
  std::string out;
  std::string err;
};

class Scratch {
 public:
  Scratch() {
    char name[] = "/tmp/chokepoint-test-XXXXXX";
    path_ = mkdtemp(name);
    std::filesystem::create_directory(path_ + "/traces");
  }
  ~Scratch() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }
  std::string traces() const { return path_ + "/traces"; }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
  }

  // Runs a shell line in this directory; $CHOKEPOINT is the command.
  CommandResult Run(const std::string& line) const {
    const std::string shell =
        "cd '" + path_ + "' && unset COLUMNS && CHOKEPOINT='" CHOKEPOINT_TEST_COMMAND "' && { " +
        line + "; } >.out 2>.err";
    const int status = std::system(shell.c_str());
    CommandResult result;
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.out = ReadFile(path_ + "/.out");
    result.err = ReadFile(path_ + "/.err");
    return result;
  }

 private:
  std::string path_;
};

}  // namespace chokepoint::tests
