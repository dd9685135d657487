// Reads small files of /proc and /sys, again and again, through descriptors that stay open.
// Must not block on anything but the kernel's own answer, must not allocate, must not use more
// descriptors than it was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/sampler_enums.h"

namespace chokepoint::counters {

inline constexpr std::size_t kMaxPathBytes = 256;

// What the kernel's refusal means for a source.
trace::SourceState StateOfError(long negative_errno) noexcept;

// The tree that is read: a prefix before every path, a budget of open descriptors, and the cost
// account.
class SysTree {
 public:
  // `root`: "" for this machine; a folder with proc/ and sys/ in it for recorded trees.
  void Init(const char* root, int max_descriptors) noexcept;

  // Writes root + path. False when that does not fit.
  bool Resolve(const char* path, char* out, std::size_t bytes) const noexcept;

  // Opens, reads, closes. At most bytes - 1 are read and NUL is added. Returns the size or -errno.
  long ReadOnce(const char* path, char* out, std::size_t bytes) noexcept;
  // The same, for files of one short line: the line without blanks around it; "" when it cannot be
  // read.
  std::string_view ReadLine(const char* path, char* out, std::size_t bytes) noexcept;
  // A number alone in its file. False when it is not there or not a number.
  bool ReadUnsigned(const char* path, std::uint64_t* out) noexcept;
  bool ReadSigned(const char* path, std::int64_t* out) noexcept;
  bool Exists(const char* path) const noexcept;
  // The last component of what a symbolic link points to; "" when there is none.
  std::string_view LinkName(const char* path, char* out, std::size_t bytes) const noexcept;

  void CountRead() noexcept { ++reads_; }
  void CountError() noexcept { ++errors_; }
  std::uint64_t reads() const noexcept { return reads_; }
  std::uint64_t errors() const noexcept { return errors_; }

  // The budget: whoever takes one and gets true may keep one descriptor open, and gives it back.
  bool TakeDescriptor() noexcept;
  void GiveDescriptor() noexcept { ++descriptors_left_; }

 private:
  char root_[kMaxPathBytes] = {};
  int descriptors_left_ = 0;
  std::uint64_t reads_ = 0;
  std::uint64_t errors_ = 0;
};

// How many descriptors a guest may keep open without the program ever missing one: a sixteenth of
// its limit, 64 at most.
int DescriptorBudget() noexcept;

// One file that is read many times. Contract: not copied while open; one thread.
class SysFile {
 public:
  // Forgets the old file (Close first) and remembers the path, relative to the root. False when it
  // is too long.
  bool SetPath(const char* path) noexcept;
  bool has_path() const noexcept { return path_[0] != '\0'; }

  // Reads from the start of the file; NUL is added. Returns the size, or -errno.
  long Read(SysTree* tree, char* out, std::size_t bytes) noexcept;
  void Close(SysTree* tree) noexcept;
  // True once a file that had been read could no longer be.
  bool gone() const noexcept { return gone_; }
  bool is_open() const noexcept { return fd_ >= 0; }

 private:
  long OpenAndRead(SysTree* tree, char* out, std::size_t bytes) noexcept;
  bool DescriptorIsOurs() const noexcept;
  void Forget(SysTree* tree) noexcept;

  char path_[112] = {};
  int fd_ = -1;
  std::uint32_t reads_ = 0;
  bool gone_ = false;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

// Calls `visit(name, argument)` for each entry of a directory that does not begin with a dot.
// Returns their number, or -errno.
long ForEachEntry(SysTree* tree, const char* path,
                  void (*visit)(const char* name, void* argument) noexcept,
                  void* argument) noexcept;

}  // namespace chokepoint::counters
