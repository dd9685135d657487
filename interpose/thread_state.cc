// Gives states to threads and takes them back when threads end.
// Must not allocate on a hot path, and must work in a child of any kind of fork.
#include "interpose/thread_state.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <new>

#include "interpose/process_state.h"
#include "interpose/record.h"
#include "trace/raw_io.h"

// why: glibc 2.34 gave these a new version; the old one is there too, and all that older ones have.
#if defined(__x86_64__)
#define CHOKEPOINT_OLD_VERSION "GLIBC_2.2.5"
#else
#define CHOKEPOINT_OLD_VERSION "GLIBC_2.17"
#endif
extern "C" {
int chokepoint_pthread_key_create(pthread_key_t*, void (*)(void*)) __attribute__((weak));
int chokepoint_pthread_setspecific(pthread_key_t, const void*) __attribute__((weak));
}
__asm__(".symver chokepoint_pthread_key_create,pthread_key_create@" CHOKEPOINT_OLD_VERSION);
__asm__(".symver chokepoint_pthread_setspecific,pthread_setspecific@" CHOKEPOINT_OLD_VERSION);

namespace chokepoint::interpose {

extern "C" {
constinit thread_local std::uint32_t chokepoint_vforked = 0;
}
constinit thread_local std::uint32_t t_bypass = 0;
constinit thread_local std::uintptr_t t_bypass_stack = 0;
constinit thread_local ThreadState* t_state = nullptr;

namespace {

namespace raw = trace::raw;

constexpr std::size_t kGateBytes = 4096;
constexpr std::size_t kArenaBytes = kGateBytes + kMaxThreads * sizeof(ThreadState);
std::byte* g_arena = nullptr;
pthread_key_t g_key;
bool g_key_made = false;
std::atomic<std::uint64_t> g_next_slot{1};

void AddToEnded(const trace::ThreadFileTotals& totals) {
  Gate& gate = TheGate();
  gate.ended_threads.fetch_add(1, std::memory_order_relaxed);
  gate.ended_read_bytes.fetch_add(totals.read_bytes + totals.stdio_read_bytes,
                                  std::memory_order_relaxed);
  gate.ended_written_bytes.fetch_add(totals.written_bytes + totals.stdio_written_bytes,
                                     std::memory_order_relaxed);
  gate.ended_async_bytes.fetch_add(totals.async_bytes, std::memory_order_relaxed);
  gate.ended_other_read_bytes.fetch_add(totals.other_read_bytes, std::memory_order_relaxed);
  gate.ended_other_written_bytes.fetch_add(totals.other_written_bytes, std::memory_order_relaxed);
}

void EndThread(void* value) {
  auto* state = static_cast<ThreadState*>(value);
  if (state != t_state || state->alive.load(std::memory_order_relaxed) == 0) return;
  Bypass bypass;
  CloseWindows(state);
  state->totals->call = 0;
  EmitGuarded(state, *state->totals);
  AddToEnded(*state->totals);
  if (state->totals_slot != nullptr) FreeSlot(state->totals_slot);
  t_state = nullptr;
  state->totals = nullptr;
  state->alive.store(0, std::memory_order_release);
}

ThreadState* ClaimState() {
  for (std::size_t i = 0; i < kMaxThreads; ++i) {
    ThreadState& state = ThreadStateOf(i);
    std::uint32_t free = 0;
    if (state.alive.load(std::memory_order_relaxed) == 0 && state.totals == nullptr &&
        state.alive.compare_exchange_strong(free, 2, std::memory_order_acquire)) {
      std::uint32_t highest = TheGate().highest_thread.load(std::memory_order_relaxed);
      while (highest <= i && !TheGate().highest_thread.compare_exchange_weak(
                                 highest, static_cast<std::uint32_t>(i + 1))) {
      }
      return &state;
    }
  }
  return nullptr;
}

void FillState(ThreadState* state) {
  state->busy = 0;
  state->windows_opened = 0;
  state->thread = raw::ThreadId();
  state->single_calls = 0;
  for (WindowRef& window : state->windows) window = {0, nullptr};
  state->totals_slot = ClaimSlot();
  state->totals = state->totals_slot != nullptr
                      ? reinterpret_cast<trace::ThreadFileTotals*>(state->totals_slot->record)
                      : &state->own_totals;
  trace::ThreadFileTotals totals{};
  totals.thread = state->thread;
  *state->totals = totals;
  state->alive.store(1, std::memory_order_release);
}

}  // namespace

bool Abandoned(std::uintptr_t stack) {
  if (stack == ~std::uintptr_t{0} || StackPointer() < stack) return false;
  stack_t alternate{};
  const long result = raw::Call(SYS_sigaltstack, 0, raw::Word(static_cast<void*>(&alternate)));
  return result == 0 && (alternate.ss_flags & SS_ONSTACK) == 0;
}

bool StillBypassed() {
  if (t_bypass == 0 || !Abandoned(t_bypass_stack)) return t_bypass != 0;
  t_bypass = 0;
  return false;
}

bool SetupThreadStates() {
  void* memory = raw::Map(kArenaBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == nullptr) return false;
  // why no fallback: without it (kernels before 4.14) fork() is still seen by its hook.
  raw::Call(SYS_madvise, raw::Word(memory), raw::Word(kArenaBytes), MADV_WIPEONFORK);
  g_arena = static_cast<std::byte*>(memory);
  TheGate().alive.store(1, std::memory_order_release);
  return true;
}

void PrepareThreadEnd() {
  // Without libpthread (before glibc 2.34 it is a library of its own) there are no threads to end.
  if (g_key_made || chokepoint_pthread_key_create == nullptr) return;
  g_key_made = chokepoint_pthread_key_create(&g_key, &EndThread) == 0;
}

Gate& TheGate() { return *reinterpret_cast<Gate*>(g_arena); }

ThreadState& ThreadStateOf(std::size_t index) {
  return reinterpret_cast<ThreadState*>(g_arena + kGateBytes)[index];
}

ThreadState* FindThreadState() {
  if (g_arena == nullptr || MustForward()) return nullptr;
  if (TheGate().alive.load(std::memory_order_acquire) == 0) BecomeChild();
  if (!Active()) return nullptr;
  Bypass bypass;
  ThreadState* state = ClaimState();
  if (state == nullptr) {
    AddGap(trace::kGapThreads);
    return nullptr;
  }
  FillState(state);
  t_state = state;
  if (g_key_made) chokepoint_pthread_setspecific(g_key, state);
  return state;
}

trace::BoardSlot* ClaimSlot() {
  trace::BoardSlot* board = trace::Board();
  const std::size_t slots = trace::BoardSlots();
  if (board == nullptr || slots == 0) return nullptr;
  for (std::size_t tries = 0; tries < slots; ++tries) {
    const std::uint64_t number = g_next_slot.fetch_add(1, std::memory_order_relaxed);
    trace::BoardSlot& slot = board[number % slots];
    std::uint64_t free = 0;
    if (slot.id.load(std::memory_order_relaxed) != 0 ||
        !slot.id.compare_exchange_strong(free, trace::kBoardClaimed, std::memory_order_acquire)) {
      continue;
    }
    slot.opened_ticks.store(0, std::memory_order_relaxed);
    slot.id.store(number, std::memory_order_release);
    return &slot;
  }
  trace::CountBoardFull();
  return nullptr;
}

void FreeSlot(trace::BoardSlot* slot) {
  reinterpret_cast<std::atomic<std::uint16_t>*>(slot->record)->store(0, std::memory_order_relaxed);
  slot->id.store(0, std::memory_order_release);
}

}  // namespace chokepoint::interpose
