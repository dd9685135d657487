// Tables of the functions that softgpu implements, filled by the linker from RUNTIME_API and DRIVER_API definitions.
// There are no constructors in this: the tables are needed before constructors have run.
#pragma once
#include "tests/softgpu/cuda/cuda_types.h"

#define SOFTGPU_EXPORT __attribute__((visibility("default")))

// Sizes equal alignments: the linker must find no gaps to fill between the entries.
struct alignas(16) softgpu_runtime_entry {
  const char *name;
  void *function;
};
struct alignas(32) softgpu_driver_entry {
  const char *name;  // as asked of cuGetProcAddress
  int version;       // CUDA version in which this signature appeared
  void *function;
};
static_assert(sizeof(softgpu_runtime_entry) == 16 && sizeof(softgpu_driver_entry) == 32);

// Defines and exports a CUDA runtime function.
#define RUNTIME_API(Return, name, parameters)                                                                       \
  extern "C" SOFTGPU_EXPORT Return name parameters;                                                                 \
  __attribute__((section("softgpu_runtime"), used)) static softgpu_runtime_entry entry_##name = {#name, (void *)name}; \
  Return name parameters

// Defines and exports a driver function.  `symbol` is its name in libcuda.so.1, e.g. cuMemAlloc_v2 for cuMemAlloc.
#define DRIVER_API(name, since, symbol, parameters)                                                                 \
  extern "C" SOFTGPU_EXPORT softgpu::Error symbol parameters;                                                       \
  __attribute__((section("softgpu_driver"), used)) static softgpu_driver_entry entry_##symbol = {#name, since,      \
                                                                                                 (void *)symbol};   \
  softgpu::Error symbol parameters

namespace softgpu {

// The implementation of a runtime function; also found under the names of its per-thread-stream variants.  NULL if none.
void *findRuntimeFunction(const char *name);
// The newest signature that is not newer than `version`.  NULL if there is none.
void *findDriverFunction(const char *name, int version);

// For the function `name`, called though it is not implemented: reports it (once) and returns kNotSupported.
Error reportUnsupported(const char *name);

}  // namespace softgpu
