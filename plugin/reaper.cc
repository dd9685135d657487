// One walk over the board, with three reasons.
// Must not run on NCCL's hot path: the walk reads every place.
#include "plugin/reaper.h"

#include "plugin/board.h"
#include "plugin/clock_rate.h"
#include "plugin/copy_engine.h"
#include "plugin/operations.h"
#include "plugin/proxy.h"

namespace chokepoint::plugin {
namespace {

// Kernels of one operation start together: nothing new in this time means that nothing comes.
constexpr std::uint64_t kQuietPointToPointMs = 100;
constexpr std::uint64_t kQuietMs = 1000;
constexpr std::uint64_t kReapEveryMs = 100;

bool KernelsQuiet(const OperationSide& side) noexcept {
  return side.enqueued != 0 && side.started != 0 && side.started == side.stopped;
}

// For the drain thread only: it alone writes what it saw.
bool QuietLongEnough(trace::BoardSlot* slot, std::uint64_t id, const OperationSide& side,
                     std::uint64_t now) noexcept {
  OperationWatch& watch = SideOf<OperationWatch>(slot);
  if (Load(watch.id) != id || Load(watch.stopped) != side.stopped) {
    Store(watch.id, id);
    Store(watch.stopped, side.stopped);
    Store(watch.ticks, now);
    return false;
  }
  const bool point_to_point = KindIn(slot) == trace::EventKind::kPointToPoint;
  return now - Load(watch.ticks) >
         MillisecondsInTicks(point_to_point ? kQuietPointToPointMs : kQuietMs);
}

// No kernel of it was ever seen, yet a later operation of its communicator is over: streams keep
// the order.
bool Overtaken(trace::BoardSlot* slot, const OperationSide& side) noexcept {
  return side.started == 0 && side.enqueued != 0 && side.owner != nullptr &&
         side.owner->last_over_ticks.load(std::memory_order_relaxed) >
             Load(RecordIn<trace::Collective>(slot).enqueue_ticks);
}

void ReapOperation(trace::BoardSlot* slot, std::uint64_t id, std::uint64_t now) noexcept {
  const auto side = LoadWords<OperationSide>(slot->record + sizeof(trace::Collective));
  if (KernelsQuiet(side)) {
    if (QuietLongEnough(slot, id, side, now))
      FinishOperation(slot, id, Ending::kSeen, side.quiet_ticks);
    return;
  }
  if (Overtaken(slot, side) && QuietLongEnough(slot, id, side, now)) {
    FinishOperation(slot, id, Ending::kUnknown, 0);
  }
}

template <class Visit>
void WalkBoard(Visit visit) noexcept {
  trace::BoardSlot* board = g_board.load(std::memory_order_acquire);
  if (board == nullptr) return;
  for (std::size_t i = 0; i < kBoardSlots; ++i) {
    const std::uint64_t id = board[i].id.load(std::memory_order_acquire);
    if (id != 0 && id != trace::kBoardClaimed) visit(&board[i], id);
  }
}

}  // namespace

bool FinishIfOver(trace::BoardSlot* slot) noexcept {
  const std::uint64_t id = slot->id.load(std::memory_order_acquire);
  if (id == 0 || id == trace::kBoardClaimed || !IsOperation(slot)) return false;
  const auto side = LoadWords<OperationSide>(slot->record + sizeof(trace::Collective));
  return KernelsQuiet(side) && FinishOperation(slot, id, Ending::kSeen, side.quiet_ticks);
}

void ReapQuiet() noexcept {
  static std::uint64_t next = 0;  // drain thread only
  const std::uint64_t now = trace::NowTicks();
  LearnClockRate();
  if (now < next) return;
  next = now + MillisecondsInTicks(kReapEveryMs);
  WalkBoard([now](trace::BoardSlot* slot, std::uint64_t id) {
    if (IsOperation(slot)) ReapOperation(slot, id, now);
  });
}

void AbandonOperations(std::uint32_t communicator) noexcept {
  WalkBoard([communicator](trace::BoardSlot* slot, std::uint64_t id) {
    switch (KindIn(slot)) {
      case trace::EventKind::kCollective:
      case trace::EventKind::kPointToPoint:
        if (Load(RecordIn<trace::Collective>(slot).communicator) == communicator) {
          const auto side = LoadWords<OperationSide>(slot->record + sizeof(trace::Collective));
          FinishOperation(slot, id, Overtaken(slot, side) ? Ending::kUnknown : Ending::kAborted, 0);
        }
        break;
      case trace::EventKind::kProxyOperation:
        if (Load(RecordIn<trace::ProxyOperation>(slot).communicator) == communicator)
          FinishProxyOperation(slot, id, trace::kProxyOpen | trace::kProxyAborted);
        break;
      case trace::EventKind::kCopyEngine:
        if (Load(RecordIn<trace::CopyEngine>(slot).communicator) == communicator)
          FinishCopyEngine(slot, id, false);
        break;
      default:
        break;
    }
  });
}

void ReapAtExit() noexcept {
  WalkBoard([](trace::BoardSlot* slot, std::uint64_t) { FinishIfOver(slot); });
}

}  // namespace chokepoint::plugin
