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

#define PROGRAM "io_hazards"
#include "tests/e2e/programs/check.h"

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

static void* ThreadMain(void* argument) {
  char name[32];
  snprintf(name, sizeof(name), "thread%ld.bin", (long)argument);
  WriteFile(name, 3000);
  return NULL;
}

static void Threads(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 * 1024);
  for (long round = 0; round < 10; ++round) {
    pthread_t threads[100];
    for (long i = 0; i < 100; ++i) {
      CHECK(pthread_create(&threads[i], &attributes, ThreadMain, (void*)(round * 100 + i)) == 0);
    }
    for (int i = 0; i < 100; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  }
}

static int g_signal_fd = -1;
static volatile sig_atomic_t g_signals = 0;

static void OnAlarm(int signal) {
  (void)signal;
  int saved = errno;
  if (write(g_signal_fd, "12345", 5) == 5) ++g_signals;
  errno = saved;
}

static void Signals(void) {
  char path[4096];
  In(path, sizeof(path), "signals.bin");
  g_signal_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
  In(path, sizeof(path), "interrupted.bin");
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(pwrite(fd, g_buffer, 300000, 0) == 300000);
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = OnAlarm;
  action.sa_flags = SA_RESTART;
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  struct itimerval timer = {{0, 200}, {0, 200}};
  CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
  for (int i = 0; i < 200000; ++i) CHECK(pread(fd, g_buffer, 10, i) == 10);
  memset(&timer, 0, sizeof(timer));
  CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
  struct stat status;
  CHECK(fstat(g_signal_fd, &status) == 0 && status.st_size == 5 * g_signals);
  printf("signals: %s\n", g_signals > 100 ? "many" : "few");
  sigset_t mask;
  CHECK(sigprocmask(SIG_SETMASK, NULL, &mask) == 0);
  for (int signal = 1; signal < 65; ++signal) printf("%d", sigismember(&mask, signal) == 1);
  printf("\n");
}

static sigjmp_buf g_jump;
static void OnJump(int signal) {
  (void)signal;
  siglongjmp(g_jump, 1);
}

static void LongJump(void) {
  char path[4096];
  In(path, sizeof(path), "jump.bin");
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(pwrite(fd, g_buffer, 300000, 0) == 300000);
  int ends[2];
  CHECK(pipe(ends) == 0);
  signal(SIGALRM, OnJump);
  struct itimerval timer = {{0, 0}, {0, 1000}};
  volatile int jumps = 0;
  for (volatile int i = 0; i < 200; ++i) {
    if (sigsetjmp(g_jump, 1) == 0) {
      CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
      if (i % 2 == 0) {
        for (;;) (void)!pread(fd, g_buffer, 100, 0);
      } else {
        (void)!read(ends[0], g_buffer, 1);
      }
    } else {
      ++jumps;
    }
  }
  printf("jumps: %d\n", jumps);
  CHECK(pwrite(fd, g_buffer, 77000, 0) == 77000);
  close(fd);
  WriteFile("after_jump.bin", 33000);
}

static int g_cancel_pipe[2];
static void* CancelMain(void* argument) {
  (void)argument;
  (void)!read(g_cancel_pipe[0], g_buffer, 10);
  return NULL;
}

static void Cancel(void) {
  CHECK(pipe(g_cancel_pipe) == 0);
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    void* result = NULL;
    CHECK(pthread_create(&thread, NULL, CancelMain, NULL) == 0);
    usleep(2000);
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
  }
  WriteFile("cancel.bin", 310000);
  printf("cancelled\n");
}

