// The scheduler: runs each fiber in turn; when none can go on it yields the CPU, then sleeps, then
// says what is awaited. It must not end a fiber that waits, however long.
#include "tests/softgpu/emu/fiber.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace chokepoint::softgpu::emu {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kStackBytes = 128u << 10;  // plus a guard page
constexpr size_t kPooledStacks = 256;
constexpr double kDefaultTimeoutSeconds = 30;

// Stacks are used again, as each kernel needs dozens of them.
class StackPool {
 public:
  ~StackPool() {
    for (char* stack : free_) Unmap(stack);
  }
  char* Take() {
    if (!free_.empty()) {
      char* const stack = free_.back();
      free_.pop_back();
      return stack;
    }
    void* const memory = mmap(nullptr, kStackBytes + kPageBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      perror("nccl_emu: mmap of a fiber stack");
      abort();
    }
    mprotect(memory, kPageBytes, PROT_NONE);
    return static_cast<char*>(memory) + kPageBytes;
  }
  void Return(char* stack) {
    if (free_.size() < kPooledStacks) {
      free_.push_back(stack);
    } else {
      Unmap(stack);
    }
  }

 private:
  static void Unmap(char* stack) { munmap(stack - kPageBytes, kStackBytes + kPageBytes); }
  std::vector<char*> free_;
};

thread_local StackPool stack_pool;
thread_local Scheduler* current_scheduler = nullptr;

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

double TimeoutSeconds() {
  static const double timeout_s = [] {
    const char* text = getenv("SOFTGPU_EMU_TIMEOUT");
    return text != nullptr ? atof(text) : kDefaultTimeoutSeconds;
  }();
  return timeout_s;
}

}  // namespace

Scheduler* Scheduler::Current() { return current_scheduler; }

Scheduler::~Scheduler() {
  for (auto& fiber : fibers_) {
    if (fiber->stack != nullptr) stack_pool.Return(fiber->stack);
  }
}

// makecontext passes ints only: the fiber's address comes in two halves.
void Scheduler::Enter(unsigned low, unsigned high) {
  auto* const fiber =
      reinterpret_cast<Fiber*>((static_cast<uint64_t>(high) << 32) | static_cast<uint64_t>(low));
  fiber->function();
  fiber->done = true;
  Scheduler* const scheduler = current_scheduler;
  scheduler->progress_ = true;
  swapcontext(&fiber->context, &scheduler->main_);
}

Fiber* Scheduler::Spawn(std::function<void()> function) {
  auto fiber = std::make_unique<Fiber>();
  fiber->function = std::move(function);
  fiber->stack = stack_pool.Take();
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack;
  fiber->context.uc_stack.ss_size = kStackBytes;
  fiber->context.uc_link = nullptr;
  if (current_ != nullptr) {
    fiber->label = current_->label;
    fiber->channel = current_->channel;
  }
  const auto address = reinterpret_cast<uint64_t>(fiber.get());
  makecontext(&fiber->context, reinterpret_cast<void (*)()>(Enter), 2,
              static_cast<unsigned>(address), static_cast<unsigned>(address >> 32));
  fibers_.push_back(std::move(fiber));
  return fibers_.back().get();
}

void Scheduler::Yield() { swapcontext(&current_->context, &main_); }

void Scheduler::RunEachOnce() {
  for (size_t i = 0; i < fibers_.size(); i++) {  // fibers may spawn others meanwhile
    current_ = fibers_[i].get();
    swapcontext(&main_, &current_->context);
  }
  current_ = nullptr;
}

void Scheduler::RemoveDone() {
  for (auto& fiber : fibers_) {
    if (!fiber->done) continue;
    stack_pool.Return(fiber->stack);
    fiber->stack = nullptr;
  }
  std::erase_if(fibers_, [](const std::unique_ptr<Fiber>& fiber) { return fiber->done; });
}

void Scheduler::Idle() {
  const int rounds = quiet_rounds_++;
  if (rounds < 100) {
    sched_yield();
    return;
  }
  const timespec pause{0, rounds < 1000 ? 5000 : rounds < 10000 ? 50000 : 200000};
  nanosleep(&pause, nullptr);
}

void Scheduler::PrintIfStuck() {
  if (TimeoutSeconds() <= 0 || quiet_rounds_ <= 1000 || quiet_rounds_ % 256 != 0) return;
  const uint64_t now_ns = NowNs();
  if (quiet_since_ns_ == 0) {
    quiet_since_ns_ = now_ns;
    return;
  }
  const double quiet_s = static_cast<double>(now_ns - quiet_since_ns_) * 1e-9;
  if (quiet_s <= TimeoutSeconds()) return;
  fprintf(stderr, "nccl_emu[%d]: no progress for %.0f s\n", getpid(), quiet_s);
  Print(stderr);
  quiet_since_ns_ = now_ns;
}

void Scheduler::Run() {
  Scheduler* const outer = current_scheduler;
  current_scheduler = this;
  while (!fibers_.empty()) {
    progress_ = false;
    RunEachOnce();
    RemoveDone();
    if (progress_) {
      quiet_rounds_ = 0;
      quiet_since_ns_ = 0;
      continue;
    }
    Idle();
    PrintIfStuck();
  }
  current_scheduler = outer;
}

void Scheduler::Print(FILE* out) {
  if (print_extra_) print_extra_(out);
  for (const auto& fiber : fibers_) {
    const uint64_t value = fiber->awaited_word != nullptr ? *fiber->awaited_word : 0;
    fprintf(out, "  ch %d %s: waits for %s, peer %d: at %p is %llu, wants %llu\n", fiber->channel,
            fiber->label, fiber->awaited, fiber->peer,
            const_cast<const void*>(static_cast<const volatile void*>(fiber->awaited_word)),
            static_cast<unsigned long long>(value),
            static_cast<unsigned long long>(fiber->awaited_value));
  }
  fflush(out);
}

}  // namespace chokepoint::softgpu::emu
