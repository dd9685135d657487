// Walks shared memory with getdents, copies with read and write.
// Must not trust a file by its name: owner, type, lock and header are checked.
#include "trace/stale_rings.h"

#include <sys/file.h>

#include <cstring>

#include "trace/process_info.h"
#include "trace/raw_io.h"
#include "trace/text.h"

namespace chokepoint::trace::internal {
namespace {

constexpr int kMostFiles = 16;      // moved by one process
constexpr int kMostEntries = 4096;  // looked at
constexpr std::size_t kCopyBytes = 64 * 1024;

// The kernel's linux_dirent64.
struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t bytes;
  std::uint8_t type;
  char name[1];
};

bool HasRingName(const char* name, std::uint32_t uid) noexcept {
  char prefix[40];
  Text text(prefix, sizeof(prefix));
  text.Add("chokepoint-").AddNumber(uid).AddChar('-');
  const std::size_t length = std::strlen(name);
  return std::strncmp(name, prefix, text.size()) == 0 && length > 5 &&
         std::strcmp(name + length - 5, ".ring") == 0;
}

// True when nobody can be using the file. The lock tells, also across pid namespaces; the pid
// guards against programs that closed our descriptor.
bool OwnerIsDead(int fd, const RingFileHeader& header) noexcept {
  if (raw::Lock(fd, LOCK_EX | LOCK_NB) != 0) return false;
  if (header.pid == raw::ProcessId()) return true;  // before this process executed another program
  return header.pid_namespace != PidNamespace() || ProcessStart(header.pid) != header.process_start;
}

bool CopyTo(int from, const char* path) noexcept {
  const int to = raw::Open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
  if (to < 0) return false;
  static char buffer[kCopyBytes];  // one drain thread per process
  std::uint64_t at = 0;
  bool good = true;
  while (good) {
    const long got = raw::PRead(from, buffer, sizeof(buffer), at);
    if (got <= 0) break;
    good = raw::PWrite(to, buffer, static_cast<std::size_t>(got), at) == got;
    at += static_cast<std::uint64_t>(got);
  }
  raw::Close(to);
  if (!good) raw::Unlink(path);
  return good;
}

bool DirectoryExists(const char* file_path) noexcept {
  char directory[kRingTracePathBytes];
  const char* slash = std::strrchr(file_path, '/');
  if (slash == nullptr) return false;
  Text(directory, sizeof(directory))
      .Add(file_path, static_cast<std::size_t>(slash - file_path + 1));
  struct stat info {};
  return raw::Stat(directory, &info) == 0 && S_ISDIR(info.st_mode);
}

// Returns true when the file was one of a dead process and is gone.
bool Salvage(const char* path) noexcept {
  const int fd = raw::Open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  struct stat info {};
  RingFileHeader header{};
  const bool ours = raw::FStat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                    info.st_uid == raw::UserId() &&
                    raw::PRead(fd, &header, sizeof(header), 0) == sizeof(header) &&
                    header.magic == kRingFileMagic;
  bool gone = false;
  if (ours && OwnerIsDead(fd, header)) {
    char target[kRingTracePathBytes + 8];
    header.trace_path[sizeof(header.trace_path) - 1] = '\0';
    Text text(target, sizeof(target));
    text.Add(header.trace_path).Add(".ring");
    const bool wanted = header.trace_path_set.load() != 0 && DirectoryExists(target);
    // A copy that fails (disk full) leaves the file where it is, for the next process.
    struct stat there {};
    if (!wanted || raw::LStat(target, &there) == 0 || CopyTo(fd, target))
      gone = raw::Unlink(path) == 0;
  }
  raw::Close(fd);
  return gone;
}

}  // namespace

void SalvageStaleRings(const RingMemory& own) noexcept {
  if (!own.shared()) return;
  char path[1024];
  const char* slash = std::strrchr(own.file_path(), '/');
  const auto directory_bytes = static_cast<std::size_t>(slash - own.file_path() + 1);
  Text(path, sizeof(path)).Add(own.file_path(), directory_bytes);
  const int fd = raw::Open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  alignas(8) char entries[8192];
  const std::uint32_t uid = raw::UserId();
  int moved = 0;
  int seen = 0;
  while (moved < kMostFiles && seen < kMostEntries) {
    const long bytes = raw::ReadDirectory(fd, entries, sizeof(entries));
    if (bytes <= 0) break;
    for (long at = 0; at < bytes && moved < kMostFiles; ++seen) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(entries + at);
      at += entry->bytes;
      if (!HasRingName(entry->name, uid)) continue;
      if (std::strcmp(entry->name, slash + 1) == 0) continue;
      Text(path, sizeof(path)).Add(own.file_path(), directory_bytes).Add(entry->name);
      if (Salvage(path)) ++moved;
    }
  }
  raw::Close(fd);
}

}  // namespace chokepoint::trace::internal
