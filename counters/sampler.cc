// The timetable, the budget and the cost account of sampling.
// Must not know how anything is read.
#include "counters/sampler.h"

#include <ctime>

#include "counters/text_scan.h"
#include "trace/clock.h"
#include "trace/raw_io.h"
#include "trace/text.h"

namespace chokepoint::counters {

namespace raw = trace::raw;

namespace {

constexpr std::uint64_t kMsToNs = 1'000'000;
constexpr std::uint64_t kSlowTickNs = 5 * kMsToNs;
constexpr std::uint64_t kBudgetDivisor = 1000;  // 0.1 % of a core
constexpr std::uint32_t kSlowestInterval = 8;   // times the planned one

// The timetable, in intervals (seconds, unless slowed down).
constexpr std::uint64_t kRarely = 10;  // lists of threads and sockets, identities, costly files
// why: queue pairs are made a while after their communicator, and each costs a firmware command to
// list.
constexpr int kRoundsToQueuePairs = 10;
constexpr std::uint64_t kIdentityAgain = 300;  // why: a bounded trace gives up its old records

std::uint64_t NowNs(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t NetworkNamespace() noexcept {
  char link[64];
  const long size = raw::ReadLink("/proc/self/ns/net", link, sizeof(link));  // net:[4026531840]
  std::string_view text(link, size > 0 ? static_cast<std::size_t>(size) : 0);
  std::string_view inode;
  std::uint64_t value = 0;
  if (TakeUpTo(&text, '[', &inode) && TakeUpTo(&text, ']', &inode)) ParseUnsigned(inode, &value);
  return value;
}

}  // namespace

void Sampler::Init(const SamplerOptions& options) noexcept {
  options_ = options;
  tree_.Init(options.root, DescriptorBudget());
  interval_ms_ = options.interval_ms;
  network_namespace_ = NetworkNamespace();
  if (options.host) {
    leader_.Init(options.leader_directory, options.leader_scope, network_namespace_);
  }
  FindCgroup(&tree_, &cgroup_);
  tcp_.Init(&tree_, options.sink);
  process_.Init(cgroup_);
  cpu_.Init();
  softnet_.Init();
  memory_.Init(cgroup_);
  pressure_.Init(cgroup_);
  disk_.Init();
  mount_.Init();
  netstat_.Init();
  nic_.Init();
  if (options.root[0] == '\0') ethtool_.Init(EthtoolReader::Kernel());
  rdma_.Init(options.root[0] == '\0');
  gpu_.Init(options.nvml_library, options.visible_devices);
}

void Sampler::NotePinnedThread(std::uint32_t tid) noexcept { pinned_.Append(tid); }
void Sampler::NotePeer(const Address& address) noexcept { peers_.Append(address); }

Round Sampler::MakeRound(std::uint64_t now_ns) noexcept {
  return {.tree = &tree_,
          .sink = &options_.sink,
          .buffer = buffer_,
          .buffer_bytes = sizeof(buffer_),
          .now_ticks = trace::NowTicks(),
          .now_ns = now_ns};
}

void Sampler::TakeNotes(std::uint64_t now_ticks) noexcept {
  std::uint32_t tid = 0;
  while (pinned_.Next(&tid)) threads_.Pin(tid);
  Address peer;
  while (peers_.Next(&peer)) tcp_.classifier()->AddPeer(peer);
  if (!options_.tcp) return;
  if (new_connections_.exchange(false, std::memory_order_acquire)) {
    tcp_.Walk(now_ticks);
    rounds_to_queue_pairs_ = kRoundsToQueuePairs;
  }
  if (slow_operation_.exchange(false, std::memory_order_acquire)) tcp_.SampleSlow(now_ticks);
}

void Sampler::BeginTick(std::uint64_t now_ns) noexcept {
  if (start_ns_ == 0) {
    start_ns_ = window_start_ns_ = due_ns_ = now_ns;
    RecordFacts();
  } else if (cost_.samples == 1) {
    cost_.setup_cpu_ns = window_cpu_ns_ = cost_.cpu_ns;
  }
  tick_start_ns_ = NowNs(CLOCK_MONOTONIC);
  tick_cpu_ns_ = NowNs(CLOCK_THREAD_CPUTIME_ID);
}

void Sampler::EndTick() noexcept {
  const std::uint64_t cpu_ns = NowNs(CLOCK_THREAD_CPUTIME_ID);
  cost_.cpu_ns = options_.own_thread ? cpu_ns : cost_.cpu_ns + cpu_ns - tick_cpu_ns_;
  const std::uint64_t wall_ns = NowNs(CLOCK_MONOTONIC) - tick_start_ns_;
  ++cost_.samples;
  if (wall_ns > cost_.longest_ns) cost_.longest_ns = wall_ns;
  const bool slow = wall_ns > kSlowTickNs;
  if (slow) ++cost_.slow_samples;
  slow_in_a_row_ = slow ? slow_in_a_row_ + 1 : 0;
}

std::uint64_t Sampler::Tick(std::uint64_t now_ns) noexcept {
  BeginTick(now_ns);
  const Round round = MakeRound(now_ns);
  TakeNotes(round.now_ticks);
  if (now_ns >= due_ns_) {
    const bool first = quarter_ == 0;
    if (first) {
      Elect(round);
      SampleProcess(round);
      SampleHost(round);
    } else {
      switch (quarter_ % 4) {
        case 0:
          SampleProcess(round);
          break;
        case 1:
          Elect(round);
          break;
        case 2:
          SampleHost(round);
          break;
        default:
          SampleGpu(round);
          KeepBudget(now_ns);
          break;
      }
      if (options_.tcp && quarter_ % 4 != 0) tcp_.SampleBusiest(round.now_ticks);
      if (quarter_ % (4 * kRarely) == 3) RecordCost(round);
    }
    ++quarter_;
    const std::uint64_t quarter_ns = std::uint64_t{interval_ms_} * kMsToNs / 4;
    due_ns_ += quarter_ns;
    if (due_ns_ <= now_ns) due_ns_ = now_ns + quarter_ns;  // the machine slept, or we were late
  }
  EndTick();
  return due_ns_;
}

void Sampler::SampleProcess(const Round& round) noexcept {
  const bool rarely = process_rounds_ % kRarely == 0;
  if (rarely) {
    if (options_.tcp) tcp_.Walk(round.now_ticks);
    threads_.Scan(round);
  }
  if (++process_rounds_ % kIdentityAgain == 0) RepeatIdentities();
  process_.Sample(round);
  threads_.Sample(round);
  if (options_.tcp) tcp_.SampleAll(round.now_ticks, trace::TcpSampleReason::kPeriodic);
  // Each process says which ports it uses; their counters come from the leader.
  if (options_.rdma && rarely) rdma_.Refresh(round);
  if (options_.rdma && rounds_to_queue_pairs_ >= 0 && rounds_to_queue_pairs_-- == 0) {
    rdma_.FindUsed(round);
  }
}

void Sampler::SampleHost(const Round& round) noexcept {
  if (!was_leader_) return;
  const std::uint64_t number = host_rounds_++;
  nic_.Sample(round);
  netstat_.Sample(round);
  softnet_.Sample(round);
  pressure_.Sample(round);
  disk_.Sample(round);
  if (options_.rdma) rdma_.Sample(round);
  ethtool_.Sample(round, nic_);
  if (number % (kRarely / 2) == 0) memory_.Sample(round);
  if (number % kRarely != 0) return;
  cpu_.Sample(round);
  mount_.Sample(round);
  nic_.Refresh(round);
}

void Sampler::SampleGpu(const Round& round) noexcept {
  if (!options_.gpu) return;
  if (gpu_rounds_++ % kRarely == 0) gpu_.Refresh(round);
  gpu_.Sample(round);
}

void Sampler::Elect(const Round& round) noexcept {
  bool leads = false;
  if (options_.host) {
    leads = leader_.Check();
    if (!leader_.possible()) leads = options_.local_rank == 0;
  }
  const bool changed = leads != was_leader_;
  was_leader_ = leads;
  if (changed) host_rounds_ = 0;
  if (changed || quarter_ == 0) RecordRole(round.now_ticks, false);
}

void Sampler::RecordRole(std::uint64_t now_ticks, bool ending) noexcept {
  trace::SamplerRole role;
  unsigned flags = 0;
  if (was_leader_) flags |= trace::kSamplerLeader;
  if (ending) flags |= trace::kSamplerEnding;
  if (options_.own_thread) flags |= trace::kSamplerOwnThread;
  if (options_.host && !leader_.possible()) flags |= trace::kSamplerNoElection;
  role.flags = static_cast<std::uint16_t>(flags);
  role.interval_ms = options_.interval_ms;
  role.ticks = now_ticks;
  role.network_namespace = network_namespace_;
  options_.sink.Emit(role);
}

void Sampler::RecordCost(const Round& round) noexcept {
  cost_.interval_ms = interval_ms_;
  cost_.ticks = round.now_ticks;
  cost_.wall_ns = round.now_ns - start_ns_;
  cost_.reads = tree_.reads();
  cost_.errors = tree_.errors();
  options_.sink.Emit(cost_);
}

void Sampler::RepeatIdentities() noexcept {
  tcp_.RepeatIdentities();
  nic_.RepeatIdentities(options_.sink);
  rdma_.RepeatIdentities(options_.sink);
  gpu_.RepeatIdentities(options_.sink);
}

// Once an interval: halves the rate when ten intervals cost over 0.1 % of a core, or three rounds
// in a row took over 5 ms; doubles it again after a minute of peace.
void Sampler::KeepBudget(std::uint64_t now_ns) noexcept {
  constexpr int kSlowRounds = 3;
  constexpr int kPeace = 6;
  const std::uint64_t wall_ns = now_ns - window_start_ns_;
  const bool window_ends = wall_ns >= kRarely * interval_ms_ * kMsToNs;
  const bool too_slow = slow_in_a_row_ >= kSlowRounds;
  if (!window_ends && !too_slow) return;
  const bool too_dear = window_ends && (cost_.cpu_ns - window_cpu_ns_) * kBudgetDivisor > wall_ns;
  window_start_ns_ = now_ns;
  window_cpu_ns_ = cost_.cpu_ns;
  if (too_slow || too_dear) {
    good_windows_ = slow_in_a_row_ = 0;
    if (interval_ms_ * 2 <= options_.interval_ms * kSlowestInterval) {
      interval_ms_ *= 2;
      ++cost_.halvings;
    }
  } else if (interval_ms_ > options_.interval_ms && ++good_windows_ >= kPeace) {
    good_windows_ = 0;
    interval_ms_ /= 2;
  }
}

// What holds for the whole run.
void Sampler::RecordFacts() noexcept {
  struct Fact {
    const char* key;
    const char* path;
  };
  constexpr Fact kFacts[] = {
      {"net.tcp_congestion_control", "/proc/sys/net/ipv4/tcp_congestion_control"},
      {"net.tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem"},
      {"net.tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem"},
      {"net.tcp_ecn", "/proc/sys/net/ipv4/tcp_ecn"}};
  char text[256];
  for (const Fact& fact : kFacts) {
    tree_.ReadLine(fact.path, text, sizeof(text));
    options_.sink.Meta(fact.key, text);
  }
  options_.sink.Meta("cgroup.cpu_quota", cgroup_.quota);
}

void Sampler::Finish(std::uint64_t now_ns) noexcept {
  if (start_ns_ == 0) return;
  BeginTick(now_ns);
  const Round round = MakeRound(now_ns);
  TakeNotes(round.now_ticks);
  if (options_.tcp) tcp_.SampleAll(round.now_ticks, trace::TcpSampleReason::kLast);
  process_.Sample(round);
  threads_.Scan(round);
  if (options_.gpu) gpu_.Sample(round);
  if (was_leader_) {
    nic_.Sample(round);
    netstat_.Sample(round);
    pressure_.Sample(round);
    disk_.Sample(round);
    if (options_.rdma) rdma_.Sample(round);
    cpu_.Sample(round);
  }
  EndTick();
  RecordCost(round);
  RecordRole(round.now_ticks, true);
  leader_.Resign();
  ForgetAfterFork();
}

void Sampler::ForgetAfterFork() noexcept {
  leader_.ForgetAfterFork();
  process_.Close(&tree_);
  threads_.Close(&tree_);
  cpu_.Close(&tree_);
  softnet_.Close(&tree_);
  memory_.Close(&tree_);
  pressure_.Close(&tree_);
  disk_.Close(&tree_);
  mount_.Close(&tree_);
  netstat_.Close(&tree_);
  nic_.Close(&tree_);
  rdma_.Close(&tree_);
}

}  // namespace chokepoint::counters
