// Sums the totals of all threads and reads /proc/self/io.
// Must not be called more than about once a second: a sample costs two small files.
#include "interpose/coverage.h"

#include <sys/resource.h>

#include <cstring>

#include "interpose/process_state.h"
#include "interpose/thread_state.h"
#include "trace/clock.h"
#include "trace/raw_io.h"
#include "trace/recorder.h"

namespace chokepoint::interpose {

namespace {

namespace raw = trace::raw;

struct KernelCounters {
  std::uint64_t rchar = 0, wchar = 0, read_bytes = 0, write_bytes = 0;
};

std::uint64_t Value(const char* text, const char* key) {
  const char* at = std::strstr(text, key);
  if (at == nullptr) return 0;
  std::uint64_t value = 0;
  for (at += std::strlen(key); *at == ' '; ++at) {
  }
  for (; *at >= '0' && *at <= '9'; ++at) value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  return value;
}

KernelCounters ReadCounters(const char* path) {
  char text[512];
  raw::ReadSmallFile(path, text, sizeof(text));
  return {Value(text, "rchar:"), Value(text, "wchar:"), Value(text, "\nread_bytes:"),
          Value(text, "\nwrite_bytes:")};
}

std::uint64_t Less(std::uint64_t all, std::uint64_t part) { return all > part ? all - part : 0; }

void AddTotals(const trace::ThreadFileTotals& totals, trace::IoCoverage* sum) {
  sum->recorded_read_bytes += totals.read_bytes + totals.stdio_read_bytes;
  sum->recorded_written_bytes += totals.written_bytes + totals.stdio_written_bytes;
  sum->async_bytes += totals.async_bytes;
  sum->other_read_bytes += totals.other_read_bytes;
  sum->other_written_bytes += totals.other_written_bytes;
}

void AddEndedThreads(trace::IoCoverage* sum) {
  const Gate& gate = TheGate();
  sum->threads += gate.ended_threads.load(std::memory_order_relaxed);
  sum->recorded_read_bytes += gate.ended_read_bytes.load(std::memory_order_relaxed);
  sum->recorded_written_bytes += gate.ended_written_bytes.load(std::memory_order_relaxed);
  sum->async_bytes += gate.ended_async_bytes.load(std::memory_order_relaxed);
  sum->other_read_bytes += gate.ended_other_read_bytes.load(std::memory_order_relaxed);
  sum->other_written_bytes += gate.ended_other_written_bytes.load(std::memory_order_relaxed);
}

// What the recorder's own thread read and wrote.
KernelCounters RecorderCounters(std::uint32_t recorder_thread) {
  if (recorder_thread == 0) return {};
  char path[48] = "/proc/self/task/";
  char digits[12];
  int count = 0;
  for (std::uint32_t rest = recorder_thread; rest != 0; rest /= 10) {
    digits[count++] = static_cast<char>('0' + rest % 10);
  }
  std::size_t at = std::strlen(path);
  while (count > 0) path[at++] = digits[--count];
  std::memcpy(path + at, "/io", 4);
  return ReadCounters(path);
}

}  // namespace

void EmitCoverage(std::uint32_t recorder_thread) {
  trace::IoCoverage sample;
  sample.ticks = trace::NowTicks();
  const std::uint32_t threads = TheGate().highest_thread.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < threads; ++i) {
    ThreadState& state = ThreadStateOf(i);
    if (state.alive.load(std::memory_order_acquire) != 1 || state.totals == nullptr) continue;
    ++sample.threads;
    AddTotals(*state.totals, &sample);
  }
  AddEndedThreads(&sample);
  sample.gaps = static_cast<std::uint16_t>(g_gaps.load(std::memory_order_relaxed));
  sample.mapped_bytes = g_mapped_bytes.load(std::memory_order_relaxed);
  const KernelCounters all = ReadCounters("/proc/self/io");
  const KernelCounters own = RecorderCounters(recorder_thread);
  sample.rchar = Less(all.rchar, own.rchar);
  sample.wchar = Less(all.wchar, own.wchar);
  sample.read_bytes = Less(all.read_bytes, own.read_bytes);
  sample.write_bytes = Less(all.write_bytes, own.write_bytes);
  rusage usage{};
  raw::Call(SYS_getrusage, RUSAGE_SELF, raw::Word(static_cast<void*>(&usage)));
  sample.major_faults = static_cast<std::uint64_t>(usage.ru_majflt);
  sample.minor_faults = static_cast<std::uint64_t>(usage.ru_minflt);
  trace::Emit(sample);
}

}  // namespace chokepoint::interpose
