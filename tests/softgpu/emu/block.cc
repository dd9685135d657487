// Running parts of a block side by side.
// It must not contain any algorithm.
#include "tests/softgpu/emu/block.h"

namespace chokepoint::softgpu::emu {

void RunSideBySide(std::vector<std::function<void()>> parts) {
  Scheduler* const scheduler = Scheduler::Current();
  size_t left = parts.size();
  for (size_t i = 1; i < parts.size(); i++) {
    scheduler->Spawn([&left, part = std::move(parts[i])] {
      part();
      left--;
    });
  }
  parts[0]();
  left--;
  const AwaitedNote note("its other half", nullptr, 0, -1);
  WaitUntil([&left] { return left == 0; }, [] { return false; });
}

}  // namespace chokepoint::softgpu::emu
