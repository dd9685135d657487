// The lock file: opening it safely, taking it, keeping it, giving it up.
// Must not follow links or trust another user's file: /dev/shm is everybody's.
#include "counters/leader.h"

#include <sys/file.h>

#include <cstring>

#include "trace/raw_io.h"
#include "trace/text.h"

namespace chokepoint::counters {

namespace raw = trace::raw;

namespace {

std::uint64_t HashOf(const char* text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (; *text != '\0'; ++text) {
    hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  }
  return hash;
}

}  // namespace

void HostLeader::Init(const char* directory, const char* scope,
                      std::uint64_t network_namespace) noexcept {
  trace::Text text(path_, sizeof(path_));
  text.Add(directory).Add("/chokepoint-").AddNumber(raw::UserId()).Add("-");
  text.AddHex(HashOf(scope) ^ (network_namespace * 0x9e3779b97f4a7c15u), 16).Add(".leader");
  possible_ = !text.cut();
}

bool HostLeader::Open() noexcept {
  int fd = raw::Open(path_, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
  struct stat status;
  if (fd < 0 || raw::FStat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != raw::UserId()) {
    if (fd >= 0) raw::Close(fd);
    possible_ = false;
    return false;
  }
  fd = raw::MoveDescriptorUp(fd);
  if (fd < 0) return false;
  fd_ = fd;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  standing_still_ = 0;
  possible_ = true;
  return true;
}

// The descriptor is still our file, and the file is still the one that others find.
bool HostLeader::StillMine() const noexcept {
  struct stat status;
  return raw::FStat(fd_, &status) >= 0 && status.st_ino == inode_ && status.st_dev == device_ &&
         status.st_nlink > 0;
}

void HostLeader::CloseFile() noexcept {
  struct stat status;
  if (fd_ >= 0 && raw::FStat(fd_, &status) >= 0 && status.st_ino == inode_ &&
      status.st_dev == device_) {
    raw::Close(fd_);  // else the program has closed it and uses the number itself
  }
  fd_ = -1;
  leads_ = false;
}

void HostLeader::Beat() noexcept {
  ++heartbeat_;
  raw::PWrite(fd_, &heartbeat_, sizeof(heartbeat_), 0);
}

// Somebody else holds the lock. Begins a new file when nobody alive seems to be behind it.
void HostLeader::WatchHeart() noexcept {
  std::uint64_t seen = 0;
  raw::PRead(fd_, &seen, sizeof(seen), 0);
  if (seen != heartbeat_) {
    heartbeat_ = seen;
    standing_still_ = 0;
    return;
  }
  if (++standing_still_ < kPatience) return;
  if (StillMine()) raw::Unlink(path_);
  CloseFile();
}

bool HostLeader::Check() noexcept {
  if (leads_) {
    if (StillMine()) {
      Beat();
      return true;
    }
    CloseFile();
  }
  if (fd_ < 0 && !Open()) return false;
  const int locked = raw::Lock(fd_, LOCK_EX | LOCK_NB);
  if (!StillMine()) {  // taken over, deleted, or closed by the program: the next check opens anew
    CloseFile();
    return false;
  }
  if (locked < 0) {
    WatchHeart();
    return false;
  }
  leads_ = true;
  raw::PRead(fd_, &heartbeat_, sizeof(heartbeat_), 0);
  Beat();
  return true;
}

void HostLeader::Resign() noexcept {
  if (leads_ && StillMine()) raw::Unlink(path_);
  CloseFile();
}

void HostLeader::ForgetAfterFork() noexcept { CloseFile(); }

}  // namespace chokepoint::counters
