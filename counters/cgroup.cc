// Reads /proc/self/cgroup and tries the usual mount points.
// Must not parse the mount table: the paths are conventions that hold everywhere.
#include "counters/cgroup.h"

#include <cstring>
#include <string_view>

#include "counters/text_scan.h"
#include "trace/text.h"

namespace chokepoint::counters {

namespace {

using trace::Text;

bool HasFile(SysTree* tree, const char* directory, const char* file) noexcept {
  char path[kMaxPathBytes];
  Text text(path, sizeof(path));
  text.Add(directory).Add("/").Add(file);
  return !text.cut() && tree->Exists(path);
}

// The directory `mount` + `group` if it has `file`, else `mount` alone if that has it, else "".
void Place(SysTree* tree, const char* mount, std::string_view group, const char* file, char* out,
           std::size_t bytes) noexcept {
  Text text(out, bytes);
  text.Add(mount);
  if (group != "/") text.Add(group.data(), group.size());
  if (!text.cut() && HasFile(tree, out, file)) return;
  Text(out, bytes).Add(mount);
  if (!HasFile(tree, out, file)) out[0] = '\0';
}

// Cuts the last component. False at the mount point.
bool ToParent(char* path, std::size_t mount_bytes) noexcept {
  char* slash = std::strrchr(path, '/');
  if (slash == nullptr || static_cast<std::size_t>(slash - path) < mount_bytes) return false;
  *slash = '\0';
  return true;
}

// The quota of one cgroup as text, "" when there is none.
void ReadQuota(SysTree* tree, const char* directory, bool v2, char* out,
               std::size_t bytes) noexcept {
  char path[kMaxPathBytes];
  char line[64];
  Text(path, sizeof(path)).Add(directory).Add(v2 ? "/cpu.max" : "/cpu.cfs_quota_us");
  const std::string_view quota = tree->ReadLine(path, line, sizeof(line));
  Text text(out, bytes);
  if (quota.empty() || StartsWith(quota, "max") || StartsWith(quota, "-")) return;
  text.Add(quota.data(), quota.size());
  if (v2) return;
  char period[64];
  Text(path, sizeof(path)).Add(directory).Add("/cpu.cfs_period_us");
  const std::string_view value = tree->ReadLine(path, period, sizeof(period));
  text.Add(" ").Add(value.data(), value.size());
}

void FindQuota(SysTree* tree, std::size_t mount_bytes, CgroupPaths* out) noexcept {
  char own[sizeof(out->cpu)];
  std::memcpy(own, out->cpu, sizeof(own));
  do {
    ReadQuota(tree, out->cpu, out->cpu_v2, out->quota, sizeof(out->quota));
    if (out->quota[0] != '\0' && HasFile(tree, out->cpu, "cpu.stat")) {
      out->has_quota = true;
      return;
    }
  } while (ToParent(out->cpu, mount_bytes));
  std::memcpy(out->cpu, own, sizeof(own));
}

// `line`: "4:memory:/a/b" or "0::/a/b". Gives the list of controllers and the path.
bool SplitLine(std::string_view line, std::string_view* controllers,
               std::string_view* group) noexcept {
  std::string_view number;
  if (!TakeUpTo(&line, ':', &number)) return false;
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  *controllers = {line.data(), colon};
  line.remove_prefix(colon + 1);
  *group = line;
  return true;
}

bool HasController(std::string_view controllers, std::string_view name) noexcept {
  std::string_view one;
  while (TakeUpTo(&controllers, ',', &one)) {
    if (one == name) return true;
  }
  return false;
}

void FindV1(SysTree* tree, std::string_view controllers, std::string_view group,
            CgroupPaths* out) noexcept {
  if (HasController(controllers, "cpu")) {
    for (const char* mount : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
      Place(tree, mount, group, "cpu.stat", out->cpu, sizeof(out->cpu));
      if (out->cpu[0] == '\0') continue;
      FindQuota(tree, std::strlen(mount), out);
      break;
    }
  }
  if (HasController(controllers, "memory")) {
    Place(tree, "/sys/fs/cgroup/memory", group, "memory.usage_in_bytes", out->memory,
          sizeof(out->memory));
  }
}

void FindV2(SysTree* tree, std::string_view group, CgroupPaths* out) noexcept {
  for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (out->cpu[0] == '\0') {
      Place(tree, mount, group, "cpu.stat", out->cpu, sizeof(out->cpu));
      out->cpu_v2 = out->cpu[0] != '\0';
      if (out->cpu_v2) FindQuota(tree, std::strlen(mount), out);
    }
    if (out->memory[0] == '\0') {
      Place(tree, mount, group, "memory.current", out->memory, sizeof(out->memory));
      out->memory_v2 = out->memory[0] != '\0';
    }
    if (out->pressure[0] == '\0') {
      Place(tree, mount, group, "cpu.pressure", out->pressure, sizeof(out->pressure));
    }
  }
}

}  // namespace

void FindCgroup(SysTree* tree, CgroupPaths* out) noexcept {
  *out = CgroupPaths{};
  char text[4096];
  const long size = tree->ReadOnce("/proc/self/cgroup", text, sizeof(text));
  if (size <= 0) return;
  std::string_view unified;
  std::string_view rest(text, static_cast<std::size_t>(size));
  std::string_view line;
  while (TakeLine(&rest, &line)) {
    std::string_view controllers;
    std::string_view group;
    if (!SplitLine(line, &controllers, &group)) continue;
    if (controllers.empty()) {
      unified = group;
    } else {
      FindV1(tree, controllers, group, out);
    }
  }
  // why: controllers that v1 has are not in v2, so v1's answer stands.
  if (!unified.empty()) FindV2(tree, unified, out);
}

}  // namespace chokepoint::counters
