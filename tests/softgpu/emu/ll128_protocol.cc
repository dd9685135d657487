// Protocol LL128: lines of 128 bytes, of which the last 8 are the flag, the step's number; 16 lines
// at least. A GPU deals the data out among its threads; here a line has 120 consecutive bytes,
// which is as good since both ends are emulated. It must not be used against a real GPU's lines.
#include <cstring>

#include "tests/softgpu/emu/flagged_protocol.h"

namespace chokepoint::softgpu::emu {
namespace {

struct LineLL128 {
  static constexpr int kProtocol = kProtoLL128;
  static constexpr int64_t kBytes = 128;
  static constexpr int64_t kDataBytes = 120;
  static constexpr bool kAdvancesTail = true;
  static constexpr char kName[] = "an LL128 line";
  static constexpr int64_t kLinesAtLeast = 16;

  static int64_t LinesFor(int64_t elements, int element_bytes) {
    return RoundUp(DivideUp(elements, kDataBytes / element_bytes), kLinesAtLeast);
  }

  static bool NeedsCleaning(uint64_t) { return false; }  // flags of 64 bits do not come round

  static uint64_t* Flag(char* line) { return reinterpret_cast<uint64_t*>(line + kDataBytes); }
  static const volatile uint64_t* FlagOf(char* line) { return Flag(line); }

  static bool TryLoad(char* from, uint64_t step, char* data) {
    if (__atomic_load_n(Flag(from), __ATOMIC_ACQUIRE) != step) return false;
    memcpy(data, from, kDataBytes);
    return true;
  }

  static void Store(char* to, uint64_t step, const char* data) {
    memcpy(to, data, kDataBytes);
    __atomic_store_n(Flag(to), step, __ATOMIC_RELEASE);
  }
};

}  // namespace

std::unique_ptr<Primitives> MakeLL128Primitives(Block& block, const PrimitivesArgs& args) {
  return std::make_unique<FlaggedPrimitives<LineLL128>>(block, args);
}

}  // namespace chokepoint::softgpu::emu
