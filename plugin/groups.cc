// The group of the moment is thread-local: NCCL starts it, its operations, and stops it in one
// function. Must not attribute an operation to another thread's group: the number in the handle has
// to agree.
#include "plugin/groups.h"

#include <atomic>

#include "trace/recorder.h"

namespace chokepoint::plugin {
namespace {

struct CurrentGroup {
  std::uint64_t number = 0;  // of the open group; 0 = none
  std::uint64_t next = 0;    // thread << 32 | counter
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t start_ticks = 0;
  std::uint32_t operations = 0;
  std::uint32_t communicator = 0;
  int depth = 0;
};
thread_local CurrentGroup t_group __attribute__((tls_model("initial-exec")));
std::atomic<std::uint64_t> g_threads{0};

}  // namespace

void* BeginGroup() noexcept {
  CurrentGroup& group = t_group;
  if (group.next == 0) group.next = (g_threads.fetch_add(1, std::memory_order_relaxed) + 1) << 24;
  group.number = ++group.next & kIdMask;
  group.operations = 0;
  return Handle::Of(HandleTag::kGroup, 0, group.number).raw();
}

void NoteInGroup(Handle group, std::uint64_t operation, std::uint32_t communicator,
                 std::uint64_t ticks) noexcept {
  CurrentGroup& current = t_group;
  if (group.tag() != HandleTag::kGroup || group.id() != current.number) return;
  if (current.operations == 0) {
    current.first = operation;
    current.start_ticks = ticks;
    current.communicator = communicator;
  }
  current.last = operation;
  current.operations += 1;
}

void EndGroup(Handle group) noexcept {
  CurrentGroup& current = t_group;
  if (group.id() != current.number || current.number == 0) return;
  current.number = 0;
  if (current.operations == 0 || (current.operations == 1 && current.depth < 2)) return;
  trace::Group record;
  record.operations =
      static_cast<std::uint16_t>(current.operations < 0xffff ? current.operations : 0xffff);
  record.communicator = current.communicator;
  record.first_operation = static_cast<std::uint32_t>(current.first);
  record.last_operation = static_cast<std::uint32_t>(current.last);
  record.start_ticks = current.start_ticks;
  record.end_after_ticks = static_cast<float>(trace::NowTicks() - current.start_ticks);
  trace::Emit(record);
}

void SetGroupDepth(int depth) noexcept { t_group.depth = depth; }

}  // namespace chokepoint::plugin
