// Small files by direct system calls, and the check that a kept descriptor is still ours.
// Must not close a descriptor that the program has taken over.
#include "counters/sysfs.h"

#include <dirent.h>

#include <cerrno>
#include <cstring>

#include "counters/text_scan.h"
#include "trace/raw_io.h"
#include "trace/text.h"

namespace chokepoint::counters {

namespace raw = trace::raw;

namespace {

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

// Files of /proc/net come in pieces of at most a page that end at a line; no line is half a page
// long.
constexpr long kPieceThatMayNotBeTheLast = 2048;

long ReadAll(int fd, char* out, std::size_t bytes) noexcept {
  std::size_t size = 0;
  while (size + 1 < bytes) {
    const long got = raw::PRead(fd, out + size, bytes - 1 - size, size);
    if (got < 0) {
      if (got == -EINTR) continue;
      if (size == 0) return got;
      break;
    }
    size += static_cast<std::size_t>(got);
    if (got < kPieceThatMayNotBeTheLast) break;
  }
  out[size] = '\0';
  return static_cast<long>(size);
}

}  // namespace

trace::SourceState StateOfError(long negative_errno) noexcept {
  switch (-negative_errno) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ENOTDIR:
      return trace::SourceState::kMissing;
    case EACCES:
    case EPERM:
      return trace::SourceState::kForbidden;
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
    case EAFNOSUPPORT:
    case EINVAL:
    case ENOSYS:
      return trace::SourceState::kUnsupported;
    default:
      return trace::SourceState::kUnreadable;
  }
}

int DescriptorBudget() noexcept {
  constexpr std::uint64_t kMost = 64;
  std::uint64_t limit = 0;
  if (raw::SoftLimit(RLIMIT_NOFILE, &limit) < 0) return 0;
  const std::uint64_t share = limit / 16;
  return static_cast<int>(share < kMost ? share : kMost);
}

void SysTree::Init(const char* root, int max_descriptors) noexcept {
  trace::Text(root_, sizeof(root_)).Add(root == nullptr ? "" : root);
  descriptors_left_ = max_descriptors;
}

bool SysTree::Resolve(const char* path, char* out, std::size_t bytes) const noexcept {
  trace::Text text(out, bytes);
  text.Add(root_).Add(path);
  return !text.cut();
}

bool SysTree::TakeDescriptor() noexcept {
  if (descriptors_left_ <= 0) return false;
  --descriptors_left_;
  return true;
}

long SysTree::ReadOnce(const char* path, char* out, std::size_t bytes) noexcept {
  out[0] = '\0';
  char full[kMaxPathBytes * 2];
  if (!Resolve(path, full, sizeof(full))) return -ENAMETOOLONG;
  CountRead();
  const int fd = raw::Open(full, kOpenFlags);
  long size = fd;
  if (fd >= 0) {
    size = ReadAll(fd, out, bytes);
    raw::Close(fd);
  }
  if (size < 0) CountError();
  return size;
}

std::string_view SysTree::ReadLine(const char* path, char* out, std::size_t bytes) noexcept {
  const long size = ReadOnce(path, out, bytes);
  if (size <= 0) return {};
  const std::string_view line = Trimmed({out, static_cast<std::size_t>(size)});
  // why: callers hand `out` on as a C string.
  std::memmove(out, line.data(), line.size());
  out[line.size()] = '\0';
  return {out, line.size()};
}

bool SysTree::ReadUnsigned(const char* path, std::uint64_t* out) noexcept {
  char text[64];
  return ParseUnsigned(ReadLine(path, text, sizeof(text)), out);
}

bool SysTree::ReadSigned(const char* path, std::int64_t* out) noexcept {
  char text[64];
  return ParseSigned(ReadLine(path, text, sizeof(text)), out);
}

bool SysTree::Exists(const char* path) const noexcept {
  char full[kMaxPathBytes * 2];
  struct stat status;
  return Resolve(path, full, sizeof(full)) && raw::LStat(full, &status) >= 0;
}

