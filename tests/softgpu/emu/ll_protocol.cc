// Protocol LL: lines of 16 bytes, two words of 4 bytes each followed by a flag, the low half of the
// step's number. It must not advance the tail: receivers and proxies look at the flags.
#include <cstring>

#include "tests/softgpu/emu/flagged_protocol.h"

namespace chokepoint::softgpu::emu {
namespace {

struct LineLL {
  static constexpr int kProtocol = kProtoLL;
  static constexpr int64_t kBytes = 16;
  static constexpr int64_t kDataBytes = 8;
  static constexpr bool kAdvancesTail = false;
  static constexpr char kName[] = "an LL line (flag in the high half)";

  static int64_t LinesFor(int64_t elements, int element_bytes) {
    return DivideUp(elements, kDataBytes / element_bytes);
  }

  // The flags come round again after 2^32 steps: before that all lines of all slots are written
  // once.
  static bool NeedsCleaning(uint64_t step) {
    constexpr uint64_t kCleanMask = 0x7ffffff8;
    return (step & kCleanMask) == kCleanMask;
  }

  static const volatile uint64_t* FlagOf(char* line) {
    return &reinterpret_cast<LLLine*>(line)->words[1];
  }

  static bool TryLoad(char* from, uint64_t step, char* data) {
    auto* const line = reinterpret_cast<LLLine*>(from);
    const auto flag = static_cast<uint32_t>(step);
    for (size_t half = 0; half < 2; half++) {
      const uint64_t word = __atomic_load_n(&line->words[half], __ATOMIC_ACQUIRE);
      if (static_cast<uint32_t>(word >> 32) != flag) return false;
      const auto value = static_cast<uint32_t>(word);
      memcpy(data + half * sizeof value, &value, sizeof value);
    }
    return true;
  }

  static void Store(char* to, uint64_t step, const char* data) {
    auto* const line = reinterpret_cast<LLLine*>(to);
    const uint64_t flag = static_cast<uint64_t>(static_cast<uint32_t>(step)) << 32;
    for (size_t half = 0; half < 2; half++) {
      uint32_t value;
      memcpy(&value, data + half * sizeof value, sizeof value);
      __atomic_store_n(&line->words[half], value | flag, __ATOMIC_RELEASE);
    }
  }
};

}  // namespace

std::unique_ptr<Primitives> MakeLLPrimitives(Block& block, const PrimitivesArgs& args) {
  return std::make_unique<FlaggedPrimitives<LineLL>>(block, args);
}

}  // namespace chokepoint::softgpu::emu
