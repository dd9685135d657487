// Where output goes: standard output or a file, and what a terminal can show. Diagnostics go to
// standard error, one line each. Must not let a closed pipe look like a failure: `chokepoint dump
// FILE | head` is a good use.
#include "tools/cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tools/cli/exit_status.h"
#include "tools/report/escape.h"

namespace chokepoint::tools {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr std::size_t kMinWidth = 60;
constexpr std::size_t kMaxWidth = 160;

// 0, or errno.
int WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int CannotWrite(const std::string& what, int error) {
  Complain(fmt::format("{}: cannot be written: {}; choose another place with -o", what,
                       std::strerror(error)));
  return kExitCannotWrite;
}

// Devices and pipes are written in place; files beside their name, then renamed.
int WriteFile(const std::string& path, const std::string& text) {
  struct stat status;
  const bool in_place = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  const std::string target = in_place ? path : path + ".partial";
  const int descriptor =
      open(target.c_str(), O_WRONLY | O_CLOEXEC | (in_place ? 0 : O_CREAT | O_TRUNC), 0644);
  if (descriptor < 0) return CannotWrite(path, errno);
  int error = WriteAll(descriptor, text);
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && !in_place && std::rename(target.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return kExitOk;
  if (!in_place) unlink(target.c_str());
  return CannotWrite(path, error);
}

}  // namespace

void Complain(std::string_view message) {
  const std::string line = "chokepoint: " + Escape(message) + "\n";
  (void)WriteAll(STDERR_FILENO, line);
}

void WriteError(std::string_view text) { (void)WriteAll(STDERR_FILENO, text); }

std::size_t OutputWidth(int descriptor) {
  std::size_t width = 80;
  winsize size{};
  const char* columns = std::getenv("COLUMNS");
  if (isatty(descriptor) && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    width = size.ws_col;
  } else if (columns != nullptr && std::atoi(columns) > 0) {
    width = static_cast<std::size_t>(std::atoi(columns));
  }
  return std::min(std::max(width, kMinWidth), kMaxWidth);
}

bool OutputColor(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  return isatty(descriptor) && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

int WriteOutput(const std::string& path, const std::string& text) {
  if (!path.empty() && path != "-") return WriteFile(path, text);
  OutputStream out;
  out.Add(text);
  return out.Finish();
}

bool OutputStream::Add(std::string_view text) {
  if (error_ != 0) return false;
  pending_ += text;
  if (pending_.size() >= kPieceBytes) Flush();
  return error_ == 0;
}

void OutputStream::Flush() {
  if (error_ == 0) error_ = WriteAll(STDOUT_FILENO, pending_);
  pending_.clear();
}

int OutputStream::Finish() {
  Flush();
  return error_ == 0 || error_ == EPIPE ? kExitOk : CannotWrite("standard output", error_);
}

}  // namespace chokepoint::tools
