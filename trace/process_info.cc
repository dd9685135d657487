// Gathers the META pairs from /proc, uname, libc and the environment.
// Must not use stdio or allocate; what cannot be read is left out.
#include "trace/process_info.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "trace/clock.h"
#include "trace/raw_io.h"
#include "trace/redact.h"
#include "trace/text.h"

#ifndef CHOKEPOINT_VERSION
#define CHOKEPOINT_VERSION "unknown"
#endif

namespace chokepoint::trace {
namespace {

constexpr std::size_t kValueBytes = 1024;

void AddNumber(MetaSink add, const char* key, std::uint64_t number) noexcept {
  char digits[24];
  add(key, Text(digits, sizeof(digits)).AddNumber(number).text());
}

void CutAtNewline(char* text) noexcept { text[std::strcspn(text, "\n")] = '\0'; }

void AddFile(MetaSink add, const char* key, const char* path) noexcept {
  char value[kValueBytes];
  if (raw::ReadSmallFile(path, value, sizeof(value)) == 0) return;
  CutAtNewline(value);
  add(key, value);
}

void AddPath(MetaSink add, const char* key, const char* path, bool redact) noexcept {
  char hashed[kValueBytes];
  Text text(hashed, sizeof(hashed));
  if (redact) RedactPath(path, &text);
  add(key, redact ? text.text() : path);
}

void AddLink(MetaSink add, const char* key, const char* link, bool redact) noexcept {
  char path[kValueBytes];
  const long bytes = raw::ReadLink(link, path, sizeof(path) - 1);
  if (bytes <= 0) return;
  path[bytes] = '\0';
  AddPath(add, key, path, redact);
}

void AddCommandLine(MetaSink add) noexcept {
  char line[kValueBytes];
  const std::size_t bytes = raw::ReadSmallFile("/proc/self/cmdline", line, sizeof(line));
  for (std::size_t i = 0; i + 1 < bytes; ++i) {
    if (line[i] == '\0') line[i] = ' ';
  }
  if (bytes > 0) add("command", line);
}

// The longest run of 64 hex digits in the cgroup path is a container's id; mountinfo tells it where
// cgroup paths are hidden.
bool FindContainerId(const char* text, char* id) noexcept {
  std::size_t run = 0;
  for (const char* at = text;; ++at) {
    const bool hex = (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f');
    if (hex) {
      ++run;
      continue;
    }
    if (run == 64) {
      std::memcpy(id, at - run, run);
      id[run] = '\0';
      return true;
    }
    run = 0;
    if (*at == '\0') return false;
  }
}

void AddContainer(MetaSink add, bool redact) noexcept {
  char text[16 * 1024];
  char id[65];
  if (raw::ReadSmallFile("/proc/self/cgroup", text, sizeof(text)) == 0) return;
  bool found = FindContainerId(text, id);
  const char* unified = std::strstr(text, "0::");
  if (unified != nullptr) {
    char path[kValueBytes];
    Text(path, sizeof(path)).Add(unified + 3, std::strcspn(unified + 3, "\n"));
    AddPath(add, "cgroup", path, redact);
  }
  if (!found && raw::ReadSmallFile("/proc/self/mountinfo", text, sizeof(text)) != 0) {
    const char* containers = std::strstr(text, "/containers/");
    found = containers != nullptr && FindContainerId(containers, id);
  }
  if (found) add("container_id", id);
}

void AddSystem(MetaSink add) noexcept {
  utsname system{};
  if (raw::Call(SYS_uname, raw::Word(static_cast<void*>(&system))) == 0) {
    add("host", system.nodename);
    add("kernel", system.release);
    add("machine", system.machine);
  }
  add("libc", gnu_get_libc_version());
  AddFile(add, "boot_id", "/proc/sys/kernel/random/boot_id");
  add("tick_source", TickSource());
  unsigned long cpus[128] = {};
  const long bytes =
      raw::Call(SYS_sched_getaffinity, 0, sizeof(cpus), raw::Word(static_cast<void*>(cpus)));
  std::uint64_t count = 0;
  for (long i = 0; i < bytes / static_cast<long>(sizeof(cpus[0])); ++i) {
    count += static_cast<std::uint64_t>(__builtin_popcountl(cpus[i]));
  }
  if (count > 0) AddNumber(add, "cpus_allowed", count);
  AddFile(add, "cpus_online", "/sys/devices/system/cpu/online");
}

void AddJob(MetaSink add, const JobIdentity& job) noexcept {
  add("job_id", job.job_id);
  if (*job.job_id_source != '\0') add("job_id_source", job.job_id_source);
  if (job.rank >= 0) {
    AddNumber(add, "rank", static_cast<std::uint64_t>(job.rank));
    add("rank_source", job.rank_source);
  }
  if (job.local_rank >= 0) AddNumber(add, "local_rank", static_cast<std::uint64_t>(job.local_rank));
  if (job.world_size >= 0) AddNumber(add, "world_size", static_cast<std::uint64_t>(job.world_size));
}

void AddEnvironment(MetaSink add, bool redact) noexcept {
  constexpr int kMostVariables = 256;
  int added = 0;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::size_t name_bytes = std::strcspn(*variable, "=");
    if ((*variable)[name_bytes] != '=' || !MayRecordVariable(*variable, name_bytes)) continue;
    if (++added > kMostVariables) return;
    char key[128];
    char value[kValueBytes];
    Text(key, sizeof(key)).Add("env.").Add(*variable, name_bytes);
    Text(value, sizeof(value)).Add(*variable + name_bytes + 1);
    AddPath(add, key, value, redact && std::strchr(value, '/') != nullptr);
  }
}

}  // namespace

std::uint64_t ProcessStart(std::uint32_t pid) noexcept {
  char path[64];
  char stat[1024];
  Text text(path, sizeof(path));
  text.Add("/proc/");
  if (pid == 0) text.Add("self");
  if (pid != 0) text.AddNumber(pid);
  text.Add("/stat");
  if (raw::ReadSmallFile(path, stat, sizeof(stat)) == 0) return 0;
  const char* at = std::strrchr(stat, ')');  // the command's name may hold anything before it
  for (int field = 2; field < 22 && at != nullptr; ++field) at = std::strchr(at + 1, ' ');
  if (at == nullptr) return 0;
  std::uint64_t start = 0;
  for (++at; *at >= '0' && *at <= '9'; ++at)
    start = start * 10 + static_cast<std::uint64_t>(*at - '0');
  return start;
}

std::uint64_t PidNamespace() noexcept {
  struct stat info {};
  return raw::Stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

void DescribeProcess(const JobIdentity& job, bool redact, MetaSink add) noexcept {
  add("recorder_version", CHOKEPOINT_VERSION);
  AddSystem(add);
  AddNumber(add, "pid", raw::ProcessId());
  AddNumber(add, "ppid", static_cast<std::uint64_t>(raw::Call(SYS_getppid)));
  AddNumber(add, "uid", raw::UserId());
  AddNumber(add, "process_start", ProcessStart(0));
  AddNumber(add, "pid_namespace", PidNamespace());
  AddLink(add, "exe", "/proc/self/exe", redact);
  AddLink(add, "cwd", "/proc/self/cwd", redact);
  AddFile(add, "process_name", "/proc/self/comm");
  if (!redact) AddCommandLine(add);
  if (redact) add("redacted", "1");
  AddContainer(add, redact);
  AddJob(add, job);
  AddEnvironment(add, redact);
}

}  // namespace chokepoint::trace
