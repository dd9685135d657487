// Does each kind of file call that the preload library takes over, as `io_calls KIND DIRECTORY`.
// Must end with status 0 only when each call did what it should.
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PROGRAM "io_calls"
#include "tests/e2e/programs/check.h"

static char g_buffer[1 << 20];
static char g_path[4096];

static const char* In(const char* directory, const char* name) {
  snprintf(g_path, sizeof(g_path), "%s/%s", directory, name);
  return g_path;
}

static int Make(const char* directory, const char* name, size_t bytes) {
  int fd = open(In(directory, name), O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0);
  for (size_t left = bytes; left > 0;) {
    size_t piece = left < sizeof(g_buffer) ? left : sizeof(g_buffer);
    CHECK(write(fd, g_buffer, piece) == (ssize_t)piece);
    left -= piece;
  }
  CHECK(lseek(fd, 0, SEEK_SET) == 0);
  return fd;
}

static void Plain(const char* directory) {
  int fd = Make(directory, "plain.bin", 3000000);
  ssize_t got;
  size_t total = 0;
  while ((got = read(fd, g_buffer, 65536)) > 0) total += (size_t)got;
  CHECK(total == 3000000);
  CHECK(pwrite(fd, g_buffer, 7000, 100) == 7000);
  CHECK(pread(fd, g_buffer, 9000, 200) == 9000);
  CHECK(close(fd) == 0);
}

static void Small(const char* directory) {
  int fd = Make(directory, "small.bin", 400000);
  for (int i = 0; i < 4000; ++i) CHECK(read(fd, g_buffer, 100) == 100);
  for (int i = 0; i < 1000; ++i) CHECK(pread(fd, g_buffer, 50, (i * 7919) % 399000) == 50);
  CHECK(close(fd) == 0);
}

static void Vectored(const char* directory) {
  int fd = Make(directory, "vectored.bin", 1000000);
  struct iovec pieces[3] = {{g_buffer, 1000}, {g_buffer + 5000, 20000}, {g_buffer + 90000, 30}};
  CHECK(readv(fd, pieces, 3) == 21030);
  CHECK(preadv(fd, pieces, 3, 10) == 21030);
  CHECK(preadv2(fd, pieces, 3, 10, 0) == 21030);
  CHECK(preadv2(fd, pieces, 3, -1, 0) == 21030);
  CHECK(writev(fd, pieces, 2) == 21000);
  CHECK(pwritev(fd, pieces, 2, 77) == 21000);
  CHECK(pwritev2(fd, pieces, 2, 77, 0) == 21000);
  CHECK(close(fd) == 0);
}

