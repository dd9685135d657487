// What the passes over the traces share while a Timeline is being built.
// Must not be seen outside tools/model: detectors get the Timeline only.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "tools/model/clock.h"
#include "tools/model/group_table.h"
#include "tools/model/scan.h"
#include "tools/model/steps.h"
#include "tools/model/symbols.h"
#include "tools/model/timeline.h"
#include "tools/model/trace_set.h"

namespace chokepoint::tools {

// One of a file's communicator numbers.
struct LocalCommunicator {
  Index communicator = kNone;
  Index rank = kNone;
  std::int32_t communicator_rank = -1;
  std::int32_t ranks = 0;
};

struct FileWork {
  TraceInput* input = nullptr;
  FileFacts facts;
  TickClock clock;
  HostClock host_clock;
  std::int64_t origin_ns = 0;  // common time of Timeline.start
  Index process = kNone;
  std::map<std::uint32_t, LocalCommunicator> communicators;
  std::vector<Index> lanes;  // ranks of this process

  // ns since Timeline.start; bounded, so that differences of damaged times cannot overflow.
  std::int64_t ToNs(std::uint64_t ticks) const {
    constexpr std::int64_t kBound = 2'500'000'000'000'000'000;
    return std::clamp(host_clock.ToCommonNs(clock.ToHostNs(ticks)) - origin_ns, -kBound, kBound);
  }
};

// An operation that began and has no end.
struct OpenOperation {
  Series* series = nullptr;
  std::uint32_t sequence = 0;
  Index rank = kNone;
  std::int64_t start_ns = 0;
  double bytes = 0;
  bool aborted = false;
};

struct Workspace {
  std::vector<FileWork> files;
  SymbolTable symbols;
  GroupTable groups;
  Timeline timeline;
  std::mutex mutex;  // guards what follows
  std::vector<OpenOperation> open;
  const FileWork* step_file =
      nullptr;  // whose operations show the job's rhythm; constant after Identify
  std::vector<StepMark> step_marks;  // written by that file's third pass only
  std::uint64_t groups_not_kept = 0;
};

// Fills hosts, processes, ranks and communicators of the timeline, and clocks and numbers of each
// file, from the facts.
void Identify(Workspace* workspace);

// Second pass over one file: its operations go into the groups.
void MatchFile(Workspace* workspace, FileWork* work);

// Results of the third pass, of one thread.
struct ClassKey {
  Index communicator = kNone;
  Symbol function = 0;
  Symbol algorithm = 0;
  Symbol protocol = 0;
  TimeSource source = TimeSource::kUnknown;
  std::int8_t size_log2 = 0;
  bool operator<(const ClassKey& other) const {
    return std::tie(communicator, function, size_log2, algorithm, protocol, source) <
           std::tie(other.communicator, other.function, other.size_log2, other.algorithm,
                    other.protocol, other.source);
  }
};
struct ClassSums {
  OperationClass sums;
  Symbol datatype = 0;
  bool mixed_datatypes = false;
  double duration_ns = 0;
};
struct Measured {
  std::map<ClassKey, ClassSums> classes;
  std::map<std::pair<Index, Index>, Lateness> lateness;  // by communicator, rank
  std::map<Index, std::uint64_t> judged_groups;          // by communicator
};

// Third pass over one file: durations, waiting and transfer, now that the last start of each group
// is known.
void MeasureFile(Workspace* workspace, FileWork* work, Measured* measured);

// After the passes: operations without an end, and gaps in what was recorded.
void CollectUnfinished(Workspace* workspace);
void CountMissing(Workspace* workspace);

}  // namespace chokepoint::tools
