// Where a file lives: its facts from the kernel, and the mount that its device number belongs to.
// Must not be asked on a hot path: each answer is one system call, the first one reads
// /proc/self/mountinfo.
#pragma once

#include <cstdint>

#include "interpose/files.h"

namespace chokepoint::interpose {

struct FileFacts {
  std::uint16_t mount;  // 0: unknown
  std::uint16_t mode;
  std::uint8_t flags;  // trace::FileFlag
  std::uint64_t size_bytes;
  std::uint64_t device;
  std::uint64_t inode;
};

// By `fd` when it is one, else by path. False: it is neither a file nor a directory.
bool LookAtFile(const File& file, int fd, FileFacts* out);

// Emits the Mount record if this process's trace lacks it.
void TellMount(std::uint16_t mount);

}  // namespace chokepoint::interpose