static void Copies(const char* directory) {
  int from = Make(directory, "copy_from.bin", 2000000);
  int to = open(In(directory, "copy_to.bin"), O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(to >= 0);
  off_t offset = 0;
  CHECK(sendfile(to, from, &offset, 300000) == 300000);
  CHECK(sendfile(to, from, NULL, 200000) == 200000);
  loff_t in = 1000, out = 5000;
  ssize_t copied = copy_file_range(from, &in, to, &out, 150000, 0);
  CHECK(copied == 150000 ||
        (copied < 0 && (errno == EXDEV || errno == ENOSYS || errno == EOPNOTSUPP)));
  int ends[2];
  CHECK(pipe(ends) == 0);
  CHECK(splice(from, NULL, ends[1], NULL, 40000, 0) == 40000);
  CHECK(splice(ends[0], NULL, to, NULL, 40000, 0) == 40000);
  CHECK(close(from) == 0 && close(to) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
}

static void Stdio(const char* directory) {
  FILE* file = fopen(In(directory, "stdio.txt"), "w+");
  CHECK(file != NULL);
  CHECK(fwrite(g_buffer, 1, 500000, file) == 500000);
  for (int i = 0; i < 1000; ++i) CHECK(fwrite(g_buffer, 10, 3, file) == 3);
  for (int i = 0; i < 1000; ++i) CHECK(fprintf(file, "line %06d\n", i) == 12);
  for (int i = 0; i < 500; ++i) CHECK(putc('x', file) == 'x');
  rewind(file);
  CHECK(fread(g_buffer, 1, 500000, file) == 500000);
  for (int i = 0; i < 42000; ++i) CHECK(getc(file) != EOF);
  CHECK(fclose(file) == 0);
}

static void Duplicates(const char* directory) {
  int fd = Make(directory, "duplicates.bin", 600000);
  int second = dup(fd);
  FILE* file = fdopen(second, "r");
  CHECK(file != NULL);
  CHECK(fread(g_buffer, 1, 100000, file) == 100000);
  CHECK(fclose(file) == 0);
  int third = dup2(fd, 77);
  CHECK(third == 77);
  CHECK(close(fd) == 0);
  CHECK(pwrite(third, g_buffer, 11000, 0) == 11000);
  int fourth = fcntl(third, F_DUPFD_CLOEXEC, 90);
  CHECK(fourth >= 90);
  CHECK(pwrite(fourth, g_buffer, 13000, 0) == 13000);
  CHECK(close(third) == 0 && close(fourth) == 0);
}

static void Durable(const char* directory) {
  char final_path[4096];
  snprintf(final_path, sizeof(final_path), "%s/model.pt", directory);
  int fd = open(In(directory, "model.pt.tmp"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0);
  CHECK(ftruncate(fd, 900000) == 0);
  CHECK(posix_fallocate(fd, 0, 900000) == 0);
  CHECK(write(fd, g_buffer, 900000) == 900000);
  CHECK(fdatasync(fd) == 0);
  CHECK(fsync(fd) == 0);
  CHECK(close(fd) == 0);
  CHECK(rename(In(directory, "model.pt.tmp"), final_path) == 0);
  int parent = open(directory, O_RDONLY);
  CHECK(parent >= 0 && fsync(parent) == 0 && close(parent) == 0);
  fd = open(In(directory, "latest"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  CHECK(write(fd, "step_10\n", 8) == 8 && close(fd) == 0);
}

static void Mapped(const char* directory) {
  int fd = Make(directory, "mapped.bin", 4 << 20);
  char* map = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(map != MAP_FAILED);
  memset(map, 1, 4 << 20);
  CHECK(msync(map, 4 << 20, MS_SYNC) == 0);
  CHECK(munmap(map, 4 << 20) == 0);
  CHECK(close(fd) == 0);
}

static void Numbered(const char* directory) {
  int fd = (int)syscall(SYS_openat, AT_FDCWD, In(directory, "numbered.bin"),
                        O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0);
  CHECK(syscall(SYS_write, fd, g_buffer, 800000L) == 800000);
  CHECK(syscall(SYS_pread64, fd, g_buffer, 70000L, 0L) == 70000);
  CHECK(syscall(SYS_fsync, fd) == 0);
  CHECK(syscall(SYS_read, -1, g_buffer, 1L) == -1 && errno == EBADF);
  CHECK(syscall(SYS_close, fd) == 0);
}

static void PosixAio(const char* directory) {
  int fd = Make(directory, "aio.bin", 0);
  struct aiocb request;
  memset(&request, 0, sizeof(request));
  request.aio_fildes = fd;
  request.aio_buf = g_buffer;
  request.aio_nbytes = 700000;
  CHECK(aio_write(&request) == 0);
  const struct aiocb* list[1] = {&request};
  while (aio_error(&request) == EINPROGRESS)
    CHECK(aio_suspend(list, 1, NULL) == 0 || errno == EINTR);
  CHECK(aio_return(&request) == 700000);
  request.aio_nbytes = 50000;
  CHECK(aio_read(&request) == 0);
  while (aio_error(&request) == EINPROGRESS)
    CHECK(aio_suspend(list, 1, NULL) == 0 || errno == EINTR);
  CHECK(aio_return(&request) == 50000);
  CHECK(close(fd) == 0);
}

static void Relative(const char* directory) {
  CHECK(chdir(directory) == 0);
  CHECK(mkdir("below", 0755) == 0);
  int fd = open("below/relative.bin", O_WRONLY | O_CREAT, 0644);
  CHECK(fd >= 0 && write(fd, g_buffer, 310000) == 310000 && close(fd) == 0);
  CHECK(chdir("below") == 0);
  fd = open("./relative.bin", O_RDONLY);
  CHECK(fd >= 0 && read(fd, g_buffer, 310000) == 310000 && close(fd) == 0);
  fd = open("../below/relative.bin", O_RDONLY);
  CHECK(fd >= 0 && read(fd, g_buffer, 1000) == 1000 && close(fd) == 0);
  int parent = open("..", O_RDONLY | O_DIRECTORY);
  fd = openat(parent, "below/relative.bin", O_RDONLY);
  CHECK(fd >= 0 && read(fd, g_buffer, 2000) == 2000 && close(fd) == 0 && close(parent) == 0);
}

static void ManySmall(const char* directory) {
  char name[64];
  for (int i = 0; i < 600; ++i) {
    snprintf(name, sizeof(name), "sample_%04d.jpg", i);
    int fd = Make(directory, name, 2000);
    CHECK(close(fd) == 0);
  }
  for (int i = 0; i < 600; ++i) {
    snprintf(name, sizeof(name), "sample_%04d.jpg", i);
    int fd = open(In(directory, name), O_RDONLY);
    CHECK(fd >= 0 && read(fd, g_buffer, 4096) == 2000 && read(fd, g_buffer, 4096) == 0 &&
          close(fd) == 0);
  }
}

static void Errors(const char* directory) {
  int fd = Make(directory, "errors.bin", 500000);
  CHECK(close(fd) == 0);
  fd = open(In(directory, "errors.bin"), O_RDONLY);
  CHECK(write(fd, g_buffer, 10) == -1 && errno == EBADF);
  CHECK(pread(fd, g_buffer, 10, -5) == -1 && errno == EINVAL);
  void* volatile nowhere = (void*)8;
  CHECK(read(fd, nowhere, 10) == -1 && errno == EFAULT);
  CHECK(close(fd) == 0);
  CHECK(close(fd) == -1 && errno == EBADF);
  CHECK(read(fd, g_buffer, 1) == -1 && errno == EBADF);
  CHECK(open(In(directory, "missing"), O_RDONLY) == -1 && errno == ENOENT);
}

struct Kind {
  const char* name;
  void (*run)(const char* directory);
};

static const struct Kind kKinds[] = {
    {"plain", Plain},     {"small", Small},       {"vectored", Vectored},
    {"copies", Copies},   {"stdio", Stdio},       {"duplicates", Duplicates},
    {"durable", Durable}, {"mapped", Mapped},     {"numbered", Numbered},
    {"aio", PosixAio},    {"relative", Relative}, {"many_small", ManySmall},
    {"errors", Errors},
};

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (size_t i = 0; i < sizeof(g_buffer); ++i) g_buffer[i] = (char)('a' + i % 26);
  for (size_t i = 0; i < sizeof(kKinds) / sizeof(kKinds[0]); ++i) {
    if (strcmp(argv[1], kKinds[i].name) == 0) {
      kKinds[i].run(argv[2]);
      return 0;
    }
  }
  return 2;
}
