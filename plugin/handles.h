// What NCCL gets from us as event handles and contexts: tagged numbers. Nothing in them is ever
// dereferenced. Must not know what the numbers stand for beyond their layout; whether one is still
// good is for its owner to check.
//
//   63..60 tag | 59 graph-captured | 58..0 tick of the start        API calls
//   63..60 tag | 59..48 small number | 47..0 operation id           operations, kernel channels,
//   proxy operations, steps, ... 63..60 tag | 59..32 process nonce | 31..16 generation | 15..0
//   index   contexts
#pragma once

#include <cstdint>

namespace chokepoint::plugin {

enum class HandleTag : std::uint64_t {
  kNone = 0,
  kContext = 1,
  kGroupApi = 2,
  kCollectiveApi = 3,
  kPointToPointApi = 4,
  kKernelLaunch = 5,
  kGroup = 6,
  kOperation = 7,  // collective or point-to-point: the board slot knows which
  kKernelChannel = 8,
  kProxyOperation = 9,
  kProxyStep = 10,
  kCopyEngine = 11,
};

inline constexpr int kTagShift = 60;
inline constexpr int kSmallShift = 48;
inline constexpr std::uint64_t kIdMask = (std::uint64_t{1} << kSmallShift) - 1;
inline constexpr std::uint64_t kSmallMask = 0xfff;
inline constexpr std::uint64_t kGraphBit = std::uint64_t{1} << 59;
inline constexpr std::uint64_t kTickMask = kGraphBit - 1;

class Handle {
 public:
  constexpr Handle() = default;
  explicit Handle(const void* raw) : bits_(reinterpret_cast<std::uintptr_t>(raw)) {}
  static constexpr Handle Of(HandleTag tag, std::uint64_t small, std::uint64_t id) {
    return Handle((static_cast<std::uint64_t>(tag) << kTagShift) |
                  ((small & kSmallMask) << kSmallShift) | (id & kIdMask));
  }
  static constexpr Handle OfCall(HandleTag tag, bool graph_captured, std::uint64_t ticks) {
    return Handle((static_cast<std::uint64_t>(tag) << kTagShift) |
                  (graph_captured ? kGraphBit : 0) | (ticks & kTickMask));
  }
  void* raw() const { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(bits_)); }
  constexpr std::uint64_t bits() const { return bits_; }
  constexpr HandleTag tag() const { return static_cast<HandleTag>(bits_ >> kTagShift); }
  constexpr std::uint64_t id() const { return bits_ & kIdMask; }
  constexpr std::uint32_t small() const {
    return static_cast<std::uint32_t>((bits_ >> kSmallShift) & kSmallMask);
  }
  constexpr bool is_call() const {
    return tag() >= HandleTag::kGroupApi && tag() <= HandleTag::kKernelLaunch;
  }
  constexpr bool graph_captured() const { return (bits_ & kGraphBit) != 0; }
  constexpr std::uint64_t call_ticks() const { return bits_ & kTickMask; }

 private:
  explicit constexpr Handle(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_ = 0;
};
static_assert(sizeof(void*) == 8, "handles are 64-bit numbers");

}  // namespace chokepoint::plugin
