// Prints what the I/O traces of a directory say, one line per fact, for the tests that compare it
// with what really happened. Must not interpret: sums only.
#include <dirent.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trace/reader.h"

namespace {

using namespace chokepoint::trace;

struct Sum {
  std::uint64_t calls = 0, bytes = 0, failed = 0, timed = 0;
  double ticks = 0;
};

// One trace file.
struct Totals {
  std::map<std::uint32_t, FileObject> files;
  std::map<std::uint16_t, Mount> mounts;
  std::map<std::uint32_t, FileWindow> windows;
  std::map<std::pair<std::uint32_t, std::uint8_t>, Sum> sums;  // by file and call
  std::map<std::uint32_t, ThreadFileTotals> threads;
  std::vector<FileRename> renames;
  std::vector<MappedFile> maps;
  std::vector<Connection> connections;
  std::vector<ConnectionEnd> ends;
  std::vector<NameLookup> lookups;
  std::vector<ProcessLink> links;
  IoCoverage coverage;
  std::uint64_t lost = 0;
  std::uint64_t records = 0;
};

const char* NameOf(std::uint8_t call) {
  static const char* const kNames[] = {"none",   "open",       "close",       "read",
                                       "write",  "stdio_read", "stdio_write", "stdio_flush",
                                       "sync",   "allocate",   "async_read",  "async_write",
                                       "rename", "link",       "unlink",      "map"};
  return call < std::size(kNames) ? kNames[call] : "?";
}

void Add(Totals* totals, const FileCall& call) {
  Sum& sum = totals->sums[{call.file, call.call}];
  sum.calls += call.calls;
  sum.bytes += call.bytes;
  sum.failed += call.error != 0 ? 1 : 0;
  sum.ticks += static_cast<double>(call.end_after_ticks);
}

void AddWindows(Totals* totals) {
  for (const auto& [number, window] : totals->windows) {
    Sum& sum = totals->sums[{window.file, window.call}];
    sum.calls += window.calls;
    sum.bytes += window.bytes;
    sum.failed += window.failed_calls;
    sum.timed += window.timed_calls;
    sum.ticks += static_cast<double>(window.time_ticks);
  }
}

template <class Event>
bool Push(const TraceFile& file, const EventView& view, std::vector<Event>* out) {
  Event event;
  if (!file.Decode(view, &event)) return false;
  out->push_back(event);
  return true;
}

bool TakeLists(const TraceFile& file, const EventView& view, Totals* totals) {
  return Push(file, view, &totals->renames) || Push(file, view, &totals->maps) ||
         Push(file, view, &totals->connections) || Push(file, view, &totals->ends) ||
         Push(file, view, &totals->lookups) || Push(file, view, &totals->links);
}

void Take(const TraceFile& file, const EventView& view, Totals* totals) {
  ++totals->records;
  FileObject object;
  Mount mount;
  FileCall call;
  FileWindow window;
  ThreadFileTotals thread;
  IoCoverage coverage;
  Loss loss;
  if (file.Decode(view, &object)) {
    totals->files[object.file] = object;
  } else if (file.Decode(view, &mount)) {
    totals->mounts[mount.mount] = mount;
  } else if (file.Decode(view, &call)) {
    Add(totals, call);
  } else if (file.Decode(view, &window)) {
    FileWindow& known = totals->windows[window.window];
    if (window.calls >= known.calls) known = window;
  } else if (file.Decode(view, &thread)) {
    ThreadFileTotals& known = totals->threads[thread.thread];
    if (thread.calls >= known.calls) known = thread;
  } else if (file.Decode(view, &coverage)) {
    if (coverage.ticks >= totals->coverage.ticks) totals->coverage = coverage;
  } else if (file.Decode(view, &loss)) {
    totals->lost += loss.events;
  } else {
    TakeLists(file, view, totals);
  }
}

// A line of tab-separated fields.
class Line {
 public:
  explicit Line(const char* kind, unsigned pid) { std::printf("%s\t%u", kind, pid); }
  ~Line() { std::printf("\n"); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  Line& operator<<(std::uint64_t number) {
    std::printf("\t%llu", static_cast<unsigned long long>(number));
    return *this;
  }
  Line& operator<<(std::string_view text) {
    std::printf("\t%.*s", static_cast<int>(text.size()), text.data());
    return *this;
  }
};

std::string_view PathOf(const TraceFile& file, const Totals& totals, std::uint32_t number) {
  const auto object = totals.files.find(number);
  return object != totals.files.end() ? file.name(object->second.name) : std::string_view("?");
}

void PrintCalls(const TraceFile& file, const Totals& totals, unsigned pid) {
  for (const auto& [key, sum] : totals.sums) {
    Line("call", pid) << PathOf(file, totals, key.first) << NameOf(key.second) << sum.calls
                      << sum.bytes << sum.failed << static_cast<std::uint64_t>(sum.ticks)
                      << sum.timed;
  }
}

void PrintFiles(const TraceFile& file, const Totals& totals, unsigned pid) {
  for (const auto& [number, object] : totals.files) {
    const auto mount = totals.mounts.find(object.mount);
    const bool mounted = mount != totals.mounts.end();
    Line("file", pid) << file.name(object.name) << object.file_class << object.flags << object.mode
                      << object.size_bytes
                      << (mounted ? file.name(mount->second.fs_type) : std::string_view("?"))
                      << (mounted ? file.name(mount->second.name) : std::string_view("?"));
  }
}

std::string Address(const field::u8 (&address)[16]) {
  char text[64];
  std::snprintf(text, sizeof(text), "%d.%d.%d.%d", address[12], address[13], address[14],
                address[15]);
  return text;
}

void PrintLists(const TraceFile& file, const Totals& totals, unsigned pid) {
  for (const FileRename& rename : totals.renames) {
    Line(NameOf(rename.call), pid)
        << file.name(rename.from) << file.name(rename.to) << rename.file_class << rename.error;
  }
  for (const MappedFile& map : totals.maps)
    Line("map", pid) << PathOf(file, totals, map.file) << map.bytes;
  for (const ProcessLink& link : totals.links) {
    Line("origin", pid) << link.origin << static_cast<std::uint64_t>(link.parent_pid)
                        << file.name(link.program);
  }
  for (const Connection& connection : totals.connections) {
    Line("connection", pid) << connection.call << Address(connection.peer_address)
                            << connection.peer_port << file.name(connection.name)
                            << connection.error << connection.cookie;
  }
  for (const ConnectionEnd& end : totals.ends) {
    Line("connection_end", pid) << end.cookie << end.received_bytes << end.acked_bytes;
  }
  for (const NameLookup& lookup : totals.lookups) {
    Line("lookup", pid) << file.name(lookup.name) << static_cast<std::uint64_t>(lookup.result);
  }
}

void PrintTotals(const Totals& totals, unsigned pid) {
  const IoCoverage& c = totals.coverage;
  Line("coverage", pid) << c.gaps << c.recorded_read_bytes << c.recorded_written_bytes
                        << c.async_bytes << c.other_read_bytes << c.other_written_bytes << c.rchar
                        << c.wchar << c.mapped_bytes << c.read_bytes << c.write_bytes
                        << c.major_faults << c.minor_faults;
  for (const auto& [thread, t] : totals.threads) {
    Line("thread", pid) << thread << t.calls << t.read_bytes << t.written_bytes
                        << t.stdio_read_bytes << t.stdio_written_bytes << t.async_bytes
                        << NameOf(t.call);
  }
}

// Attaches the ring file of a killed process. Twice, as another process may be moving it beside the
// trace.
bool AttachRing(TraceFile* file, const std::string& directory) {
  for (int i = 0; i < 2; ++i) {
    for (const RingFile& ring : FindRingFiles(directory)) {
      if (ring.trace_path == file->path() && file->AttachRing(ring.ring_path).ok()) return true;
    }
  }
  return false;
}

bool PrintOne(const std::string& directory, const std::string& name) {
  const std::string path = directory + "/" + name;
  std::unique_ptr<TraceFile> file;
  const Status opened = TraceFile::Open(path, &file);
  if (!opened.ok()) {
    std::fprintf(stderr, "io_totals: %s\n", opened.message().c_str());
    return false;
  }
  if (file->header().writer != static_cast<std::uint16_t>(Writer::kIo)) return true;
  const bool salvaged = AttachRing(file.get(), directory);
  Totals totals;
  const ReadResult result = file->Read([&](const EventView& view) { Take(*file, view, &totals); });
  AddWindows(&totals);
  const unsigned pid = file->header().pid;
  Line("trace", pid) << path << result.ended << salvaged << result.lost_bytes << totals.lost
                     << totals.records << result.file_bytes;
  PrintCalls(*file, totals, pid);
  PrintFiles(*file, totals, pid);
  PrintLists(*file, totals, pid);
  PrintTotals(totals, pid);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: io_totals TRACE_DIR\n");
    return 2;
  }
  DIR* directory = opendir(argv[1]);
  if (directory == nullptr) return 0;  // nothing was recorded
  bool good = true;
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (!name.ends_with(".cpt")) continue;
    good = PrintOne(argv[1], name) && good;
  }
  closedir(directory);
  return good ? 0 : 1;
}
