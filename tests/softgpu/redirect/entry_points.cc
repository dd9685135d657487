// Looks functions up in the tables that the linker has put together.
// It must not need a constructor: it is used before any has run.
#include "tests/softgpu/redirect/entry_points.h"

#include <cstring>
#include <string>

#include "tests/softgpu/cuda/log.h"

// Made by the linker for sections whose name is a C identifier.
extern __attribute__((visibility("hidden"))) softgpu_runtime_entry __start_softgpu_runtime[],
    __stop_softgpu_runtime[];
extern __attribute__((visibility("hidden"))) softgpu_driver_entry __start_softgpu_driver[],
    __stop_softgpu_driver[];

namespace chokepoint::softgpu {
namespace {

void* ExactRuntimeFunction(const char* name, size_t length) {
  for (auto* e = __start_softgpu_runtime; e != __stop_softgpu_runtime; e++)
    if (strlen(e->name) == length && !memcmp(e->name, name, length)) return e->function;
  return nullptr;
}

}  // namespace

// cudaX_ptsz and cudaX_ptds are cudaX with the per-thread default stream, which softgpu does not
// tell from the NULL stream.
void* FindRuntimeFunction(const char* name) {
  size_t length = strlen(name);
  if (void* function = ExactRuntimeFunction(name, length)) return function;
  if (length > 5 && (!strcmp(name + length - 5, "_ptsz") || !strcmp(name + length - 5, "_ptds")))
    return ExactRuntimeFunction(name, length - 5);
  return nullptr;
}

void* FindDriverFunction(const char* name, int version) {
  softgpu_driver_entry* best = nullptr;
  for (auto* e = __start_softgpu_driver; e != __stop_softgpu_driver; e++) {
    if (!strcmp(e->name, name) && e->version <= version && (!best || e->version > best->version))
      best = e;
  }
  return best ? best->function : nullptr;
}

Error ReportUnsupported(const char* name) {
  if (FirstTime(std::string("unsupported ") + name))
    LogLine(1, "%s was called: softgpu does not implement it", name);
  return kNotSupported;
}

}  // namespace chokepoint::softgpu
