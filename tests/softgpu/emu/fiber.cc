#include "tests/softgpu/emu/fiber.h"
#include <sys/mman.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#include <stdlib.h>
#include <errno.h>
namespace emu {
namespace {
const size_t kStack = 128 << 10;  // plus a guard page
struct StackPool {
  std::vector<char*> free;
  ~StackPool() { for (char* s : free) munmap(s - 4096, kStack + 4096); }
  char* get() {
    if (!free.empty()) { char* s = free.back(); free.pop_back(); return s; }
    char* m = (char*)mmap(nullptr, kStack + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED) { perror("nccl_emu: mmap of a fiber stack"); abort(); }
    mprotect(m, 4096, PROT_NONE);
    return m + 4096;
  }
  void put(char* s) { if (free.size() < 256) free.push_back(s); else munmap(s - 4096, kStack + 4096); }
};
thread_local StackPool pool;
thread_local Scheduler* tlsSched = nullptr;

uint64_t nowNs() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000ull + t.tv_nsec; }
}  // namespace

Scheduler* Scheduler::current() { return tlsSched; }

Scheduler::~Scheduler() { for (auto& f : fibers_) if (f->stack) pool.put(f->stack); }

void Scheduler::entry(unsigned lo, unsigned hi) {
  Fiber* f = (Fiber*)(((uint64_t)hi << 32) | lo);
  f->fn();
  f->done = true;
  Scheduler* s = tlsSched;
  s->progress_ = true;
  swapcontext(&f->ctx, &s->main_);
}

Fiber* Scheduler::spawn(std::function<void()> fn) {
  auto f = std::make_unique<Fiber>();
  f->fn = std::move(fn);
  f->stack = pool.get();
  getcontext(&f->ctx);
  f->ctx.uc_stack.ss_sp = f->stack;
  f->ctx.uc_stack.ss_size = kStack;
  f->ctx.uc_link = nullptr;
  if (cur_) { f->label = cur_->label; f->channel = cur_->channel; }
  uint64_t p = (uint64_t)f.get();
  makecontext(&f->ctx, (void (*)())entry, 2, (unsigned)p, (unsigned)(p >> 32));
  Fiber* raw = f.get();
  fibers_.push_back(std::move(f));
  return raw;
}

void Scheduler::yield() { swapcontext(&cur_->ctx, &main_); }

void Scheduler::idle(int rounds) {
  if (rounds < 100) { sched_yield(); return; }
  timespec t{0, rounds < 1000 ? 5000 : rounds < 10000 ? 50000 : 200000};
  nanosleep(&t, nullptr);
}

void Scheduler::run() {
  Scheduler* outer = tlsSched;
  tlsSched = this;
  static const double limit = [] { const char* e = getenv("SOFTGPU_EMU_TIMEOUT"); return e ? atof(e) : 30.0; }();
  int quiet = 0;
  uint64_t since = 0;
  while (!fibers_.empty()) {
    progress_ = false;
    for (size_t i = 0; i < fibers_.size(); i++) {  // may grow meanwhile
      cur_ = fibers_[i].get();
      swapcontext(&main_, &cur_->ctx);
    }
    cur_ = nullptr;
    size_t k = 0;
    for (auto& f : fibers_) {
      if (f->done) pool.put(f->stack), f->stack = nullptr;
      else { if (&fibers_[k] != &f) fibers_[k] = std::move(f); k++; }
    }
    fibers_.resize(k);
    if (progress_) { quiet = 0; since = 0; continue; }
    idle(quiet++);
    if (limit > 0 && quiet > 1000 && quiet % 256 == 0) {
      uint64_t t = nowNs();
      if (!since) since = t;
      else if (t - since > limit * 1e9) {
        fprintf(stderr, "nccl_emu[%d]: no progress for %.0f s\n", (int)getpid(), (t - since) * 1e-9);
        dump(stderr);
        since = t;
      }
    }
  }
  tlsSched = outer;
}

void Scheduler::dump(FILE* f) {
  if (dumpExtra_) dumpExtra_(f);
  for (auto& p : fibers_) {
    Fiber* b = p.get();
    uint64_t have = b->waitPtr ? *b->waitPtr : 0;
    fprintf(f, "  ch %d %s: waits for %s, peer %d: at %p is %llu, wants %llu\n", b->channel, b->label, b->what, b->peer,
            (void*)b->waitPtr, (unsigned long long)have, (unsigned long long)b->waitWant);
  }
  fflush(f);
}

}  // namespace emu
