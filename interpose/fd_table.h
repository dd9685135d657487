// Which file each descriptor of this process is open on.
// Must not call the system; a wrong entry may cost a record, never a wrong answer to the program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace chokepoint::interpose {

inline constexpr std::uint32_t kUnknownFile =
    0;  // not looked at yet: inherited, or opened by libc itself
inline constexpr std::uint32_t kIgnoredFile = 1;  // pipe, socket, terminal, /proc, ...
inline constexpr std::uint32_t kFirstFile = 2;    // from here: numbers of files.h
inline constexpr std::int64_t kUnknownPosition = -1;

enum DescriptorFlag : std::uint32_t {
  kDescriptorWritable = 1,
  kDescriptorDirect = 2,
  kDescriptorSought = 4,       // lseek moved it since the last transfer
  kDescriptorStdio = 8,        // a FILE owns it
  kDescriptorConnection = 16,  // a connected socket: `position` is its cookie
};

struct Descriptor {
  std::atomic<std::uint32_t> file;
  std::atomic<std::uint32_t> flags;
  std::atomic<std::int64_t>
      position;  // where the next implicit transfer begins; kUnknownPosition. stdio: see stdio.cc
  std::atomic<std::int64_t> stdio_bytes;  // counted since `position` was settled
};

inline constexpr std::size_t kDescriptors = 65536;
extern Descriptor g_descriptors[kDescriptors];
extern std::atomic<int> g_highest_descriptor;  // ever set: bounds the walk of closefrom

// Null for descriptors beyond the table.
inline Descriptor* FindDescriptor(int fd) {
  return static_cast<unsigned>(fd) < kDescriptors ? &g_descriptors[fd] : nullptr;
}

inline void SetDescriptor(int fd, std::uint32_t file, std::uint32_t flags, std::int64_t position) {
  Descriptor* descriptor = FindDescriptor(fd);
  if (descriptor == nullptr) return;
  if (fd > g_highest_descriptor.load(std::memory_order_relaxed)) {
    g_highest_descriptor.store(fd, std::memory_order_relaxed);
  }
  descriptor->flags.store(flags, std::memory_order_relaxed);
  descriptor->position.store(position, std::memory_order_relaxed);
  descriptor->stdio_bytes.store(0, std::memory_order_relaxed);
  descriptor->file.store(file, std::memory_order_release);
}

// Before the descriptor is closed: another thread may get the number at once.
inline void ForgetDescriptor(int fd) {
  Descriptor* descriptor = FindDescriptor(fd);
  if (descriptor == nullptr || descriptor->file.load(std::memory_order_relaxed) == kUnknownFile) {
    return;
  }
  descriptor->file.store(kUnknownFile, std::memory_order_release);
}

// `to` becomes another name of what `from` is open on. The position is shared with it, so nobody
// knows it from here on.
void CopyDescriptor(int from, int to);

// Forgets first..last, both included.
void ForgetDescriptors(unsigned first, unsigned last);

}  // namespace chokepoint::interpose
