// A loaded shared object, and a function of the CUDA runtime inside it.
// It must not know what is done with either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "tests/softgpu/redirect/elf_file.h"

namespace chokepoint::softgpu {

struct Image {
  std::string path;
  uintptr_t bias = 0;
  uintptr_t begin = 0;
  uintptr_t end = 0;
  std::unique_ptr<ElfFile> file;
  uintptr_t first_redirected = 0;  // 0: nothing to redirect here
  int runtime_version = 0;         // of the CUDA runtime inside, see RuntimeVersionFrom
  std::unordered_map<uintptr_t, const char*> function_names;  // filled at the first question
};

struct RuntimeFunction {
  const char* name;
  uintptr_t address;
  size_t size;
};

}  // namespace chokepoint::softgpu
