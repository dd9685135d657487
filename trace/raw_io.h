// Direct system calls: the recorder never meets the preload library's hooks, a newer libc's symbol
// versions, or errno. Must not call libc. Every function returns what the kernel returned: a
// result, or -errno.
#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <initializer_list>

namespace chokepoint::trace::raw {

inline long Call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) noexcept {
#if defined(__x86_64__)
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory", "cc");
  return x0;
#else
#error "chokepoint knows x86-64 and aarch64"
#endif
}

inline long Word(const volatile void* pointer) noexcept {
  return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}
inline long Word(std::size_t number) noexcept { return static_cast<long>(number); }

inline int Open(const char* path, int flags, unsigned mode = 0) noexcept {
  return static_cast<int>(Call(SYS_openat, AT_FDCWD, Word(path), flags, mode));
}
inline int Close(int fd) noexcept { return static_cast<int>(Call(SYS_close, fd)); }
inline long Read(int fd, void* data, std::size_t bytes) noexcept {
  return Call(SYS_read, fd, Word(data), Word(bytes));
}
inline long PRead(int fd, void* data, std::size_t bytes, std::uint64_t offset) noexcept {
  return Call(SYS_pread64, fd, Word(data), Word(bytes), Word(offset));
}
inline long PWrite(int fd, const void* data, std::size_t bytes, std::uint64_t offset) noexcept {
  return Call(SYS_pwrite64, fd, Word(data), Word(bytes), Word(offset));
}
inline long PWriteV(int fd, const iovec* pieces, int count, std::uint64_t offset) noexcept {
  return Call(SYS_pwritev, fd, Word(pieces), count, Word(offset), 0);
}
inline int FStat(int fd, struct stat* out) noexcept {
  return static_cast<int>(Call(SYS_fstat, fd, Word(out)));
}
inline int LStat(const char* path, struct stat* out) noexcept {
  return static_cast<int>(
      Call(SYS_newfstatat, AT_FDCWD, Word(path), Word(out), AT_SYMLINK_NOFOLLOW));
}
inline int Stat(const char* path, struct stat* out) noexcept {
  return static_cast<int>(Call(SYS_newfstatat, AT_FDCWD, Word(path), Word(out), 0));
}
inline int FStatFs(int fd, struct statfs* out) noexcept {
  return static_cast<int>(Call(SYS_fstatfs, fd, Word(out)));
}
inline int Unlink(const char* path) noexcept {
  return static_cast<int>(Call(SYS_unlinkat, AT_FDCWD, Word(path), 0));
}
inline int MakeDirectory(const char* path, unsigned mode) noexcept {
  return static_cast<int>(Call(SYS_mkdirat, AT_FDCWD, Word(path), mode));
}
inline int Truncate(int fd, std::uint64_t bytes) noexcept {
  return static_cast<int>(Call(SYS_ftruncate, fd, Word(bytes)));
}
inline int Allocate(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return static_cast<int>(Call(SYS_fallocate, fd, 0, Word(offset), Word(bytes)));
}
inline int Fcntl(int fd, int command, long argument) noexcept {
  return static_cast<int>(Call(SYS_fcntl, fd, command, argument));
}
inline int Lock(int fd, int operation) noexcept {
  return static_cast<int>(Call(SYS_flock, fd, operation));
}
inline long ReadLink(const char* path, char* out, std::size_t bytes) noexcept {
  return Call(SYS_readlinkat, AT_FDCWD, Word(path), Word(out), Word(bytes));
}
inline long ReadDirectory(int fd, void* out, std::size_t bytes) noexcept {
  return Call(SYS_getdents64, fd, Word(out), Word(bytes));
}
inline int SoftLimit(int resource, std::uint64_t* out) noexcept {
  rlimit limit{};
  const int result =
      static_cast<int>(Call(SYS_prlimit64, 0, resource, 0, Word(static_cast<void*>(&limit))));
  *out = limit.rlim_cur;
  return result;
}

// null when there is no memory.
inline void* Map(std::size_t bytes, int protection, int flags, int fd,
                 std::uint64_t offset) noexcept {
  const long result =
      Call(SYS_mmap, 0, Word(bytes), protection, flags, fd, Word(static_cast<std::size_t>(offset)));
  if (result < 0 && result > -4096) return nullptr;
  return reinterpret_cast<void*>(result);  // NOLINT: the kernel's answer is an address
}
inline void* MapAnonymous(std::size_t bytes) noexcept {
  return Map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
inline void Unmap(void* address, std::size_t bytes) noexcept {
  Call(SYS_munmap, Word(address), Word(bytes));
}

inline std::uint32_t ProcessId() noexcept { return static_cast<std::uint32_t>(Call(SYS_getpid)); }
inline std::uint32_t ThreadId() noexcept { return static_cast<std::uint32_t>(Call(SYS_gettid)); }
inline std::uint32_t UserId() noexcept { return static_cast<std::uint32_t>(Call(SYS_geteuid)); }

// False only when the kernel says so.
inline bool ThreadAlive(std::uint32_t pid, std::uint32_t tid) noexcept {
  constexpr long kNoSuchThread = -3;  // -ESRCH
  return Call(SYS_tgkill, pid, tid, 0) != kNoSuchThread;
}

inline void FutexWake(const volatile void* word, int waiters) noexcept {
  Call(SYS_futex, Word(word), FUTEX_WAKE | FUTEX_PRIVATE_FLAG, waiters);
}
inline void FutexWait(const volatile void* word, std::uint32_t expected,
                      std::uint64_t timeout_ns) noexcept {
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000u);
  timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000u);
  Call(SYS_futex, Word(word), FUTEX_WAIT | FUTEX_PRIVATE_FLAG, expected,
       Word(static_cast<const void*>(&timeout)));
}

// Reads at most `bytes` - 1 bytes of a small file and ends them with NUL. 0 when it cannot be read.
inline std::size_t ReadSmallFile(const char* path, char* out, std::size_t bytes) noexcept {
  out[0] = '\0';
  const int fd = Open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return 0;
  std::size_t size = 0;
  while (size + 1 < bytes) {
    const long got = Read(fd, out + size, bytes - 1 - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  Close(fd);
  out[size] = '\0';
  return size;
}

// Moves a descriptor out of the numbers that programs count on. Returns the one to use.
inline int MoveDescriptorUp(int fd) noexcept {
  std::uint64_t limit = 0;
  if (fd < 0 || SoftLimit(RLIMIT_NOFILE, &limit) < 0) return fd;
  for (const std::uint64_t floor :
       {std::uint64_t{600}, std::uint64_t{200}, limit / 2, std::uint64_t{3}}) {
    if (floor < 3 || floor >= limit) continue;
    const int moved = Fcntl(fd, F_DUPFD_CLOEXEC, static_cast<long>(floor));
    if (moved < 0) continue;
    Close(fd);
    return moved;
  }
  if (fd >= 3) return fd;
  Close(fd);  // why: a descriptor below 3 would receive what the program prints
  return -1;
}

}  // namespace chokepoint::trace::raw
