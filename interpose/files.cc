// The table behind files.h: static, found by the hash of the path.
// Must not allocate or lock; a lost race costs a number.
#include "interpose/files.h"

#include <cstring>

#include "interpose/path_class.h"
#include "interpose/text_arena.h"
#include "interpose/working_directory.h"
#include "trace/clock.h"
#include "trace/raw_io.h"

namespace chokepoint::interpose {

namespace {

namespace raw = trace::raw;
using trace::FileClass;

constexpr std::size_t kIndexSlots = kMaxFiles * 2;
constexpr std::uint64_t kDirectorySalt[2] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu};
constexpr std::size_t kMaxPath = 1000;

File g_files[kMaxFiles];
std::atomic<std::uint32_t> g_index[kIndexSlots];
std::atomic<std::uint32_t> g_next{kFirstFreeFile};

// A path in two pieces: the working directory (or nothing) and what the program gave.
struct Path {
  const char* first;
  std::size_t first_bytes;
  const char* second;
  std::size_t second_bytes;
  std::uint64_t hash;
  std::uint64_t directory_hash;
  std::size_t directory_bytes;  // of both pieces together, with the slash
};

Path MakePath(const char* first, std::size_t first_bytes, std::uint64_t first_hash,
              const char* second) {
  Path path{first, first_bytes, second, std::strlen(second), first_hash, first_hash, first_bytes};
  const char* slash = static_cast<const char*>(memrchr(second, '/', path.second_bytes));
  std::size_t directory = 0;
  if (slash != nullptr) {
    directory = static_cast<std::size_t>(slash + 1 - second);
    path.directory_hash = HashOn(first_hash, second, directory);
    path.directory_bytes = first_bytes + directory;
  }
  path.hash = HashOn(path.directory_hash, second + directory, path.second_bytes - directory);
  return path;
}

std::uint32_t Find(std::uint64_t hash) {
  for (std::size_t i = 0; i < kIndexSlots; ++i) {
    const std::uint32_t number = g_index[(hash + i) % kIndexSlots].load(std::memory_order_acquire);
    if (number == 0) return 0;
    if (g_files[number].hash.load(std::memory_order_relaxed) == hash) return number;
  }
  return 0;
}

// Publishes a filled entry. Returns the number that the hash has now.
std::uint32_t Publish(std::uint64_t hash, std::uint32_t number) {
  for (std::size_t i = 0; i < kIndexSlots; ++i) {
    std::uint32_t found = 0;
    if (g_index[(hash + i) % kIndexSlots].compare_exchange_strong(found, number,
                                                                  std::memory_order_acq_rel)) {
      return number;
    }
    if (g_files[found].hash.load(std::memory_order_relaxed) == hash) return found;
  }
  return 0;
}

// 0 when there is no number or no room for the path.
std::uint32_t Create(std::uint64_t hash, const char* text, FileClass file_class, int open_flags,
                     std::uint8_t flags) {
  if (text == nullptr) return 0;
  if (g_next.load(std::memory_order_relaxed) >= kMaxFiles) return 0;
  const std::uint32_t number = g_next.fetch_add(1, std::memory_order_relaxed);
  if (number >= kMaxFiles) return 0;
  File& file = g_files[number];
  file.path = text;
  file.file_class = static_cast<std::uint8_t>(file_class);
  file.flags = flags;
  file.open_flags = static_cast<std::uint32_t>(open_flags);
  file.first_ticks = trace::NowTicks();
  file.hash.store(hash, std::memory_order_relaxed);
  return Publish(hash, number);
}

std::uint32_t Overflow(FileClass file_class) {
  return kOverflowFile + static_cast<std::uint32_t>(file_class);
}

// The number that all files of the path's directory share; created when first asked for. 0 when
// there is none left.
std::uint32_t DirectoryOf(const Path& path, FileClass file_class, int open_flags,
                          std::uint64_t hash) {
  const std::size_t first =
      path.directory_bytes < path.first_bytes ? path.directory_bytes : path.first_bytes;
  char text[kMaxPath + 2];
  if (path.directory_bytes > kMaxPath) return 0;
  std::memcpy(text, path.first, first);
  std::memcpy(text + first, path.second, path.directory_bytes - first);
  text[path.directory_bytes] = '*';
  const char* kept = KeepText(text, path.directory_bytes + 1, "", 0);
  return Create(hash, kept, file_class, open_flags, trace::kFileFolded);
}

std::uint32_t FileOf(const Path& path, int open_flags, std::uint8_t flags) {
  const std::uint32_t known = Find(path.hash);
  if (known != 0) return known;
  const bool written = (open_flags & O_ACCMODE) != O_RDONLY;
  const std::uint64_t directory_hash = path.directory_hash ^ kDirectorySalt[written ? 1 : 0];
  const std::uint32_t limit = written ? kFoldWrittenAfter : kFoldReadAfter;
  std::uint32_t directory = Find(directory_hash);
  if (directory != 0 && g_files[directory].members.load(std::memory_order_relaxed) >= limit) {
    return directory;
  }
  FileClass file_class = ClassOfPath(path.second, path.second_bytes, written);
  if (path.first_bytes != 0 && file_class == FileClass::kOther) {
    // why only then: a relative name says more than the directory it is in, except inside a
    // program's own tree.
    const FileClass outer = ClassOfPath(path.first, path.first_bytes, written);
    if (outer == FileClass::kCode || outer == FileClass::kCheckpoint) file_class = outer;
  }
  if (file_class == FileClass::kCode) return kCodeFile;
  if (directory == 0) directory = DirectoryOf(path, file_class, open_flags, directory_hash);
  if (directory != 0) g_files[directory].members.fetch_add(1, std::memory_order_relaxed);
  if (path.first_bytes + path.second_bytes > kMaxPath) {
    return directory != 0 ? directory : Overflow(file_class);
  }
  const char* kept = KeepText(path.first, path.first_bytes, path.second, path.second_bytes);
  const std::uint32_t number = Create(path.hash, kept, file_class, open_flags, flags);
  if (number != 0) {
    g_files[number].directory = directory;
    return number;
  }
  return directory != 0 ? directory : Overflow(file_class);
}

// "/proc/self/fd/<fd>"
void DescriptorLink(int fd, char (&out)[32]) {
  std::memcpy(out, "/proc/self/fd/", 14);
  char digits[12];
  int count = 0;
  unsigned rest = static_cast<unsigned>(fd);
  do {
    digits[count++] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  int at = 14;
  while (count > 0) out[at++] = digits[--count];
  out[at] = '\0';
}

bool PathOfDescriptor(int fd, char* out, std::size_t room) {
  char link[32];
  DescriptorLink(fd, link);
  const long got = raw::ReadLink(link, out, room - 1);
  if (got <= 0 || out[0] != '/') return false;
  out[got] = '\0';
  return true;
}

}  // namespace

File& FileOf(std::uint32_t number) { return g_files[number]; }

std::uint32_t DirectoryOrSelf(std::uint32_t number) {
  const std::uint32_t directory = g_files[number].directory;
  return directory != 0 ? directory : number;
}

std::uint32_t FileCount() {
  const std::uint32_t next = g_next.load(std::memory_order_acquire);
  return next < kMaxFiles ? next : kMaxFiles;
}

void NameReservedFiles() {
  g_files[kCodeFile].path = "(program files)";
  g_files[kCodeFile].file_class = static_cast<std::uint8_t>(FileClass::kCode);
  g_files[kCodeFile].flags = trace::kFileFolded;
  for (std::uint32_t number = kOverflowFile;
       number <= kOverflowFile + static_cast<std::uint32_t>(FileClass::kCode); ++number) {
    g_files[number].path = "(other files)";
    g_files[number].file_class = static_cast<std::uint8_t>(number - kOverflowFile);
    g_files[number].flags = trace::kFileFolded | trace::kFileOverflow;
  }
}

std::uint32_t FileOfPath(const char* path, int open_flags, int fd) {
  if (path[0] == '.' && path[1] == '/') {
    while (path[0] == '.' && path[1] == '/') path += 2;
  }
  if (path[0] == '/') {
    if (IsSystemPath(path)) return kIgnoredFile;
    return FileOf(MakePath("", 0, kHashStart, path), open_flags, 0);
  }
  WorkingDirectory here{};
  if (std::strncmp(path, "..", 2) != 0 && CurrentDirectory(&here)) {
    const std::uint32_t number =
        FileOf(MakePath(here.text, here.bytes, here.hash, path), open_flags, 0);
    if (StillValid(here)) return number;
  }
  return FileOfDescriptor(fd, open_flags, 0);
}

std::uint32_t FileOfDescriptor(int fd, int open_flags, std::uint8_t flags) {
  char path[kMaxPath + 2];
  if (!PathOfDescriptor(fd, path, sizeof(path)) || IsSystemPath(path)) return kIgnoredFile;
  return FileOf(MakePath("", 0, kHashStart, path), open_flags, flags);
}

std::uint32_t LookAtDescriptor(int fd) {
  struct stat status {};
  if (raw::FStat(fd, &status) != 0) return kIgnoredFile;
  std::uint32_t file = kIgnoredFile;
  std::uint32_t flags = 0;
  if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) {
    const int open_flags = raw::Fcntl(fd, F_GETFL, 0);
    if (open_flags < 0) return kIgnoredFile;
    file = FileOfDescriptor(fd, open_flags, trace::kFileInherited);
    if ((open_flags & O_ACCMODE) != O_RDONLY) flags |= kDescriptorWritable;
    if ((open_flags & O_DIRECT) != 0) flags |= kDescriptorDirect;
  }
  SetDescriptor(fd, file, flags, kUnknownPosition);
  return file;
}

std::uint32_t KnownFile(const char* path) { return Find(MakePath("", 0, kHashStart, path).hash); }

bool AbsolutePath(int directory, const char* path, char* out, std::size_t room) {
  std::size_t used = 0;
  if (path[0] != '/') {
    while (path[0] == '.' && path[1] == '/') path += 2;
    if (directory == AT_FDCWD) {
      WorkingDirectory here{};
      if (!CurrentDirectory(&here) || here.bytes >= room) return false;
      std::memcpy(out, here.text, here.bytes);
      if (!StillValid(here)) return false;
      used = here.bytes;
    } else {
      if (!PathOfDescriptor(directory, out, room - 1)) return false;
      used = std::strlen(out);
      out[used++] = '/';
    }
  }
  const std::size_t bytes = std::strlen(path);
  if (used + bytes + 1 > room) return false;
  std::memcpy(out + used, path, bytes + 1);
  return true;
}

}  // namespace chokepoint::interpose
