// Parses stat, io and cpu.stat of the process.
// Must not split /proc/self/stat at the first ')': thread names may contain one.
#include "counters/process.h"

#include <unistd.h>

#include "counters/text_scan.h"
#include "trace/text.h"

namespace chokepoint::counters {

namespace {

constexpr std::uint64_t kMsPerTick = 10;  // USER_HZ is 100 on every Linux that we run on

// Fields after the last ')', counted from 3 as proc(5) does.
enum StatField : std::size_t {
  kMinorFaults = 10,
  kMajorFaults = 12,
  kUserTicks = 14,
  kSystemTicks = 15,
  kThreads = 20,
  kResidentPages = 24,
  kBlockWaitTicks = 42,
};

}  // namespace

void ProcessReader::Init(const CgroupPaths& cgroup) noexcept {
  stat_.SetPath("/proc/self/stat");
  io_.SetPath("/proc/self/io");
  has_quota_ = cgroup.has_quota;
  if (cgroup.cpu[0] == '\0') return;
  char path[kMaxPathBytes];
  trace::Text(path, sizeof(path)).Add(cgroup.cpu).Add("/cpu.stat");
  cgroup_.SetPath(path);
}

void ProcessReader::Close(SysTree* tree) noexcept {
  stat_.Close(tree);
  io_.Close(tree);
  cgroup_.Close(tree);
}

void ProcessReader::ReadStat(const Round& round, trace::ProcessSample* sample) noexcept {
  long result = 0;
  std::string_view text = round.Read(&stat_, &result);
  if (!stat_presence_.Note(round, trace::SamplerSource::kProcess, result, nullptr, "stat")) return;
  const std::size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string_view::npos) return;
  text.remove_prefix(end_of_name + 1);
  std::string_view state;
  TakeWord(&text, &state);
  std::string_view word;
  for (std::size_t field = 4; field <= kBlockWaitTicks && TakeWord(&text, &word); ++field) {
    std::uint64_t value = 0;
    if (!ParseUnsigned(word, &value)) continue;  // tpgid and nice may be negative
    switch (field) {
      case kMinorFaults:
        sample->minor_faults = value;
        break;
      case kMajorFaults:
        sample->major_faults = value;
        break;
      case kUserTicks:
        sample->user_ms = value * kMsPerTick;
        break;
      case kSystemTicks:
        sample->system_ms = value * kMsPerTick;
        break;
      case kThreads:
        sample->threads = static_cast<std::uint32_t>(value);
        break;
      case kResidentPages:
        sample->resident_bytes = value * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
        break;
      case kBlockWaitTicks:
        sample->block_wait_ms = value * kMsPerTick;
        break;
      default:
        break;
    }
  }
}

void ProcessReader::ReadIo(const Round& round, trace::ProcessSample* sample) noexcept {
  long result = 0;
  std::string_view text = round.Read(&io_, &result);
  if (!io_presence_.Note(round, trace::SamplerSource::kProcess, result, nullptr, "io")) return;
  sample->flags |= trace::kProcessHasIo;
  struct Field {
    std::string_view name;
    std::uint64_t* value;
  };
  const Field fields[] = {
      {"rchar:", &sample->read_chars},           {"wchar:", &sample->written_chars},
      {"syscr:", &sample->read_calls},           {"syscw:", &sample->write_calls},
      {"read_bytes:", &sample->disk_read_bytes}, {"write_bytes:", &sample->disk_written_bytes}};
  std::string_view line;
  while (TakeLine(&text, &line)) {
    std::string_view name;
    TakeWord(&line, &name);
    for (const Field& field : fields) {
      if (name == field.name) TakeUnsigned(&line, field.value);
    }
  }
}

void ProcessReader::ReadCgroup(const Round& round, trace::ProcessSample* sample) noexcept {
  if (!cgroup_.has_path()) return;
  long result = 0;
  std::string_view text = round.Read(&cgroup_, &result);
  if (!cgroup_presence_.Note(round, trace::SamplerSource::kCgroup, result, nullptr, "cpu.stat")) {
    return;
  }
  sample->flags |= trace::kProcessHasCgroup;
  if (has_quota_) sample->flags |= trace::kProcessHasQuota;
  std::string_view line;
  while (TakeLine(&text, &line)) {
    std::string_view name;
    std::uint64_t value = 0;
    if (!TakeWord(&line, &name) || !TakeUnsigned(&line, &value)) continue;
    if (name == "usage_usec") sample->cgroup_usage_us = value;
    if (name == "nr_periods") sample->cgroup_periods = value;
    if (name == "nr_throttled") sample->cgroup_throttled = value;
    if (name == "throttled_usec") sample->cgroup_throttled_us = value;
    if (name == "throttled_time") sample->cgroup_throttled_us = value / 1000;  // v1 counts ns
  }
}

void ProcessReader::Sample(const Round& round) noexcept {
  trace::ProcessSample sample;
  sample.ticks = round.now_ticks;
  ReadStat(round, &sample);
  ReadIo(round, &sample);
  ReadCgroup(round, &sample);
  round.sink->Emit(sample);
}

}  // namespace chokepoint::counters
