// Writes each message with a single call, so that lines of several processes do not mix.
// It must not use streams: it is called before constructors have run.
#include "tests/softgpu/cuda/log.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <set>

#include "tests/softgpu/cuda/settings.h"

namespace chokepoint::softgpu {
namespace {

// A single write, so that lines of several processes do not mix.
void WriteLine(const char* format, va_list arguments) {
  char line[1024];
  const int head = snprintf(line, sizeof line, "[softgpu %d:%ld] ", getpid(), syscall(SYS_gettid));
  auto length = static_cast<size_t>(head);
  const int tail = vsnprintf(line + length, sizeof line - length, format, arguments);
  length = std::min(length + static_cast<size_t>(tail), sizeof line - 2);
  line[length++] = '\n';
  (void)!write(STDERR_FILENO, line, length);
}

}  // namespace

void LogLine(int level, const char* format, ...) {
  if (GetSettings().log_level < level) return;
  va_list arguments;
  va_start(arguments, format);
  WriteLine(format, arguments);
  va_end(arguments);
}

void Fatal(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  WriteLine(format, arguments);
  va_end(arguments);
  _exit(kFatalExitStatus);
}

bool FirstTime(const std::string& text) {
  static auto* mutex = new std::mutex;
  static auto* seen = new std::set<std::string>;
  std::lock_guard<std::mutex> lock(*mutex);
  return seen->insert(text).second;
}

}  // namespace chokepoint::softgpu
