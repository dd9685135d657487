// Who took part: hosts with their clocks, processes, ranks and communicators, from the facts of all
// files. Must not look at operations.
#include <algorithm>
#include <charconv>
#include <limits>

#include "tools/model/workspace.h"

namespace chokepoint::tools {
namespace {

// A communicator that claims more ranks than this is not believed.
constexpr std::int32_t kMaxRanks = 1'000'000;

std::string Meta(const trace::TraceFile& file, std::string_view key) {
  return std::string(file.meta(key));
}

std::int64_t MetaNumber(const trace::TraceFile& file, std::string_view key) {
  const std::string_view text = file.meta(key);
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

Index FindHost(std::vector<Host>* hosts, const trace::TraceFile& file) {
  const std::string boot_id = Meta(file, "boot_id");
  const std::string name = Meta(file, "host");
  for (Index i = 0; i < hosts->size(); ++i) {
    const Host& host = (*hosts)[i];
    if (boot_id.empty() ? host.name == name : host.boot_id == boot_id) return i;
  }
  hosts->push_back({name.empty() ? "unknown host" : name, boot_id, {}});
  return static_cast<Index>(hosts->size() - 1);
}

void AddProcesses(Workspace* workspace) {
  for (FileWork& work : workspace->files) {
    const trace::TraceFile& file = *work.input->file;
    const FileFacts& facts = work.facts;
    Process process;
    process.path = file.path();
    process.host = FindHost(&workspace->timeline.hosts, file);
    process.pid = file.header().pid;
    process.rank =
        static_cast<std::int32_t>(std::min<std::int64_t>(MetaNumber(file, "rank"), kMaxRanks));
    process.executable = Meta(file, "exe");
    process.nccl_version = Meta(file, "nccl_version");
    process.job_id = Meta(file, "job_id");
    process.closed_in_order = facts.read.ended;
    process.running = !facts.read.ended &&
                      (work.input->process_alive || work.input->recently_written) &&
                      !work.input->ring_attached;
    process.salvaged = facts.salvaged;
    process.operations = facts.operations;
    process.proxy_operations = facts.proxy_operations;
    process.network_sent_bytes = facts.network_sent_bytes;
    process.calls = facts.cost.calls;
    process.drain_cpu_ns = facts.cost.drain_cpu_ns;
    process.written_bytes = facts.cost.written_bytes;
    for (const auto& [reason, loss] : facts.losses)
      process.losses.push_back({reason, loss.events, loss.bytes});
    for (const trace::Damage& damage : facts.read.damage) {
      if (!damage.expected) process.damaged_bytes += damage.bytes;
    }
    process.missing_blocks = facts.read.missing_blocks;
    process.unknown_events = facts.read.unknown_events;
    work.process = static_cast<Index>(workspace->timeline.processes.size());
    workspace->timeline.processes.push_back(std::move(process));
  }
}

// Ticks of processes on one host run at one rate: a process with a single sample borrows it.
void FitClocks(Workspace* workspace) {
  Timeline& timeline = workspace->timeline;
  std::vector<double> rate(timeline.hosts.size(), 0);
  std::vector<double> tightest(timeline.hosts.size(), std::numeric_limits<double>::max());
  std::vector<std::int64_t> realtime_minus_host(timeline.hosts.size(), 0);
  for (FileWork& work : workspace->files) {
    work.clock = TickClock::Fit(work.facts.clock_samples, 0);
    const Index host = timeline.processes[work.process].host;
    if (work.clock.rate_measured() && rate[host] == 0) rate[host] = work.clock.NsPerTick();
    if (work.clock.has_samples() && work.clock.uncertainty_ns() < tightest[host]) {
      tightest[host] = work.clock.uncertainty_ns();
      realtime_minus_host[host] = work.clock.realtime_minus_host_ns();
    }
  }
  const std::vector<HostClock> clocks = AlignByWallClock(realtime_minus_host);
  for (std::size_t host = 0; host < clocks.size(); ++host) {
    timeline.hosts[host].clock = clocks[host];
    timeline.clock_error_ns = std::max(timeline.clock_error_ns, clocks[host].error_ns);
  }
  for (FileWork& work : workspace->files) {
    const Index host = timeline.processes[work.process].host;
    if (!work.clock.rate_measured()) {
      const std::int64_t told = MetaNumber(*work.input->file, "ticks_per_second");
      const double fallback = rate[host] > 0 ? rate[host]
                              : told > 0     ? 1e9 / static_cast<double>(told)
                                             : 0;
      work.clock = TickClock::Fit(work.facts.clock_samples, fallback);
    }
    work.host_clock = clocks[host];
  }
}

void PlaceInTime(Workspace* workspace) {
  Timeline& timeline = workspace->timeline;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  for (const FileWork& work : workspace->files) {
    if (work.facts.first_ticks == 0) continue;
    first = std::min(first, work.ToNs(work.facts.first_ticks));
    last = std::max(last, work.ToNs(work.facts.last_ticks));
  }
  if (first > last) return;
  timeline.start_realtime_ns = first;
  timeline.duration_ns = last - first;
  for (FileWork& work : workspace->files) {
    work.origin_ns = first;
    Process& process = timeline.processes[work.process];
    if (work.facts.first_ticks == 0) continue;
    process.start_ns = work.ToNs(work.facts.first_ticks);
    process.end_ns = work.ToNs(work.facts.last_ticks);
    const trace::Cost& cost = work.facts.cost;
    if (cost.sampled_calls > 0) {
      process.callback_cost_ns = static_cast<double>(cost.sampled_ticks) * work.clock.NsPerTick() /
                                 static_cast<double>(cost.sampled_calls) *
                                 static_cast<double>(cost.calls);
    }
  }
}

Index FindCommunicator(Timeline* timeline, std::map<std::uint64_t, Index>* by_id,
                       const trace::Communicator& event, const trace::TraceFile& file) {
  const auto next = static_cast<Index>(timeline->communicators.size());
  if (event.communicator_id != 0) {
    const auto [place, is_new] = by_id->try_emplace(event.communicator_id, next);
    if (!is_new) return place->second;
  }
  Communicator communicator;
  communicator.id = event.communicator_id;
  communicator.name = std::string(file.name(event.name));
  communicator.ranks = event.ranks > kMaxRanks ? 0 : std::max(event.ranks, 0);
  communicator.nodes = std::max(event.nodes, 0);
  communicator.members.assign(static_cast<std::size_t>(communicator.ranks), kNone);
  timeline->communicators.push_back(std::move(communicator));
  return next;
}

// A process that holds several ranks of one communicator drives several GPUs: each is a rank
// ("lane") of its own.
void AddCommunicators(Workspace* workspace) {
  Timeline& timeline = workspace->timeline;
  std::map<std::uint64_t, Index> by_id;
  for (FileWork& work : workspace->files) {
    std::map<Index, Index> lanes_used;  // by communicator
    std::vector<trace::Communicator> events = work.facts.communicators;
    std::stable_sort(
        events.begin(), events.end(),
        [](const trace::Communicator& a, const trace::Communicator& b) { return a.rank < b.rank; });
    for (const trace::Communicator& event : events) {
      const Index number = FindCommunicator(&timeline, &by_id, event, *work.input->file);
      Communicator& communicator = timeline.communicators[number];
      const Index lane = lanes_used[number]++;
      if (lane == work.lanes.size()) {
        work.lanes.push_back(static_cast<Index>(timeline.ranks.size()));
        timeline.ranks.push_back({});
        timeline.ranks.back().process = work.process;
      }
      const Index rank = work.lanes[lane];
      if (event.rank >= 0 && event.rank < kMaxRanks) {
        const auto place = static_cast<std::size_t>(event.rank);
        if (place >= communicator.members.size()) communicator.members.resize(place + 1, kNone);
        communicator.members[place] = rank;
      }
      work.communicators[event.communicator] = {number, rank, event.rank, communicator.ranks};
    }
  }
  for (Communicator& communicator : timeline.communicators) {
    communicator.lateness.resize(communicator.members.size());
    Index host = kNone;
    for (const Index member : communicator.members) {
      if (member == kNone) continue;
      const Index of_member = timeline.processes[timeline.ranks[member].process].host;
      if (host != kNone && of_member != host) communicator.method = WaitMethod::kDurations;
      host = of_member;
    }
  }
}

// The launcher's number, else the rank in the largest communicator.
void NumberRanks(Workspace* workspace) {
  Timeline& timeline = workspace->timeline;
  std::vector<std::int32_t> largest(timeline.ranks.size(), -1);
  for (FileWork& work : workspace->files) {
    for (const auto& [number, local] : work.communicators) {
      Rank& rank = timeline.ranks[local.rank];
      const Process& process = timeline.processes[work.process];
      rank.start_ns = process.start_ns;
      rank.end_ns = process.end_ns;
      if (work.lanes.size() == 1 && process.rank >= 0) {
        rank.number = process.rank;
      } else if (local.ranks > largest[local.rank]) {
        largest[local.rank] = local.ranks;
        rank.number = local.communicator_rank;
      }
    }
  }
}

// The rank with the lowest number stands for all.
void ChooseStepFile(Workspace* workspace) {
  std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
  for (const FileWork& work : workspace->files) {
    if (work.lanes.size() != 1) continue;
    const std::int32_t number = workspace->timeline.ranks[work.lanes[0]].number;
    if (number >= lowest) continue;
    lowest = number;
    workspace->step_file = &work;
  }
}

}  // namespace

void Identify(Workspace* workspace) {
  AddProcesses(workspace);
  FitClocks(workspace);
  PlaceInTime(workspace);
  AddCommunicators(workspace);
  NumberRanks(workspace);
  ChooseStepFile(workspace);
}

}  // namespace chokepoint::tools
