// Lists the threads, reads their schedstat, and decides which are worth reading each second.
// Must not keep a descriptor of a thread that has ended.
#include "counters/threads.h"

#include <utility>

#include "counters/text_scan.h"
#include "trace/raw_io.h"
#include "trace/text.h"

namespace chokepoint::counters {

namespace {

constexpr std::uint64_t kWorthARecordNs = 10'000'000;  // 1 % of a second of running or waiting

void TaskPath(std::uint32_t tid, const char* file, char* out, std::size_t bytes) noexcept {
  trace::Text(out, bytes).Add("/proc/self/task/").AddNumber(tid).Add("/").Add(file);
}

}  // namespace

bool ThreadReader::IsPinned(std::uint32_t tid) const noexcept {
  for (std::size_t i = 0; i < pinned_count_; ++i) {
    if (pinned_[i] == tid) return true;
  }
  return false;
}

void ThreadReader::Pin(std::uint32_t tid) noexcept {
  if (tid == 0 || IsPinned(tid) || pinned_count_ == kMostPinned) return;
  pinned_[pinned_count_++] = tid;
}

ThreadReader::Thread* ThreadReader::FindOrAdd(std::uint32_t tid) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (threads_[i].tid == tid) return &threads_[i];
  }
  if (count_ == kMost) return nullptr;
  threads_[count_] = Thread{};
  threads_[count_].tid = tid;
  return &threads_[count_++];
}

bool ThreadReader::ParseInto(std::string_view text, Thread* thread) noexcept {
  std::uint64_t values[3];
  if (TakeNumbers(&text, values, 3) != 3) return false;
  thread->run_ns = values[0];
  thread->wait_ns = values[1];
  thread->slices = values[2];
  return true;
}

void ThreadReader::Record(const Round& round, Thread* thread) noexcept {
  trace::ThreadSample sample;
  sample.flags = thread->flags;
  sample.thread = thread->tid;
  sample.ticks = round.now_ticks;
  sample.run_ns = thread->run_ns;
  sample.wait_ns = thread->wait_ns;
  sample.slices = thread->slices;
  sample.name = thread->name;
  round.sink->Emit(sample);
  thread->written_ns = thread->run_ns + thread->wait_ns;
}

void ThreadReader::ScanOne(const Round& round, std::uint32_t tid) noexcept {
  Thread* thread = FindOrAdd(tid);
  if (thread == nullptr) return;
  const bool is_new = thread->name == 0;
  char path[64];
  char text[128];
  TaskPath(tid, "schedstat", path, sizeof(path));
  const long size = round.tree->ReadOnce(path, text, sizeof(text));
  if (size <= 0 || !ParseInto({text, static_cast<std::size_t>(size)}, thread)) return;
  if (is_new || thread->followed) {  // why: a thread may name itself after it was first seen
    TaskPath(tid, "comm", path, sizeof(path));
    round.tree->ReadLine(path, text, sizeof(text));
    thread->name = round.sink->Name(text);
  }
  thread->seen = true;
  unsigned flags = 0;
  if (tid == trace::raw::ProcessId()) flags |= trace::kThreadMain;
  if (tid == trace::raw::ThreadId()) flags |= trace::kThreadOurs;
  if (IsPinned(tid)) flags |= trace::kThreadPinned;
  thread->flags = static_cast<std::uint16_t>(flags);
  const std::uint64_t total = thread->run_ns + thread->wait_ns;
  thread->moved_ns = total - thread->scanned_ns;
  thread->scanned_ns = total;
  if (is_new || total != thread->written_ns) Record(round, thread);
}

void ThreadReader::Scan(const Round& round) noexcept {
  for (std::size_t i = 0; i < count_; ++i) threads_[i].seen = false;
  std::pair<ThreadReader*, const Round*> argument{this, &round};
  const long found = ForEachEntry(
      round.tree, "/proc/self/task",
      [](const char* name, void* opaque) noexcept {
        const auto* in = static_cast<const std::pair<ThreadReader*, const Round*>*>(opaque);
        std::uint64_t tid = 0;
        if (ParseUnsigned(name, &tid))
          in->first->ScanOne(*in->second, static_cast<std::uint32_t>(tid));
      },
      &argument);
  if (!presence_.Note(round, trace::SamplerSource::kThread, found)) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (threads_[i].seen) threads_[kept++] = threads_[i];
  }
  count_ = kept;
  Follow(round);
}

// Main and pinned threads first, then those that ran or waited most since the previous scan.
void ThreadReader::Follow(const Round& round) noexcept {
  for (std::size_t i = 0; i < count_; ++i) threads_[i].followed = false;
  for (Followed& place : followed_) {
    Thread* best = nullptr;
    for (std::size_t i = 0; i < count_; ++i) {
      Thread& thread = threads_[i];
      const bool critical = (thread.flags & (trace::kThreadMain | trace::kThreadPinned)) != 0;
      if (thread.followed || (!critical && thread.moved_ns < kWorthARecordNs)) continue;
      const bool best_critical =
          best != nullptr && (best->flags & (trace::kThreadMain | trace::kThreadPinned)) != 0;
      if (best == nullptr || (critical && !best_critical) ||
          (critical == best_critical && thread.moved_ns > best->moved_ns)) {
        best = &thread;
      }
    }
    if (best != nullptr) best->followed = true;
    const std::uint32_t tid = best == nullptr ? 0 : best->tid;
    if (place.tid == tid) continue;
    place.file.Close(round.tree);
    place.tid = tid;
    char path[64];
    TaskPath(tid, "schedstat", path, sizeof(path));
    place.file.SetPath(path);
  }
}

void ThreadReader::Sample(const Round& round) noexcept {
  for (Followed& place : followed_) {
    if (place.tid == 0) continue;
    long result = 0;
    const std::string_view text = round.Read(&place.file, &result);
    Thread* thread = FindOrAdd(place.tid);
    if (thread == nullptr || result <= 0 || !ParseInto(text, thread)) {
      place.file.Close(round.tree);
      place.tid = 0;
      continue;
    }
    if (thread->run_ns + thread->wait_ns - thread->written_ns >= kWorthARecordNs) {
      Record(round, thread);
    }
  }
}

void ThreadReader::Close(SysTree* tree) noexcept {
  for (Followed& place : followed_) {
    place.file.Close(tree);
    place.tid = 0;
  }
}

}  // namespace chokepoint::counters
