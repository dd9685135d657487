// Ends the program with 99 and one line on stdout when something did not go as it should; PROGRAM
// is its name. Must not use anything but libc: the line is part of the output that is compared with
// and without the preload library.
#pragma once

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      printf(PROGRAM ":%d: %s: %s\n", __LINE__, #condition, strerror(errno)); \
      fflush(stdout);                                                         \
      _exit(99);                                                              \
    }                                                                         \
  } while (0)
