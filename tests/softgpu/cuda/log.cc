#include "tests/softgpu/cuda/log.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <set>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/softgpu/cuda/settings.h"

namespace softgpu {
namespace {

// A single write, so that lines of several processes do not mix.
void writeLine(const char *format, va_list arguments) {
  char line[1024];
  int n = snprintf(line, sizeof line, "[softgpu %d:%ld] ", (int)getpid(), (long)syscall(SYS_gettid));
  n += vsnprintf(line + n, sizeof line - n, format, arguments);
  if (n > (int)sizeof line - 2) n = sizeof line - 2;
  line[n++] = '\n';
  (void)!write(STDERR_FILENO, line, n);
}

}  // namespace

void logLine(int level, const char *format, ...) {
  if (settings().logLevel < level) return;
  va_list arguments;
  va_start(arguments, format);
  writeLine(format, arguments);
  va_end(arguments);
}

void fatal(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  writeLine(format, arguments);
  va_end(arguments);
  _exit(kFatalExitStatus);
}

bool firstTime(const std::string &text) {
  static auto *mutex = new std::mutex;
  static auto *seen = new std::set<std::string>;
  std::lock_guard<std::mutex> lock(*mutex);
  return seen->insert(text).second;
}

}  // namespace softgpu
