// What happened, as plain tables: hosts, processes, ranks, communicators, kinds of operations,
// unfinished operations, losses. Must not judge: detectors do. All times are ns since
// Timeline.start, on the common clock, unless a name says otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/model/clock.h"
#include "tools/model/histogram.h"

namespace chokepoint::tools {

using Index = std::uint32_t;  // a row of another table
inline constexpr Index kNone = ~Index{0};

// Where the duration of an operation comes from. Unlike sources are never mixed in one row.
enum class TimeSource : std::uint8_t {
  kGpu,      // the GPU's own clock: first kernel start to last kernel end
  kHost,     // host: call (or end of the operation before it) until completion was seen
  kProxy,    // host: the same until its last network transfer ended; the kernels were not timed
  kUnknown,  // only its start is known
};

struct Host {
  std::string name;
  std::string boot_id;
  HostClock clock;
};

struct LossCount {
  std::uint16_t reason = 0;  // trace::LossReason
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
};

// One process that left a trace.
struct Process {
  std::string path;
  Index host = kNone;
  std::uint32_t pid = 0;
  std::int32_t rank = -1;  // as its launcher says; -1 = not told
  std::string executable;
  std::string nccl_version;
  std::string job_id;
  std::int64_t start_ns = 0;  // first and last sign of life in the trace
  std::int64_t end_ns = 0;
  bool closed_in_order = false;  // the trace has its END
  bool running = false;          // still being written
  bool salvaged = false;         // its last records come from the ring file of a dead process
  std::uint64_t operations = 0;
  std::uint64_t proxy_operations = 0;
  std::uint64_t network_sent_bytes = 0;
  std::uint64_t calls = 0;         // callbacks entered
  double callback_cost_ns = 0;     // estimated from the timed ones
  std::uint64_t drain_cpu_ns = 0;  // CPU time of the recorder's thread
  std::uint64_t written_bytes = 0;
  std::vector<LossCount> losses;
  std::uint64_t damaged_bytes = 0;
  std::uint64_t missing_blocks = 0;
  std::uint64_t unknown_events = 0;
};

// One member of the job: a process, or one of several GPUs in it.
struct Rank {
  std::int32_t number = -1;  // how it is called in the report
  Index process = kNone;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t operations = 0;
  std::uint64_t operations_without_end = 0;  // their duration is unknown
  std::uint64_t operations_missing = 0;      // gaps in the sequence numbers of what was recorded
  // The parts of [start, end]: start-up (until the first operation), outside, and in NCCL: waiting
  // + transfer.
  std::int64_t startup_ns = 0;
  std::int64_t waiting_ns = 0;
  std::int64_t transfer_ns = 0;
  std::int64_t InNcclNs() const { return waiting_ns + transfer_ns; }
  std::int64_t OutsideNs() const { return end_ns - start_ns - startup_ns - InNcclNs(); }
};

// How the waiting of a communicator's operations is measured.
enum class WaitMethod : std::uint8_t {
  kStarts,     // all on one host clock: last start minus own start
  kDurations,  // several clocks: own duration minus the shortest of the group; synchronising
               // functions only
};

// How late one member was in the groups of one communicator.
struct Lateness {
  std::uint64_t groups_last =
      0;  // groups in which it was the last, by more than the threshold of what can be told
  std::uint64_t groups_shortest =
      0;                  // of these, groups in which its own duration was also the shortest
  double cost_ns = 0;     // sum over groups_last: its start minus the mean start of the others
  double longest_ns = 0;  // the largest part of that sum
};

struct Communicator {
  std::uint64_t id = 0;
  std::string name;
  std::int32_t ranks = 0;  // as NCCL says; 0 = not told
  std::int32_t nodes = 0;
  std::vector<Index> members;  // Timeline.ranks by rank in the communicator; kNone = left no trace
  WaitMethod method = WaitMethod::kStarts;
  std::uint64_t judged_groups = 0;  // complete groups of synchronising operations, whose last rank
                                    // could be told or was within the error
  std::vector<Lateness> lateness;   // parallel to members
  Index MembersSeen() const {
    Index seen = 0;
    for (const Index member : members) seen += member != kNone;
    return seen;
  }
};

// All operations of one communicator with the same function, algorithm, protocol, power of two of
// size and time source.
struct OperationClass {
  Index communicator = kNone;
  std::string function;
  std::string algorithm;
  std::string protocol;
  std::string datatype;  // "" = several
  TimeSource source = TimeSource::kUnknown;
  double min_bytes = 0;  // message size as nccl-tests count it
  double max_bytes = 0;
  double total_bytes = 0;     // over groups
  std::uint64_t groups = 0;   // operations of the communicator
  std::uint64_t records = 0;  // operations of single ranks
  Histogram seen;             // per rank: call to completion on the host's clock
  Histogram own;              // per rank: own start to own end, on the row's source
  Histogram waiting;          // per rank: own start to last start
  Histogram transfer;         // per group: last start to last end
  double wall_share = 0;      // time of one rank in it, mean over ranks, as share of the run
};

enum class MemberState : std::uint8_t {
  kFinished,
  kInside,       // it entered and never left
  kMissing,      // it never entered
  kNotRecorded,  // it left no trace
};

struct UnfinishedMember {
  std::int32_t communicator_rank = -1;
  Index rank = kNone;
  MemberState state = MemberState::kMissing;
  std::int64_t since_ns = 0;  // kInside: when it entered
};

// A group of operations that some rank entered and not all left.
struct UnfinishedGroup {
  Index communicator = kNone;
  std::string function;
  std::uint32_t sequence = 0;
  double bytes = 0;
  std::int64_t first_start_ns = 0;
  bool aborted = false;
  std::vector<UnfinishedMember> members;
};

// A file that was not read, or not wholly.
struct FileNote {
  std::string path;
  std::string message;  // the whole line
  bool read = false;    // part of it was read
};

// The repeating unit of the job, if its operations show one.
struct Steps {
  std::uint64_t count = 0;  // 0 = none evident
  Histogram duration;
  std::uint32_t operations_per_step = 0;
};

struct Timeline {
  std::int64_t start_realtime_ns = 0;  // wall clock of time 0
  std::int64_t duration_ns = 0;
  std::vector<Host> hosts;
  std::vector<Process> processes;
  std::vector<Rank> ranks;  // by number
  std::vector<Communicator> communicators;
  std::vector<OperationClass> classes;
  std::vector<UnfinishedGroup> unfinished;
  std::vector<FileNote> notes;
  Steps steps;
  std::uint64_t files_read = 0;
  std::uint64_t groups_not_kept = 0;  // beyond the memory bound: not matched over ranks
  double clock_error_ns = 0;          // bound over all hosts
};

// "rank 2", and where it ran: "rank 2 (host node1, pid 4242)".
std::string RankName(const Timeline& timeline, Index rank);
std::string RankPlace(const Timeline& timeline, Index rank);
// For the start of a sentence.
std::string Capital(std::string text);
// Its name if the job gave one, else its id.
std::string CommunicatorName(const Communicator& communicator);

}  // namespace chokepoint::tools
