// Keeps texts (paths, mount points) for as long as the process lives, in one bounded piece of
// memory. Must not give memory back.
#pragma once

#include <cstddef>

namespace chokepoint::interpose {

// `first` then `second`, with NUL. Null when the arena is full. Any thread.
const char* KeepText(const char* first, std::size_t first_bytes, const char* second,
                     std::size_t second_bytes);

}  // namespace chokepoint::interpose
