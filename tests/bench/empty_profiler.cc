// The empty profiler plugin: what any plugin costs before it does anything. The benchmarks'
// yardstick. Must not do more than NCCL requires of it.
#include "plugin/abi/profiler_abi.h"

namespace {

template <class... Arguments>
ncclResult_t Init(void** context, Arguments...) {
  *context = reinterpret_cast<void*>(1);
  return ncclSuccess;
}
template <class Descr>
ncclResult_t Start(void*, void** handle, Descr*) {
  *handle = nullptr;
  return ncclSuccess;
}
ncclResult_t Stop(void*) { return ncclSuccess; }
template <class Args>
ncclResult_t State(void*, int, Args*) {
  return ncclSuccess;
}

}  // namespace

#define EMPTY_PROFILER(number)                                                                 \
  __attribute__((visibility("default"))) ncclProfiler_v##number##_t ncclProfiler_v##number = { \
      "empty", &Init, &Start, &Stop, &State, &Stop};
extern "C" {
EMPTY_PROFILER(1)
EMPTY_PROFILER(2)
EMPTY_PROFILER(3)
EMPTY_PROFILER(4)
EMPTY_PROFILER(5)
EMPTY_PROFILER(6)
EMPTY_PROFILER(7)
}
