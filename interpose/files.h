// The files that this process has met: number, path, class; many small ones of a directory share
// one number. Must not grow without bound, lock or allocate; when numbers run out, files share the
// overflow number of their class.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interpose/fd_table.h"
#include "trace/events.h"

namespace chokepoint::interpose {

inline constexpr std::uint32_t kCodeFile = kFirstFile;          // all files of programs
inline constexpr std::uint32_t kOverflowFile = kFirstFile + 1;  // + FileClass
inline constexpr std::uint32_t kFirstFreeFile = 16;
inline constexpr std::uint32_t kMaxFiles = 8192;
inline constexpr std::uint32_t kFoldReadAfter = 256;  // files of one directory that are only read
inline constexpr std::uint32_t kFoldWrittenAfter = 2048;  // files of one directory that are written

struct File {
  std::atomic<std::uint64_t> hash;
  const char* path;
  std::uint8_t file_class;
  std::uint8_t flags;
  std::uint32_t directory;  // number that its directory's files share; 0 = none
  std::uint32_t open_flags;
  std::uint64_t first_ticks;
  std::atomic<std::uint32_t>
      members;  // of a directory's number: files that have numbers of their own
  std::atomic<std::uint32_t> told_generation;  // process generation whose trace has its FileObject
  std::atomic<std::uint64_t> early_bytes[2];   // read, written before recording began
  std::atomic<std::uint64_t> early_calls[2];
};

// Opens of files that are only read are counted for the directory: this number, or the file's own.
std::uint32_t DirectoryOrSelf(std::uint32_t number);

File& FileOf(std::uint32_t number);
std::uint32_t FileCount();  // numbers below it are in use

// Gives the shared numbers their names: when recording begins.
void NameReservedFiles();

// The number of the file that was opened as `path` (relative to the working directory, or absolute)
// on `fd`. kIgnoredFile when it is not to be recorded.
std::uint32_t FileOfPath(const char* path, int open_flags, int fd);

// The same for a descriptor whose path nobody told: asks the kernel.
std::uint32_t FileOfDescriptor(int fd, int open_flags, std::uint8_t flags);

// Looks at a descriptor for the first time and enters it into the table. Returns its file.
std::uint32_t LookAtDescriptor(int fd);

// The number of a path if it was met before; else 0.
std::uint32_t KnownFile(const char* path);

// The absolute path of `path` into `out`. False when it does not fit or the working directory is
// unknown.
bool AbsolutePath(int directory, const char* path, char* out, std::size_t room);

}  // namespace chokepoint::interpose
