// One launch of a kernel (a grid) and one of its thread blocks, which works on one channel.
// It must not contain any algorithm.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/softgpu/emu/device_structs.h"
#include "tests/softgpu/emu/fiber.h"
#include "tests/softgpu/emu/function_table.h"
#include "tests/softgpu/emu/layout.h"

namespace chokepoint::softgpu::emu {

// What all blocks of a launch share.
struct Grid {
  const Layout* layout;
  const std::vector<Function>* functions;
  const char* args;
  KernelArgs kernel_args;
  int rank;
  int ranks;
  int buffer_sizes[kProtocols];
  int p2p_chunk_size;
  volatile uint32_t* abort_flag;
  char* channels;
  char* work_started;
  char* work_completed;
  uint32_t* work_consumed;
};

struct Block {
  const Grid* grid;
  int index;
  int channel_id;
  char* channel;  // the device's channel struct
  ChannelPeer** peers;
  int ring_previous;
  int ring_next;
  int ring_index;
  int* ring_ranks;  // in ring order, from this rank on
  int tree_up;      // -1: none
  int tree_down[3];
  bool aborted = false;

  bool CheckAbort() {
    aborted = aborted || (grid->abort_flag != nullptr && *grid->abort_flag != 0);
    return aborted;
  }
};

// How much a block's waiting tells when it gets stuck.
class AwaitedNote {
 public:
  AwaitedNote(const char* what, const volatile uint64_t* word, uint64_t value, int peer)
      : fiber_(Scheduler::Current()->self()) {
    fiber_->awaited = what;
    fiber_->awaited_word = word;
    fiber_->awaited_value = value;
    fiber_->peer = peer;
  }
  ~AwaitedNote() {
    fiber_->awaited = "?";
    fiber_->awaited_word = nullptr;
  }
  AwaitedNote(const AwaitedNote&) = delete;
  AwaitedNote& operator=(const AwaitedNote&) = delete;

 private:
  Fiber* const fiber_;
};

// Waits for as long as the launch is not aborted; false if it is.
template <class Holds>
bool WaitInBlock(Block& block, Holds&& holds) {
  return WaitUntil(holds, [&block] { return block.CheckAbort(); });
}

// A counter that the other side advances, and what it was when last looked at.
struct PeerCounter {
  const volatile uint64_t* word = nullptr;
  uint64_t seen = 0;
  void Refresh() { seen = __atomic_load_n(word, __ATOMIC_ACQUIRE); }
};

// Waits until the counter has reached `wanted`; false if aborted.
inline bool WaitForCounter(Block& block, PeerCounter& counter, uint64_t wanted, const char* what,
                           int peer) {
  const auto reached = [&counter, wanted] {
    // Not as "seen >= wanted": when a receiver's head is awaited, `wanted` begins below 0.
    return static_cast<int64_t>(counter.seen - wanted) >= 0;
  };
  if (reached()) return true;
  const AwaitedNote note(what, counter.word, wanted, peer);
  return WaitInBlock(block, [&] {
    counter.Refresh();
    return reached();
  });
}

// Runs the parts as fibers side by side and waits for all of them; they end by themselves on abort.
void RunSideBySide(std::vector<std::function<void()>> parts);

constexpr int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t RoundUp(int64_t a, int64_t b) { return DivideUp(a, b) * b; }

}  // namespace chokepoint::softgpu::emu
