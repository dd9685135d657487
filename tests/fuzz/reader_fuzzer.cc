// libFuzzer on the reader: any bytes as a trace file, and any bytes as a ring file.
// Must not write outside memory: both files are memfds.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "trace/reader.h"

namespace {

using namespace chokepoint::trace;

class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t bytes) : fd_(memfd_create("fuzz", 0)) {
    if (write(fd_, data, bytes) != static_cast<ssize_t>(bytes)) std::abort();
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

void ReadEverything(TraceFile* file) {
  std::uint64_t sum = 0;
  const ReadResult result = file->Read([&](const EventView& view) {
    Collective collective;
    ClockSample clock;
    if (file->Decode(view, &collective)) sum += collective.sequence;
    if (file->Decode(view, &clock)) sum += clock.ticks;
    const SchemaEvent* event = file->schema().Find(view.kind);
    if (event == nullptr) return;
    for (const SchemaField& field : event->fields) {
      for (std::uint32_t i = 0; i < field.length; ++i) {
        sum += ReadField(view.bytes.data(), field, i).unsigned_value;
      }
    }
  });
  if (result.file_bytes != result.read_bytes + result.lost_bytes) std::abort();
  if (file->name(static_cast<std::uint32_t>(sum)).size() > kMaxBlockPayloadBytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const MemoryFile memory(data, bytes);
  std::unique_ptr<TraceFile> file;
  if (TraceFile::Open(memory.path(), &file).ok()) ReadEverything(file.get());
  return 0;
}
