// Finds the trace files below the given paths and opens each; whatever is not a readable trace
// becomes a note of one line. Must not interpret events, and must not refuse anything silently.
#include "tools/model/trace_set.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

namespace chokepoint::tools {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 3;
constexpr auto kRecent =
    std::chrono::seconds(5);  // 20 drain periods: a live recorder has written since

struct Candidates {
  std::vector<std::string> files;
  std::map<std::string, std::string> rings;  // ring file by trace path
  std::map<std::string, bool> alive;         // by trace path
  std::vector<FileNote> notes;
};

void Note(Candidates* found, const std::string& path, const std::string& reason) {
  found->notes.push_back({path, path + ": " + reason, false});
}

void CollectEntry(const fs::directory_entry& entry, int depth, Candidates* found);

// Ring files: salvaged ones lie beside their trace, those of living and of just killed processes in
// shared memory.
void CollectDirectory(const std::string& directory, int depth, Candidates* found) {
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  if (error) {
    Note(found, directory, error.message() + "; check its permissions");
    return;
  }
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    if (error) break;
    CollectEntry(*entries, depth, found);
  }
  if (error) Note(found, directory, error.message() + "; the listing is incomplete");
  for (const trace::RingFile& ring : trace::FindRingFiles(directory)) {
    found->alive[ring.trace_path] = ring.process_alive;
    if (!ring.process_alive) found->rings.try_emplace(ring.trace_path, ring.ring_path);
  }
}

void CollectEntry(const fs::directory_entry& entry, int depth, Candidates* found) {
  const std::string path = entry.path().string();
  std::error_code error;
  const fs::file_status status = entry.status(error);
  const bool is_trace = entry.path().extension() == ".cpt";
  if (fs::is_directory(status) && !is_trace) {
    if (depth < kMaxDepth) {
      CollectDirectory(path, depth + 1, found);
    } else {
      Note(found, path, "too deep below the directory given, not searched; name it as an argument");
    }
  } else if (path.ends_with(".cpt.ring")) {
    found->rings.insert_or_assign(path.substr(0, path.size() - std::strlen(".ring")), path);
  } else if (!is_trace) {
    Note(found, path, "not a trace file (*.cpt); ignored");
  } else if (!fs::is_regular_file(status)) {
    Note(found, path, "not a regular file; ignored, a trace is a plain file");
  } else {
    found->files.push_back(path);
  }
}

bool WrittenRecently(const std::string& path) {
  std::error_code error;
  const auto written = fs::last_write_time(path, error);
  return !error && fs::file_time_type::clock::now() - written < kRecent;
}

}  // namespace

TraceSet OpenTraceSet(const std::vector<std::string>& paths) {
  Candidates found;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      CollectDirectory(path, 0, &found);
    } else if (error || !fs::exists(path, error)) {
      Note(&found, path,
           "no such file or directory; give the directory that holds the *.cpt files");
    } else {
      found.files.push_back(path);
    }
  }
  std::sort(found.files.begin(), found.files.end());
  found.files.erase(std::unique(found.files.begin(), found.files.end()), found.files.end());

  // A process that could not create its trace file has left its ring file only.
  for (const auto& [trace_path, ring_path] : found.rings) {
    std::error_code error;
    if (!fs::exists(trace_path, error)) found.files.push_back(ring_path);
  }

  TraceSet set;
  set.notes = std::move(found.notes);
  for (const std::string& path : found.files) {
    TraceInput input;
    const trace::Status opened = trace::TraceFile::Open(path, &input.file);
    if (!opened.ok()) {
      set.notes.push_back({path, opened.message(), false});
      continue;
    }
    input.process_alive = found.alive[path];
    if (const auto ring = found.rings.find(path);
        ring != found.rings.end() && !input.process_alive) {
      const trace::Status attached = input.file->AttachRing(ring->second);
      input.ring_attached = attached.ok();
      if (!attached.ok()) set.notes.push_back({ring->second, attached.message(), false});
    }
    input.recently_written = WrittenRecently(path);
    set.inputs.push_back(std::move(input));
  }
  std::sort(set.notes.begin(), set.notes.end(),
            [](const FileNote& a, const FileNote& b) { return a.path < b.path; });
  return set;
}

}  // namespace chokepoint::tools
