// Parses /proc/stat, softnet_stat, meminfo, vmstat and the pressure files.
// Must not depend on the order of names: kernels differ.
#include "counters/host.h"

#include <iterator>

#include "counters/text_scan.h"
#include "trace/text.h"

namespace chokepoint::counters {

namespace {

constexpr std::uint64_t kMsPerTick = 10;  // USER_HZ is 100 on every Linux that we run on

struct NamedValue {
  std::string_view name;
  std::uint64_t* value;
  std::uint64_t factor;
};

// Lines "name value ..." or "name: value ...": adds value * factor where the name is asked for.
template <std::size_t kCount>
void ReadNamed(std::string_view text, const NamedValue (&wanted)[kCount]) noexcept {
  std::string_view line;
  while (TakeLine(&text, &line)) {
    std::string_view name;
    std::uint64_t value = 0;
    if (!TakeWord(&line, &name)) continue;
    for (const NamedValue& one : wanted) {
      const bool prefix = EndsWith(one.name, "*");
      const std::string_view stem(one.name.data(), one.name.size() - (prefix ? 1 : 0));
      if (prefix ? !StartsWith(name, stem) : name != stem) continue;
      if (TakeUnsigned(&line, &value)) *one.value += value * one.factor;
      break;
    }
  }
}

}  // namespace

// user nice system idle iowait irq softirq steal
void CpuReader::ReadCpuLine(std::string_view name, std::string_view numbers,
                            trace::CpuSample* sample) noexcept {
  std::uint64_t v[8] = {};
  if (TakeNumbers(&numbers, v, 8) < 4) return;
  name.remove_prefix(3);
  std::uint64_t cpu = 0;
  if (name.empty()) {
    sample->user_ms = (v[0] + v[1]) * kMsPerTick;
    sample->system_ms = v[2] * kMsPerTick;
    sample->idle_ms = v[3] * kMsPerTick;
    sample->iowait_ms = v[4] * kMsPerTick;
    sample->irq_ms = v[5] * kMsPerTick;
    sample->softirq_ms = v[6] * kMsPerTick;
    sample->steal_ms = v[7] * kMsPerTick;
    return;
  }
  ++sample->cpus;
  if (!ParseUnsigned(name, &cpu) || cpu >= kMost) return;
  Cpu now;
  now.softirq = static_cast<std::uint32_t>(v[6]);
  now.idle = static_cast<std::uint32_t>(v[3] + v[4]);
  for (const std::uint64_t part : v) now.total += static_cast<std::uint32_t>(part);
  const Cpu& before = cpus_[cpu];
  if (previous_ns_ != 0) {
    const std::uint32_t softirq_ms = (now.softirq - before.softirq) * kMsPerTick;
    if (softirq_ms > sample->softirq_cpu_ms && softirq_ms < sample->interval_ms * 2) {
      sample->softirq_cpu_ms = softirq_ms;
      sample->softirq_cpu = static_cast<std::uint32_t>(cpu);
    }
    const std::uint32_t idle = now.idle - before.idle;
    const std::uint32_t total = now.total - before.total;
    if (total > 0 && total < INT32_MAX && std::uint64_t{idle} * 20 < total) {
      ++sample->saturated_cpus;
    }
  }
  cpus_[cpu] = now;
}

void CpuReader::Sample(const Round& round) noexcept {
  long result = 0;
  std::string_view text = round.Read(&file_, &result);
  if (!presence_.Note(round, trace::SamplerSource::kCpu, result)) return;
  trace::CpuSample sample;
  sample.ticks = round.now_ticks;
  if (previous_ns_ != 0) {
    sample.interval_ms = static_cast<std::uint32_t>((round.now_ns - previous_ns_) / 1'000'000);
  }
  std::string_view line;
  while (TakeLine(&text, &line)) {
    std::string_view name;
    std::uint64_t value = 0;
    if (!TakeWord(&line, &name)) continue;
    if (StartsWith(name, "cpu")) {
      ReadCpuLine(name, line, &sample);
    } else if (name == "ctxt" && TakeUnsigned(&line, &value)) {
      sample.context_switches = value;
    } else if (name == "procs_running" && TakeUnsigned(&line, &value)) {
      sample.running = static_cast<std::uint32_t>(value);
    } else if (name == "procs_blocked" && TakeUnsigned(&line, &value)) {
      sample.blocked = static_cast<std::uint32_t>(value);
    }
  }
  previous_ns_ = round.now_ns;
  round.sink->Emit(sample);
}

// Hexadecimal, one line a CPU: processed, dropped, squeezed, ...; 10: flow limit; 12: CPU,
// since 5.10.
void SoftnetReader::Sample(const Round& round) noexcept {
  long result = 0;
  std::string_view text = round.Read(&file_, &result);
  if (!presence_.Note(round, trace::SamplerSource::kSoftnet, result)) return;
  trace::SoftnetSample sample;
  sample.ticks = round.now_ticks;
  std::uint32_t worst = 0;
  std::string_view line;
  for (std::uint64_t number = 0; TakeLine(&text, &line); ++number) {
    std::uint64_t v[13] = {};
    const std::size_t count = TakeNumbers(&line, v, std::size(v), 16);
    if (count < 3) continue;
    sample.processed += v[0];
    sample.dropped += v[1];
    sample.squeezed += v[2];
    sample.flow_limited += v[10];
    const std::uint64_t cpu = count > 12 ? v[12] : number;
    if (cpu >= std::size(trouble_)) continue;
    const std::uint32_t trouble = static_cast<std::uint32_t>(v[1] + v[2]);
    if (trouble - trouble_[cpu] > worst) {
      worst = trouble - trouble_[cpu];
      sample.worst_cpu = static_cast<std::uint32_t>(cpu);
    }
    trouble_[cpu] = trouble;
  }
  round.sink->Emit(sample);
}

void MemoryReader::Init(const CgroupPaths& cgroup) noexcept {
  meminfo_.SetPath("/proc/meminfo");
  vmstat_.SetPath("/proc/vmstat");
  if (cgroup.memory[0] == '\0') return;
  v2_ = cgroup.memory_v2;
  char path[kMaxPathBytes];
  trace::Text(path, sizeof(path))
      .Add(cgroup.memory)
      .Add(v2_ ? "/memory.current" : "/memory.usage_in_bytes");
  used_.SetPath(path);
  trace::Text(path, sizeof(path))
      .Add(cgroup.memory)
      .Add(v2_ ? "/memory.events" : "/memory.failcnt");
  failures_.SetPath(path);
  trace::Text(limit_path_, sizeof(limit_path_))
      .Add(cgroup.memory)
      .Add(v2_ ? "/memory.max" : "/memory.limit_in_bytes");
}

void MemoryReader::Close(SysTree* tree) noexcept {
  meminfo_.Close(tree);
  vmstat_.Close(tree);
  used_.Close(tree);
  failures_.Close(tree);
}

// 0 when there is none: v2 says "max", v1 a number near 2^63.
std::uint64_t MemoryReader::ReadLimit(const Round& round) noexcept {
  constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;
  std::uint64_t limit = 0;
  if (!round.tree->ReadUnsigned(limit_path_, &limit) || limit >= kNoLimit) return 0;
  return limit;
}

void MemoryReader::ReadCgroup(const Round& round, trace::MemorySample* sample) noexcept {
  if (!used_.has_path()) return;
  long result = 0;
  const std::string_view used = Trimmed(round.Read(&used_, &result));
  if (!cgroup_presence_.Note(round, trace::SamplerSource::kCgroup, result, nullptr, "memory")) {
    return;
  }
  if (ParseUnsigned(used, &sample->cgroup_bytes)) sample->flags |= trace::kMemoryHasCgroup;
  sample->cgroup_limit_bytes = ReadLimit(round);
  const std::string_view failures = round.Read(&failures_, &result);
  if (result < 0) return;
  if (v2_) {
    const NamedValue wanted[] = {{"max", &sample->cgroup_failures, 1}};
    ReadNamed(failures, wanted);
  } else {
    ParseUnsigned(Trimmed(failures), &sample->cgroup_failures);
  }
}

void MemoryReader::Sample(const Round& round) noexcept {
  trace::MemorySample sample;
  sample.ticks = round.now_ticks;
  std::uint64_t swap_total = 0;
  std::uint64_t swap_free = 0;
  const NamedValue from_meminfo[] = {{"MemTotal:", &sample.total_bytes, 1024},
                                     {"MemAvailable:", &sample.available_bytes, 1024},
                                     {"Cached:", &sample.cached_bytes, 1024},
                                     {"Dirty:", &sample.dirty_bytes, 1024},
                                     {"Writeback:", &sample.writeback_bytes, 1024},
                                     {"SwapTotal:", &swap_total, 1024},
                                     {"SwapFree:", &swap_free, 1024}};
  long result = 0;
  std::string_view text = round.Read(&meminfo_, &result);
  if (meminfo_presence_.Note(round, trace::SamplerSource::kMemory, result, nullptr, "meminfo")) {
    ReadNamed(text, from_meminfo);
    sample.swap_used_bytes = swap_total - swap_free;
    sample.flags |= trace::kMemoryHasHost;
  }
  const NamedValue from_vmstat[] = {{"pgmajfault", &sample.major_faults, 1},
                                    {"pswpin", &sample.swap_in_pages, 1},
                                    {"pswpout", &sample.swap_out_pages, 1},
                                    {"allocstall*", &sample.direct_reclaims, 1}};
  text = round.Read(&vmstat_, &result);
  if (vmstat_presence_.Note(round, trace::SamplerSource::kMemory, result, nullptr, "vmstat")) {
    ReadNamed(text, from_vmstat);
  }
  ReadCgroup(round, &sample);
  round.sink->Emit(sample);
}

void PressureReader::Init(const CgroupPaths& cgroup) noexcept {
  host_.cpu.SetPath("/proc/pressure/cpu");
  host_.io.SetPath("/proc/pressure/io");
  host_.memory.SetPath("/proc/pressure/memory");
  if (cgroup.pressure[0] == '\0') return;
  char path[kMaxPathBytes];
  trace::Text(path, sizeof(path)).Add(cgroup.pressure).Add("/cpu.pressure");
  cgroup_.cpu.SetPath(path);
  trace::Text(path, sizeof(path)).Add(cgroup.pressure).Add("/io.pressure");
  cgroup_.io.SetPath(path);
  trace::Text(path, sizeof(path)).Add(cgroup.pressure).Add("/memory.pressure");
  cgroup_.memory.SetPath(path);
}

void PressureReader::Close(SysTree* tree) noexcept {
  for (Scope* scope : {&host_, &cgroup_}) {
    for (SysFile* file : {&scope->cpu, &scope->io, &scope->memory}) file->Close(tree);
  }
}

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345" and the same with "full".
void PressureReader::SampleScope(const Round& round, Scope* scope,
                                 trace::PressureScope name) noexcept {
  trace::PressureSample sample;
  sample.scope = static_cast<std::uint8_t>(name);
  sample.ticks = round.now_ticks;
  struct Part {
    SysFile* file;
    std::uint64_t* some;
    std::uint64_t* full;
    unsigned some_bit, full_bit;
  };
  const Part parts[] = {{&scope->cpu, &sample.cpu_some_us, nullptr, 1, 0},
                        {&scope->io, &sample.io_some_us, &sample.io_full_us, 2, 4},
                        {&scope->memory, &sample.memory_some_us, &sample.memory_full_us, 8, 16}};
  long last = 0;
  for (const Part& part : parts) {
    long result = 0;
    std::string_view text = round.Read(part.file, &result);
    if (result < 0) last = result;
    std::string_view line;
    while (TakeLine(&text, &line)) {
      const bool full = StartsWith(line, "full");
      const std::size_t at = line.find("total=");
      std::uint64_t* out = full ? part.full : part.some;
      if (at == std::string_view::npos || out == nullptr) continue;
      line.remove_prefix(at + 6);
      if (ParseUnsigned(Trimmed(line), out)) {
        sample.known =
            static_cast<std::uint8_t>(sample.known | (full ? part.full_bit : part.some_bit));
      }
    }
  }
  const char* counter = name == trace::PressureScope::kHost ? "host" : "cgroup";
  scope->presence.Note(round, trace::SamplerSource::kPressure, sample.known == 0 ? last : 0,
                       nullptr, counter);
  if (sample.known != 0) round.sink->Emit(sample);
}

void PressureReader::Sample(const Round& round) noexcept {
  SampleScope(round, &host_, trace::PressureScope::kHost);
  if (cgroup_.cpu.has_path()) SampleScope(round, &cgroup_, trace::PressureScope::kCgroup);
}

}  // namespace chokepoint::counters
