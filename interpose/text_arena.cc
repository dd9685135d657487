// The arena behind text_arena.h: static memory that costs nothing until used.
// Must not allocate.
#include "interpose/text_arena.h"

#include <atomic>
#include <cstring>

namespace chokepoint::interpose {

namespace {

constexpr std::size_t kArenaBytes = std::size_t{1} << 20;
char g_arena[kArenaBytes];
std::atomic<std::size_t> g_used{0};

}  // namespace

const char* KeepText(const char* first, std::size_t first_bytes, const char* second,
                     std::size_t second_bytes) {
  const std::size_t bytes = first_bytes + second_bytes + 1;
  std::size_t begin = g_used.load(std::memory_order_relaxed);
  do {
    if (begin + bytes > kArenaBytes) return nullptr;
  } while (!g_used.compare_exchange_weak(begin, begin + bytes, std::memory_order_relaxed));
  std::memcpy(g_arena + begin, first, first_bytes);
  std::memcpy(g_arena + begin + first_bytes, second, second_bytes);
  return g_arena + begin;
}

}  // namespace chokepoint::interpose
