// What processes do to themselves, as `io_process KIND DIRECTORY`: fork, exec, exit, signals,
// threads, closed descriptors. Must print the same with and without the preload library: everything
// that a program can observe of it goes to stdout.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "io_process"
#include "tests/e2e/programs/check.h"

extern char** environ;
static const char* g_self;
static const char* g_directory;
static char g_buffer[1 << 20];

static void In(char* out, size_t room, const char* name) {
  snprintf(out, room, "%s/%s", g_directory, name);
}

static void WriteFile(const char* name, size_t bytes) {
  char path[4096];
  In(path, sizeof(path), name);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0);
  for (size_t left = bytes; left > 0;) {
    size_t piece = left < 65536 ? left : 65536;
    CHECK(write(fd, g_buffer, piece) == (ssize_t)piece);
    left -= piece;
  }
  CHECK(close(fd) == 0);
}

static void Wait(pid_t child) {
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  printf("child: exited %d status %d signal %d\n", WIFEXITED(status),
         WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void Fork(void) {
  WriteFile("parent.bin", 500000);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    WriteFile("child.bin", 700000);
    exit(3);
  }
  Wait(child);
  WriteFile("parent2.bin", 100000);
}

// As data loader workers leave: no handler runs.
static void ForkUnderscoreExit(void) {
  WriteFile("parent.bin", 500000);
  fflush(stdout);
  pid_t children[4];
  for (int i = 0; i < 4; ++i) {
    children[i] = fork();
    if (children[i] == 0) {
      char name[32];
      snprintf(name, sizeof(name), "worker%d.bin", i);
      WriteFile(name, 250000);
      if (i == 0) _Exit(4);
      if (i == 1) quick_exit(5);
      if (i == 2) syscall(SYS_exit_group, 6);
      _exit(7);
    }
  }
  for (int i = 0; i < 4; ++i) Wait(children[i]);
}

static void ForkKilled(void) {
  WriteFile("parent.bin", 500000);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    char path[4096];
    In(path, sizeof(path), "killed.bin");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    for (int i = 0; i < 3000; ++i) {
      CHECK(write(fd, g_buffer, 1000) == 1000);
      if (i == 1000) usleep(400000);
    }
    raise(SIGKILL);
  }
  Wait(child);
}

static void RawFork(void) {
  WriteFile("parent.bin", 500000);
  fflush(stdout);
  pid_t child = _Fork();
  if (child == 0) {
    WriteFile("raw.bin", 600000);
    _exit(0);
  }
  Wait(child);
  child = (pid_t)syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L);
  if (child == 0) {
    WriteFile("cloned.bin", 650000);
    _exit(0);
  }
  Wait(child);
}

static int CloneMain(void* argument) {
  (void)argument;
  WriteFile("clone_main.bin", 123000);
  return 9;
}

static void Clone(void) {
  WriteFile("parent.bin", 500000);
  char* stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  fflush(stdout);
  Wait(clone(CloneMain, stack + (1 << 20), SIGCHLD, NULL));
  Wait(clone(CloneMain, stack + (1 << 20), SIGCHLD | CLONE_VM | CLONE_VFORK, NULL));
  WriteFile("parent2.bin", 100000);
}

// The vfork child closes and duplicates descriptors in its parent's memory; the parent's must stay
// known.
static void Vfork(void) {
  char path[4096];
  In(path, sizeof(path), "kept.bin");
  int kept = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(kept >= 0 && write(kept, g_buffer, 300000) == 300000);
  fflush(stdout);
  for (int i = 0; i < 20; ++i) {
    pid_t child = vfork();
    if (child == 0) {
      close(kept);
      dup2(0, kept);
      for (int fd = 3; fd < 50; ++fd) close(fd);
      if (i % 2 == 0) execl("/bin/true", "true", (char*)NULL);
      _exit(11);
    }
    CHECK(child > 0);
    Wait(child);
  }
  CHECK(write(kept, g_buffer, 200000) == 200000);
  CHECK(close(kept) == 0);
}

static void Spawn(void) {
  WriteFile("parent.bin", 500000);
  fflush(stdout);
  char* arguments[] = {(char*)g_self, "write", (char*)g_directory, NULL};
  pid_t child;
  CHECK(posix_spawn(&child, g_self, NULL, NULL, arguments, environ) == 0);
  Wait(child);
  CHECK(posix_spawnp(&child, "no-such-program-anywhere", NULL, NULL, arguments, environ) == ENOENT);
  printf("system: %d\n", system("exit 5") >> 8);
  FILE* pipe = popen("echo from a pipe", "r");
  CHECK(pipe != NULL && fgets(g_buffer, 100, pipe) != NULL);
  printf("popen: %s", g_buffer);
  printf("pclose: %d\n", pclose(pipe));
}

static void Exec(void) {
  WriteFile("before.bin", 400000);
  fflush(stdout);
  CHECK(execl("/no/such/program", "x", (char*)NULL) == -1 && errno == ENOENT);
  WriteFile("failed.bin", 50000);
  char* arguments[] = {(char*)g_self, "write", (char*)g_directory, NULL};
  execv(g_self, arguments);
  CHECK(0);
}

static void Write(void) { WriteFile("written.bin", 800000); }

struct Kind {
  const char* name;
  void (*run)(void);
};

static const struct Kind kKinds[] = {
    {"fork", Fork},
    {"fork_exit", ForkUnderscoreExit},
    {"fork_killed", ForkKilled},
    {"raw_fork", RawFork},
    {"clone", Clone},
    {"vfork", Vfork},
    {"spawn", Spawn},
    {"exec", Exec},
    {"write", Write},
};

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  g_self = argv[0];
  g_directory = argv[2];
  for (size_t i = 0; i < sizeof(kKinds) / sizeof(kKinds[0]); ++i) {
    if (strcmp(argv[1], kKinds[i].name) == 0) {
      kKinds[i].run();
      return 0;
    }
  }
  return 2;
}
