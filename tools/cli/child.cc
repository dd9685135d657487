// Runs a program as if it had been started directly: its output, signals and exit status are its
// own. Must not know what is recorded.
#include "tools/cli/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "tools/cli/output.h"

namespace chokepoint::tools {
namespace {

constexpr int kForwarded[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1,
                              SIGUSR2, SIGALRM, SIGWINCH, SIGXCPU};

sigset_t ForwardedAndChild() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kForwarded) sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

// In the child, between fork and exec: only what is safe there. Never returns.
[[noreturn]] void Exec(char* const* arguments, char* const* environment, const sigset_t& mask,
                       int error_pipe) {
  std::signal(SIGPIPE, SIG_DFL);  // we ignore it; the job must not inherit that
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvpe(arguments[0], arguments, environment);
  const int error = errno;
  (void)!write(error_pipe, &error, sizeof(error));
  _exit(127);
}

// Ours with the given values instead of, or beside, what is there.
std::vector<std::string> MergedEnvironment(const std::map<std::string, std::string>& values) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!values.contains(text.substr(0, text.find('=')))) merged.push_back(text);
  }
  for (const auto& [name, value] : values) merged.push_back(fmt::format("{}={}", name, value));
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>* texts) {
  std::vector<char*> pointers;
  for (std::string& text : *texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What a terminal sends, it sends to the whole foreground group: the child has it already.
bool FromTerminal(const siginfo_t& info) {
  return info.si_code == SI_KERNEL &&
         (info.si_signo == SIGINT || info.si_signo == SIGQUIT || info.si_signo == SIGWINCH);
}

int WaitAndForward(pid_t child, const sigset_t& signals) {
  for (;;) {
    siginfo_t info;
    const int signal = sigwaitinfo(&signals, &info);
    if (signal > 0 && signal != SIGCHLD) {
      if (!FromTerminal(info)) kill(child, signal);
      continue;
    }
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child && (WIFEXITED(status) || WIFSIGNALED(status))) {
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (ended < 0 && errno == ECHILD) return 127;
  }
}

int CannotStart(const std::string& program, int error) {
  Complain(fmt::format("{}: cannot be started: {}; check the command after --", program,
                       std::strerror(error)));
  return error == ENOENT ? 127 : 126;
}

}  // namespace

int RunChild(const std::vector<std::string>& command,
             const std::map<std::string, std::string>& environment) {
  std::vector<std::string> arguments = command;
  std::vector<std::string> merged = MergedEnvironment(environment);
  const std::vector<char*> argument_pointers = Pointers(&arguments);
  const std::vector<char*> environment_pointers = Pointers(&merged);
  const sigset_t signals = ForwardedAndChild();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &signals, &before);
  int error_pipe[2];
  if (pipe2(error_pipe, O_CLOEXEC) != 0) return CannotStart(command[0], errno);
  const pid_t child = fork();
  if (child < 0) return CannotStart(command[0], errno);
  if (child == 0)
    Exec(argument_pointers.data(), environment_pointers.data(), before, error_pipe[1]);
  close(error_pipe[1]);
  int error = 0;
  const ssize_t got =
      read(error_pipe[0], &error, sizeof(error));  // ends when exec has closed the other side
  close(error_pipe[0]);
  const int status = WaitAndForward(child, signals);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return got == static_cast<ssize_t>(sizeof(error)) ? CannotStart(command[0], error) : status;
}

}  // namespace chokepoint::tools
