// The working directory, remembered so that a relative path costs no system call.
// Must not be trusted after it changed: callers check with Valid().
#pragma once

#include <cstddef>
#include <cstdint>

namespace chokepoint::interpose {

inline constexpr std::uint64_t kHashStart = 14695981039346656037u;

// FNV-1a: can be continued, so a directory's hash is a prefix of its files' hashes.
inline std::uint64_t HashOn(std::uint64_t hash, const char* text, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    hash = (hash ^ static_cast<unsigned char>(text[i])) * 1099511628211u;
  }
  return hash;
}

struct WorkingDirectory {
  const char* text;  // ends with '/'
  std::size_t bytes;
  std::uint64_t hash;  // of text
  std::uint32_t version;
};

// False when it is unknown, too long, or being looked up by another thread.
bool CurrentDirectory(WorkingDirectory* out);

// After `directory.text` was used: false when it may have been overwritten meanwhile.
bool StillValid(const WorkingDirectory& directory);

void WorkingDirectoryChanged();

}  // namespace chokepoint::interpose