std::string_view SysTree::LinkName(const char* path, char* out, std::size_t bytes) const noexcept {
  char full[kMaxPathBytes * 2];
  char target[kMaxPathBytes * 2];
  out[0] = '\0';
  if (!Resolve(path, full, sizeof(full))) return {};
  const long size = raw::ReadLink(full, target, sizeof(target) - 1);
  if (size <= 0) return {};
  std::string_view name(target, static_cast<std::size_t>(size));
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  trace::Text text(out, bytes);
  text.Add(name.data(), name.size());
  return {text.text(), text.size()};
}

bool SysFile::SetPath(const char* path) noexcept {
  trace::Text text(path_, sizeof(path_));
  text.Add(path);
  gone_ = false;
  if (!text.cut()) return true;
  path_[0] = '\0';
  return false;
}

bool SysFile::DescriptorIsOurs() const noexcept {
  struct stat status;
  return raw::FStat(fd_, &status) >= 0 && status.st_ino == inode_ && status.st_dev == device_;
}

void SysFile::Forget(SysTree* tree) noexcept {
  fd_ = -1;
  tree->GiveDescriptor();
}

void SysFile::Close(SysTree* tree) noexcept {
  if (fd_ < 0) return;
  // why: a program that closes all descriptors has closed ours too, and may use the number again.
  if (DescriptorIsOurs()) raw::Close(fd_);
  Forget(tree);
}

long SysFile::OpenAndRead(SysTree* tree, char* out, std::size_t bytes) noexcept {
  char full[kMaxPathBytes * 2];
  if (path_[0] == '\0' || !tree->Resolve(path_, full, sizeof(full))) return -ENOENT;
  int fd = raw::Open(full, kOpenFlags);
  if (fd < 0) return fd;
  const long size = ReadAll(fd, out, bytes);
  struct stat status;
  if (size < 0 || !tree->TakeDescriptor()) {
    raw::Close(fd);
  } else if ((fd = raw::MoveDescriptorUp(fd)) < 0 || raw::FStat(fd, &status) < 0) {
    if (fd >= 0) raw::Close(fd);
    tree->GiveDescriptor();
  } else {
    fd_ = fd;
    inode_ = status.st_ino;
    device_ = status.st_dev;
  }
  return size;
}

long SysFile::Read(SysTree* tree, char* out, std::size_t bytes) noexcept {
  constexpr std::uint32_t kReadsBetweenChecks = 8;
  tree->CountRead();
  out[0] = '\0';
  long size = -EBADF;
  if (fd_ >= 0) {
    if (++reads_ % kReadsBetweenChecks != 0 || DescriptorIsOurs()) {
      size = ReadAll(fd_, out, bytes);
    }
    if (size < 0) Close(tree);
  }
  if (size < 0) size = OpenAndRead(tree, out, bytes);
  if (size < 0) {
    tree->CountError();
    gone_ = true;
  } else {
    gone_ = false;
  }
  return size;
}

long ForEachEntry(SysTree* tree, const char* path,
                  void (*visit)(const char* name, void* argument) noexcept,
                  void* argument) noexcept {
  char full[kMaxPathBytes * 2];
  if (!tree->Resolve(path, full, sizeof(full))) return -ENAMETOOLONG;
  tree->CountRead();
  const int fd = raw::Open(full, kOpenFlags | O_DIRECTORY);
  if (fd < 0) return fd;
  alignas(8) char entries[4096];
  long count = 0;
  long got = 0;
  while ((got = raw::ReadDirectory(fd, entries, sizeof(entries))) > 0) {
    for (long at = 0; at < got;) {
      // linux_dirent64: u64 inode, i64 offset, u16 record bytes, u8 type, name.
      std::uint16_t record_bytes = 0;
      std::memcpy(&record_bytes, entries + at + 16, sizeof(record_bytes));
      const char* name = entries + at + 19;
      if (name[0] != '.') {
        visit(name, argument);
        ++count;
      }
      at += record_bytes;
    }
  }
  raw::Close(fd);
  return got < 0 ? got : count;
}

}  // namespace chokepoint::counters
