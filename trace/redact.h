// Paths without their words, for sites whose file names are confidential: CHOKEPOINT_REDACT=1.
// Must not keep anything of a component but a hash; equal components stay equal.
#pragma once

#include <cstddef>

#include "trace/checksum.h"
#include "trace/text.h"

namespace chokepoint::trace {

// "/data/secret/x.bin" -> "/5f2a.../9c11.../07ab...": a hash of 12 hex digits for each component.
inline void RedactPath(const char* path, Text* out) noexcept {
  while (*path != '\0') {
    if (*path == '/') {
      out->AddChar('/');
      ++path;
      continue;
    }
    const std::size_t length = std::strcspn(path, "/");
    out->AddHex(Checksum(path, length) >> 16, 12);
    path += length;
  }
}

}  // namespace chokepoint::trace
