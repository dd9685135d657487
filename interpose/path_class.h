// What a path says about a file: worth recording, and of which class.
// Must not look at the file itself.
#pragma once

#include <cstddef>

#include "trace/events.h"

namespace chokepoint::interpose {

// /proc, /sys, /dev (but not /dev/shm): never recorded.
bool IsSystemPath(const char* path);

// The class of an absolute or relative path. `written`: it was opened for writing.
trace::FileClass ClassOfPath(const char* path, std::size_t bytes, bool written);

}  // namespace chokepoint::interpose
