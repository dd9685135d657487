// Tables of the functions that softgpu implements, filled by the linker from RUNTIME_ENTRY and
// DRIVER_ENTRY lines. It must not use constructors: the tables are needed before any has run.
#pragma once

#include "tests/softgpu/cuda/cuda_types.h"

#define SOFTGPU_EXPORT __attribute__((visibility("default")))

// Sizes equal alignments: the linker must find no gaps to fill between the entries.
struct alignas(16) softgpu_runtime_entry {
  const char* name;
  void* function;
};
struct alignas(32) softgpu_driver_entry {
  const char* name;  // as asked of cuGetProcAddress
  int version;       // CUDA version in which this signature appeared
  void* function;
};
static_assert(sizeof(softgpu_runtime_entry) == 16 && sizeof(softgpu_driver_entry) == 32);

// In front of the definition of a CUDA runtime function; RUNTIME_ENTRY after it puts it into the
// table.
#define RUNTIME_API extern "C" SOFTGPU_EXPORT
#define RUNTIME_ENTRY(name)                                                                       \
  __attribute__((section("softgpu_runtime"), used)) static softgpu_runtime_entry entry_##name = { \
      #name, reinterpret_cast<void*>(name)};

// The same for a driver function. `symbol` is its name in libcuda.so.1, e.g. cuMemAlloc_v2 for
// cuMemAlloc.
#define DRIVER_API extern "C" SOFTGPU_EXPORT chokepoint::softgpu::Error
#define DRIVER_ENTRY(name, since, symbol)                                                         \
  __attribute__((section("softgpu_driver"), used)) static softgpu_driver_entry entry_##symbol = { \
      #name, since, reinterpret_cast<void*>(symbol)};

namespace chokepoint::softgpu {

// The implementation of a runtime function; also found under the names of its per-thread-stream
// variants. NULL if none.
void* FindRuntimeFunction(const char* name);
// The newest signature that is not newer than `version`. NULL if there is none.
void* FindDriverFunction(const char* name, int version);

// For the function `name`, called though it is not implemented: reports it (once) and returns
// kNotSupported.
Error ReportUnsupported(const char* name);

}  // namespace chokepoint::softgpu
