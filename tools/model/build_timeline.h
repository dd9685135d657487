// Traces -> Timeline, in three passes over each file, several files at a time.
// Must not keep events: memory grows with groups of operations and distinct objects only.
#pragma once

#include "tools/model/timeline.h"
#include "tools/model/trace_set.h"

namespace chokepoint::tools {

// Consumes the set: its notes move into the timeline. `threads` of 0: one per processor.
Timeline BuildTimeline(TraceSet set, unsigned threads = 0);

}  // namespace chokepoint::tools
