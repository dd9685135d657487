// The exported profiler tables, versions 1 to 7, and nothing else.
// Must not hold logic: what differs between versions is in profiler_abi.h and profiler_decode.h.
#include "plugin/profiler.h"

namespace chokepoint::plugin {
namespace {

#define CHOKEPOINT_PROFILER_VERSION(number)                \
  struct V##number {                                       \
    static constexpr int kVersion = number;                \
    using Descr = ncclProfilerEventDescr_v##number##_t;    \
    using Args = ncclProfilerEventStateArgs_v##number##_t; \
  };
CHOKEPOINT_PROFILER_VERSION(1)
CHOKEPOINT_PROFILER_VERSION(2)
CHOKEPOINT_PROFILER_VERSION(3)
CHOKEPOINT_PROFILER_VERSION(4)
CHOKEPOINT_PROFILER_VERSION(5)
CHOKEPOINT_PROFILER_VERSION(6)
CHOKEPOINT_PROFILER_VERSION(7)

}  // namespace
}  // namespace chokepoint::plugin

#define CHOKEPOINT_EXPORT_PROFILER(number, init_function)                                     \
  __attribute__((visibility("default"), used))                                                \
  ncclProfiler_v##number##_t ncclProfiler_v##number = {                                       \
      .name = "chokepoint",                                                                   \
      .init = &chokepoint::plugin::Profiler<chokepoint::plugin::V##number>::init_function,    \
      .startEvent = &chokepoint::plugin::Profiler<chokepoint::plugin::V##number>::StartEvent, \
      .stopEvent = &chokepoint::plugin::Profiler<chokepoint::plugin::V##number>::StopEvent,   \
      .recordEventState =                                                                     \
          &chokepoint::plugin::Profiler<chokepoint::plugin::V##number>::RecordEventState,     \
      .finalize = &chokepoint::plugin::Profiler<chokepoint::plugin::V##number>::Finalize,     \
  };

extern "C" {
CHOKEPOINT_EXPORT_PROFILER(1, Init)
CHOKEPOINT_EXPORT_PROFILER(2, Init)
CHOKEPOINT_EXPORT_PROFILER(3, Init)
CHOKEPOINT_EXPORT_PROFILER(4, InitV4)
CHOKEPOINT_EXPORT_PROFILER(5, InitV5)
CHOKEPOINT_EXPORT_PROFILER(6, InitV5)
CHOKEPOINT_EXPORT_PROFILER(7, InitV5)
}
