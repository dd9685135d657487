// What LL and LL128 have in common: lines that carry a flag, so that a receiver sees when a line
// has arrived. It must not know the format of a line: that is Line, a class with these members:
//   kBytes, kDataBytes, Protocol id kProtocol, LinesFor(data bytes), and Store / TryLoad of one
//   line.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/softgpu/emu/primitives.h"

namespace chokepoint::softgpu::emu {

template <class Line>
class FlaggedPrimitives final : public Primitives {
 public:
  FlaggedPrimitives(Block& block, const PrimitivesArgs& args)
      : Primitives(block, Line::kProtocol, args),
        lines_per_step_(block.grid->buffer_sizes[Line::kProtocol] / kSteps / Line::kBytes) {
    for (Peer& peer : send_) peer.counter.Refresh();
  }
  ~FlaggedPrimitives() override { StoreSteps(); }

  void Run(const Move& move) override {
    if (block_.aborted) return;
    const int64_t elements = std::max<int64_t>(move.elements, 0);
    const int64_t lines = Line::LinesFor(elements, element_bytes_);
    if (!Prepare(move, lines)) return;
    for (int64_t first = 0; first < lines; first += kTileLines) {
      if (!RunTile(move, elements, first, std::min(kTileLines, lines - first))) return;
    }
    Finish(move, lines);
  }

 private:
  static constexpr int64_t kTileLines = 4096 / Line::kDataBytes;
  static constexpr int64_t kTileBytes = kTileLines * Line::kDataBytes;

  // Claims slots at the receivers. What comes over the network is awaited by the proxy's tail
  // first: a GPU looks only at the flags, but a CPU that polls flags while another one copies the
  // buffer can see a flag before its data.
  bool Prepare(const Move& move, int64_t lines) {
    if (move.send) {
      for (Peer& peer : send_) {
        if (!AwaitFreeSlots(peer, 1)) return false;
        ConnFifo* const fifo = peer.connection->fifo;
        if (fifo == nullptr) continue;
        const int64_t sent = Line::NeedsCleaning(peer.step) ? lines_per_step_ : lines;
        __atomic_store_n(&fifo[peer.step % kSteps].size, sent * Line::kBytes, __ATOMIC_RELEASE);
      }
    }
    if (move.receive && lines != 0) {
      for (Peer& peer : recv_) {
        if (peer.connection->fifo != nullptr && !AwaitTail(peer, 1)) return false;
      }
    }
    return true;
  }

  char* LineAt(const Peer& peer, int64_t line) const {
    const auto slot = static_cast<int64_t>(peer.step % kSteps);
    return peer.buffer + (slot * lines_per_step_ + line) * Line::kBytes;
  }

  // Takes the lines of one peer; false if aborted.
  bool ReceiveTile(Peer& peer, int64_t first, int64_t lines, char* data) {
    for (int64_t i = 0; i < lines; i++) {
      char* const line = LineAt(peer, first + i);
      char* const to = data + i * Line::kDataBytes;
      const uint64_t step = peer.step + 1;
      if (Line::TryLoad(line, step, to)) continue;
      const AwaitedNote note(Line::kName, Line::FlagOf(line), step, peer.rank);
      if (!WaitInBlock(block_, [&] { return Line::TryLoad(line, step, to); })) return false;
    }
    return true;
  }

  bool RunTile(const Move& move, int64_t elements, int64_t first, int64_t lines) {
    const int64_t elements_per_line = Line::kDataBytes / element_bytes_;
    const int64_t at = first * elements_per_line;
    const int64_t count = std::max<int64_t>(0, std::min(lines * elements_per_line, elements - at));
    std::vector<void*> sources;
    if (move.source != Move::Buffer::kNone) {
      sources.push_back(UserBuffer(move.source, move.source_at + at));
    }
    if (move.receive) {
      received_.resize(recv_.size() * kTileBytes);
      for (size_t i = 0; i < recv_.size(); i++) {
        char* const data = received_.data() + i * kTileBytes;
        if (!ReceiveTile(recv_[i], first, lines, data)) return false;
        sources.push_back(data);
      }
    }
    alignas(16) char result[kTileBytes];
    memset(result, 0, static_cast<size_t>(lines) * Line::kDataBytes);
    void* destination = result;
    ReduceCopy(operation_, {.pre = move.source == Move::Buffer::kInput,
                            .post = move.is_result,
                            .sources = static_cast<int>(sources.size()),
                            .source = sources.data(),
                            .destinations = 1,
                            .destination = &destination,
                            .elements = count});
    if (move.destination != Move::Buffer::kNone && count != 0) {
      memcpy(UserBuffer(move.destination, move.destination_at + at), result,
             static_cast<size_t>(count * element_bytes_));
    }
    if (!move.send) return true;
    for (Peer& peer : send_) {
      for (int64_t i = 0; i < lines; i++) {
        Line::Store(LineAt(peer, first + i), peer.step + 1, result + i * Line::kDataBytes);
      }
    }
    return true;
  }

  void Finish(const Move& move, int64_t lines) {
    if (block_.aborted) return;
    if (move.receive) {
      for (Peer& peer : recv_) {
        peer.step++;
        __atomic_store_n(peer.connection->head, peer.step, __ATOMIC_RELEASE);
      }
    }
    if (!move.send) return;
    for (Peer& peer : send_) {
      if (Line::NeedsCleaning(peer.step)) {
        static constexpr char kZeros[Line::kDataBytes] = {};
        for (int64_t i = lines; i < lines_per_step_; i++) {
          Line::Store(LineAt(peer, i), peer.step + 1, kZeros);
        }
      }
      peer.step++;
      if (Line::kAdvancesTail && peer.connection->fifo != nullptr) {
        __atomic_store_n(peer.connection->tail, peer.step, __ATOMIC_RELEASE);
      }
    }
  }

  const int64_t lines_per_step_;
  std::vector<char> received_;
};

}  // namespace chokepoint::softgpu::emu
