// Another preload library for file I/O, as a site may have one: counts the bytes of read and write
// and says so at the end. Must forward to the next definition in link order.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long g_read_bytes;
static unsigned long g_written_bytes;

ssize_t read(int fd, void* data, size_t bytes) {
  static ssize_t (*next)(int, void*, size_t);
  if (next == NULL) next = (ssize_t(*)(int, void*, size_t))dlsym(RTLD_NEXT, "read");
  const ssize_t got = next(fd, data, bytes);
  if (got > 0) g_read_bytes += (unsigned long)got;
  return got;
}

ssize_t write(int fd, const void* data, size_t bytes) {
  static ssize_t (*next)(int, const void*, size_t);
  if (next == NULL) next = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  const ssize_t put = next(fd, data, bytes);
  if (put > 0) g_written_bytes += (unsigned long)put;
  return put;
}

__attribute__((destructor)) static void Say(void) {
  const char* path = getenv("SECOND_PRELOAD_REPORT");
  FILE* file = path != NULL ? fopen(path, "w") : NULL;
  if (file == NULL) return;
  fprintf(file, "%lu %lu\n", g_read_bytes, g_written_bytes);
  fclose(file);
}