// Closes everything that it does not know, as daemons do, and gives the numbers to its own files.
static void CloseAll(void) {
  WriteFile("before.bin", 300000);
  CHECK(close_range(3, ~0u, 0) == 0);
  WriteFile("between.bin", 200000);
  closefrom(3);
  for (int fd = 3; fd < 1024; ++fd) syscall(SYS_close, fd);
  char path[4096];
  int fds[40];
  for (int i = 0; i < 40; ++i) {
    snprintf(path, sizeof(path), "%s/mine%d.bin", g_directory, i);
    fds[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(fds[i] == 3 + i);
    CHECK(write(fds[i], g_buffer, 10000) == 10000);
  }
  usleep(600000);  // the recorder has work to do meanwhile
  for (int i = 0; i < 40; ++i) {
    struct stat status;
    CHECK(fstat(fds[i], &status) == 0 && status.st_size == 10000);
    CHECK(close(fds[i]) == 0);
  }
  printf("closed\n");
}

static void FewDescriptors(void) {
  struct rlimit limit = {16, 16};
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  WriteFile("few.bin", 500000);
  int opened = 0;
  int fds[20];
  while (opened < 20 && (fds[opened] = open("/dev/null", O_RDONLY)) >= 0) ++opened;
  printf("opened %d then %s\n", opened, strerror(errno));
  for (int i = 0; i < opened; ++i) close(fds[i]);
  WriteFile("few2.bin", 100000);
}

static void ClosedStandard(void) {
  close(2);
  WriteFile("no_stderr.bin", 400000);
  close(0);
  int fd = open("/dev/null", O_RDONLY);
  printf("lowest free descriptor: %d\n", fd);
  fd = open("/dev/null", O_RDONLY);
  printf("next: %d\n", fd);
  WriteFile("no_stdin.bin", 100000);
}

static int Recurse(int depth) {
  char path[300];
  if (depth == 0) {
    In(path, sizeof(path), "deep.bin");
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    CHECK(fd >= 0 && write(fd, g_buffer, 350000) == 350000 && close(fd) == 0);
    return 0;
  }
  path[0] = (char)depth;
  return Recurse(depth - 1) + path[0] * 0 + 1;
}

static void Deep(void) { printf("deep: %d\n", Recurse(20000)); }

__attribute__((constructor)) static void Early(void) {
  // Before the program's own main, perhaps before the library's constructor.
  int fd = open("/dev/null", O_WRONLY);
  if (fd >= 0) {
    (void)!write(fd, "early", 5);
    close(fd);
  }
}
static void VeryEarly(void) {
  int fd = open("/dev/null", O_WRONLY);
  if (fd >= 0) {
    (void)!write(fd, "very early", 10);
    close(fd);
  }
}
__attribute__((section(".preinit_array"),
               used)) static void (*const g_very_early)(void) = VeryEarly;

static void Identity(void) {
  // What the kernel gives next is what it would give without us.
  WriteFile("identity.bin", 400000);
  int fd = open("/dev/null", O_RDONLY);
  printf("next descriptor: %d\n", fd);
  struct sigaction action;
  for (int signal = 1; signal < 32; ++signal) {
    CHECK(sigaction(signal, NULL, &action) == 0 || signal == SIGKILL || signal == SIGSTOP);
    printf("%d", action.sa_handler != SIG_DFL);
  }
  printf("\nerrno %d\n", errno);
  errno = 4711;
  char path[4096];
  In(path, sizeof(path), "errno.bin");
  fd = open(path, O_RDWR | O_CREAT, 0644);
  CHECK(write(fd, g_buffer, 1000) == 1000 && lseek(fd, 10, SEEK_SET) == 10 &&
        read(fd, g_buffer, 90) == 90);
  printf("position %ld errno %d\n", (long)lseek(fd, 0, SEEK_CUR), errno);
  close(fd);
  FILE* file = fopen(path, "r");
  CHECK(file != NULL && fseek(file, 100, SEEK_SET) == 0 && getc(file) != EOF);
  printf("position %ld errno %d\n", ftell(file), errno);
  fclose(file);
  printf("errno %d\n", errno);
}

static void* AfterMain(void* argument) {
  (void)argument;
  usleep(300000);
  WriteFile("after_main.bin", 320000);
  return NULL;
}

static void MainLeaves(void) {
  pthread_t thread;
  WriteFile("before.bin", 300000);
  fflush(stdout);
  CHECK(pthread_create(&thread, NULL, AfterMain, NULL) == 0);
  pthread_exit(NULL);
}

// libc makes every thread change its user, and waits for all of them.
static void SetUser(void) {
  WriteFile("before.bin", 300000);
  usleep(300000);
  CHECK(setgid(getgid()) == 0);
  CHECK(setuid(getuid()) == 0);
  printf("user set\n");
}

struct Kind {
  const char* name;
  void (*run)(void);
};

static const struct Kind kKinds[] = {
    {"threads", Threads},
    {"signals", Signals},
    {"long_jump", LongJump},
    {"cancel", Cancel},
    {"close_all", CloseAll},
    {"few_descriptors", FewDescriptors},
    {"closed_standard", ClosedStandard},
    {"deep", Deep},
    {"identity", Identity},
    {"main_leaves", MainLeaves},
    {"set_user", SetUser},
};

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  g_directory = argv[2];
  for (size_t i = 0; i < sizeof(kKinds) / sizeof(kKinds[0]); ++i) {
    if (strcmp(argv[1], kKinds[i].name) == 0) {
      kKinds[i].run();
      return 0;
    }
  }
  return 2;
}
