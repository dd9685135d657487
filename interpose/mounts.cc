// Reads /proc/self/mountinfo when a device is met for the first time.
// Must not allocate; one thread reads, the others go without for that moment.
#include "interpose/mounts.h"

#include <sys/sysmacros.h>

#include <cstring>

#include "interpose/process_state.h"
#include "interpose/text_arena.h"
#include "trace/raw_io.h"
#include "trace/recorder.h"

namespace chokepoint::interpose {

namespace {

namespace raw = trace::raw;

constexpr std::uint16_t kMaxMounts = 256;
constexpr std::size_t kMaxMountinfoBytes = 512 * 1024;

struct KnownMount {
  std::uint64_t device;
  const char* point;
  const char* type;
  const char* source;
  bool whole;  // the mount shows the file system from its root, not a part (a bind mount)
  std::atomic<std::uint32_t> told_generation;
};

KnownMount g_mounts[kMaxMounts];  // [0] is not used
std::atomic<std::uint16_t> g_count{1};
std::atomic<std::uint32_t> g_reading{0};

struct Field {
  const char* begin;
  std::size_t bytes;
};

// The next word of a line; empty at its end.
Field NextField(const char** at) {
  while (**at == ' ') ++*at;
  const char* begin = *at;
  while (**at != ' ' && **at != '\n' && **at != '\0') ++*at;
  return {begin, static_cast<std::size_t>(*at - begin)};
}

std::uint64_t Device(const Field& text) {
  unsigned numbers[2] = {0, 0};
  int part = 0;
  for (std::size_t i = 0; i < text.bytes; ++i) {
    if (text.begin[i] == ':') {
      part = 1;
    } else {
      numbers[part] = numbers[part] * 10 + static_cast<unsigned>(text.begin[i] - '0');
    }
  }
  return makedev(numbers[0], numbers[1]);
}

std::uint16_t Find(std::uint64_t device) {
  const std::uint16_t count = g_count.load(std::memory_order_acquire);
  for (std::uint16_t i = 1; i < count; ++i) {
    if (g_mounts[i].device == device) return i;
  }
  return 0;
}

// "36 35 98:0 /root /point options shared:1 - ext4 /dev/sda1 rw": the fields before " - " vary in
// number.
void AddLine(const char* line) {
  const char* at = line;
  NextField(&at);
  NextField(&at);
  const std::uint64_t device = Device(NextField(&at));
  const Field root = NextField(&at);
  const Field point = NextField(&at);
  for (;;) {
    const Field field = NextField(&at);
    if (field.bytes == 0) return;
    if (field.bytes == 1 && field.begin[0] == '-') break;
  }
  const Field type = NextField(&at);
  const Field source = NextField(&at);
  const bool whole = root.bytes == 1;
  const std::uint16_t count = g_count.load(std::memory_order_relaxed);
  std::uint16_t place = Find(device);
  // why: of several mounts of one device, the whole file system's says more than a bind mount's.
  if (place != 0 && (!whole || g_mounts[place].whole)) return;
  if (place == 0) place = count;
  if (place >= kMaxMounts) return;
  g_mounts[place].device = device;
  g_mounts[place].point = KeepText(point.begin, point.bytes, "", 0);
  g_mounts[place].type = KeepText(type.begin, type.bytes, "", 0);
  g_mounts[place].source = KeepText(source.begin, source.bytes, "", 0);
  g_mounts[place].whole = whole;
  if (place == count)
    g_count.store(static_cast<std::uint16_t>(count + 1), std::memory_order_release);
}

void ReadMountinfo() {
  if (g_reading.exchange(1, std::memory_order_acquire) != 0) return;
  auto* text = static_cast<char*>(raw::MapAnonymous(kMaxMountinfoBytes));
  if (text != nullptr) {
    raw::ReadSmallFile("/proc/self/mountinfo", text, kMaxMountinfoBytes);
    for (const char* line = text; *line != '\0';) {
      AddLine(line);
      const char* end = std::strchr(line, '\n');
      if (end == nullptr) break;
      line = end + 1;
    }
    raw::Unmap(text, kMaxMountinfoBytes);
  }
  g_reading.store(0, std::memory_order_release);
}

std::uint16_t MountOf(std::uint64_t device) {
  const std::uint16_t known = Find(device);
  if (known != 0) return known;
  ReadMountinfo();
  const std::uint16_t found = Find(device);
  if (found != 0) return found;
  // why: file systems with device numbers of their own (btrfs subvolumes) are not in the list:
  // remember that, once.
  const std::uint16_t count = g_count.load(std::memory_order_relaxed);
  if (count >= kMaxMounts || g_reading.exchange(1, std::memory_order_acquire) != 0) return 0;
  g_mounts[count].device = device;
  g_mounts[count].point = "";
  g_mounts[count].type = "";
  g_mounts[count].source = "";
  g_count.store(static_cast<std::uint16_t>(count + 1), std::memory_order_release);
  g_reading.store(0, std::memory_order_release);
  return count;
}

// Of a folded file: of the directory before its "/*".
int StatOf(const char* path, bool folded, struct stat* out) {
  if (!folded) return raw::LStat(path, out);
  char directory[1024];
  const std::size_t bytes = std::strlen(path);
  if (bytes < 2 || bytes > sizeof(directory)) return -1;
  std::memcpy(directory, path, bytes - 1);
  directory[bytes - 1] = '\0';
  return raw::LStat(directory, out);
}

}  // namespace

bool LookAtFile(const File& file, int fd, FileFacts* out) {
  *out = FileFacts{};
  if (file.path == nullptr || file.path[0] != '/') return true;
  struct stat status {};
  const bool folded = (file.flags & trace::kFileFolded) != 0;
  if ((fd >= 0 ? raw::FStat(fd, &status) : StatOf(file.path, folded, &status)) != 0) return true;
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return false;
  out->device = status.st_dev;
  out->mount = MountOf(status.st_dev);
  if (folded) return true;
  out->mode = static_cast<std::uint16_t>(status.st_mode);
  out->size_bytes = static_cast<std::uint64_t>(status.st_size);
  out->inode = status.st_ino;
  if (S_ISDIR(status.st_mode)) out->flags = trace::kFileDirectory;
  return true;
}

void TellMount(std::uint16_t mount) {
  KnownMount& known = g_mounts[mount];
  const std::uint32_t generation = g_generation.load(std::memory_order_relaxed);
  if (known.told_generation.exchange(generation, std::memory_order_relaxed) == generation) return;
  trace::Mount record;
  record.mount = mount;
  record.name = trace::InternName(known.point);
  record.fs_type = trace::InternName(known.type);
  record.source = trace::InternName(known.source);
  record.device = known.device;
  trace::Emit(record);
}

}  // namespace chokepoint::interpose
