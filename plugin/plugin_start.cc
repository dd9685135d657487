// Constructor, destructor, fork handler; and what they share with init and finalize.
// Must not create a file or a thread before a communicator exists.
#include "plugin/plugin_start.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "plugin/api_calls.h"
#include "plugin/clock_rate.h"
#include "plugin/event_mask.h"
#include "plugin/kernel_detail.h"
#include "plugin/nccl_version.h"
#include "plugin/operation_summary.h"
#include "plugin/reaper.h"
#include "plugin/settings.h"
#include "plugin/step_detail.h"
#include "trace/recorder.h"

namespace chokepoint::plugin {

std::atomic<int> g_own_pid{0};
std::atomic<bool> g_active{false};

namespace {

constexpr const char* kSoname = "libnccl-net-chokepoint.so";
constexpr int kStartAttempts = 50;
constexpr int kFirstFlushMs = 100;  // to name the file in NCCL's log; once in a process

bool g_enabled = false;  // written by the constructor only
std::atomic<bool> g_net_side{false};
std::atomic<int> g_said_version{0};
const char* g_loaded_by = "NCCL_PROFILER_PLUGIN";

class ErrnoKeeper {
 public:
  ErrnoKeeper() noexcept : errno_(errno) {}
  ~ErrnoKeeper() { errno = errno_; }
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  int errno_;
};

void InForkedChild() {
  g_own_pid.store(getpid(), std::memory_order_relaxed);
  // The board is the parent's; a new one comes with a new communicator.
  g_active.store(false, std::memory_order_relaxed);
  g_board.store(nullptr, std::memory_order_relaxed);
  g_said_version.store(0, std::memory_order_relaxed);
  ForgetCommunicators();
}

// NCCL's network side is loaded first; the profiler's name is read after that. So a library that
// came as a network plugin can name itself as the profiler: NCCL 2.23 to 2.27 need it, later ones
// in a list of plugins. What the user chose wins.
void NameOurselvesAsProfiler() {
  if (std::getenv("NCCL_PROFILER_PLUGIN") != nullptr) return;
  g_loaded_by = "NCCL_NET_PLUGIN";
  setenv("NCCL_PROFILER_PLUGIN", kSoname, 0);
}

// Before any destructor: the recorder's own stops it.
void AtExit() {
  if (g_active.load(std::memory_order_relaxed)) ReapAtExit();
}

__attribute__((constructor)) void OnLoad() {
  const ErrnoKeeper keep_errno;
  g_own_pid.store(getpid(), std::memory_order_relaxed);
  trace::InitClock();
  trace::RecorderOptions options;
  options.writer = trace::Writer::kNccl;
  options.board_slots = kBoardSlots;
  options.on_drained = &SummariseRecord;
  options.write_summary = &WriteSummary;
  options.before_drain = &ReapQuiet;
  if (!trace::Configure(options)) return;
  g_enabled = true;
  ReadSettings();
  StartClockRate();
  pthread_atfork(nullptr, nullptr, &InForkedChild);
  std::atexit(&AtExit);
  NameOurselvesAsProfiler();
}

void SayVersionOnce(const InitTold& told, int nccl_version) {
  int expected = 0;
  const int said = nccl_version == 0 ? -1 : nccl_version;
  if (!g_said_version.compare_exchange_strong(expected, said)) return;
  char text[32];
  std::snprintf(text, sizeof(text), "%d.%d.%d", nccl_version / 10000, nccl_version / 100 % 100,
                nccl_version % 100);
  trace::AddMeta("nccl_version", nccl_version == 0 ? "unknown" : text);
  std::snprintf(text, sizeof(text), "%d", told.communicator.api_version);
  trace::AddMeta("nccl_profiler_api", text);
  trace::AddMeta("nccl_loaded_by", g_loaded_by);
  trace::AddMeta("nccl_net_side",
                 g_net_side.load(std::memory_order_relaxed) ? "initialised" : "not asked");
  if (told.log != nullptr) {
    if (*trace::TracePath() == '\0')
      trace::Flush(kFirstFlushMs);  // the drain thread creates the file
    told.log(NCCL_LOG_INFO, NCCL_INIT, __FILE__, __LINE__,
             "chokepoint " CHOKEPOINT_VERSION ": profiler interface v%d, recording to %s",
             told.communicator.api_version, trace::TracePath());
  }
}

}  // namespace

void NoteNetInit() noexcept { g_net_side.store(true, std::memory_order_relaxed); }

void* InitCommunicator(InitTold told, int* mask) noexcept {
  const ErrnoKeeper keep_errno;
  if (!g_enabled) return Handle::Of(HandleTag::kContext, 0, kMaxCommunicators).raw();
  const int nccl_version = NcclVersionOf(told.caller);
  const std::uint32_t wanted =
      ChooseEventMask(nccl_version, told.communicator.api_version, g_settings);
  // Another thread may be starting the recorder just now: each call waits for it a while.
  for (int attempt = 0; attempt < kStartAttempts; ++attempt) {
    if (trace::Start(told.communicator.rank, told.communicator.ranks)) break;
  }
  if (g_settings.detail_kernels) StartKernelDetail();
  if (g_settings.detail_steps) StartStepsDetail();
  if (trace::BoardSlots() == kBoardSlots) g_board.store(trace::Board(), std::memory_order_release);
  g_active.store(true, std::memory_order_release);
  LearnClockRate();
  SayVersionOnce(told, nccl_version);
  if (mask != nullptr) {
    // NCCL's one mask for all communicators, of all profilers that ever wrote it: add, never take
    // away.
    auto wish = static_cast<int>(wanted);
    told.communicator.event_mask =
        static_cast<std::uint32_t>(__atomic_fetch_or(mask, wish, __ATOMIC_RELAXED) | wish);
  } else {
    told.communicator.event_mask = 0;
  }
  return AddCommunicator(told.communicator).raw();
}

void FinalizeCommunicator(const void* context) noexcept {
  const ErrnoKeeper keep_errno;
  Communicator* communicator = FindCommunicator(context);
  if (communicator == nullptr) return;
  const std::uint32_t number = NumberOf(communicator);
  AbandonOperations(number);
  AbandonApiCalls(number);
  EndCommunicator(communicator);
}

}  // namespace chokepoint::plugin
