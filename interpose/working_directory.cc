// One remembered working directory under a version number.
// Must not wait: a thread that finds it being written takes another way.
#include "interpose/working_directory.h"

#include <atomic>

#include "trace/raw_io.h"

namespace chokepoint::interpose {

namespace {

namespace raw = trace::raw;

constexpr std::size_t kRoom = 1000;
char g_text[kRoom + 1];
std::size_t g_bytes = 0;
std::uint64_t g_hash = 0;
std::atomic<std::uint32_t> g_changes{2};  // grows with each chdir
std::atomic<std::uint32_t> g_known{
    0};  // the value of g_changes that g_text belongs to; 1 = being written

}  // namespace

bool CurrentDirectory(WorkingDirectory* out) {
  const std::uint32_t changes = g_changes.load(std::memory_order_acquire);
  std::uint32_t known = g_known.load(std::memory_order_acquire);
  if (known != changes) {
    if (known == 1 || !g_known.compare_exchange_strong(known, 1, std::memory_order_acquire)) {
      return false;
    }
    const long got = raw::Call(SYS_getcwd, raw::Word(static_cast<void*>(g_text)), raw::Word(kRoom));
    g_bytes = got > 1 && g_text[0] == '/' ? static_cast<std::size_t>(got) - 1 : 0;
    if (g_bytes > 1) g_text[g_bytes++] = '/';
    g_hash = HashOn(kHashStart, g_text, g_bytes);
    g_known.store(changes, std::memory_order_release);
  }
  *out = {g_text, g_bytes, g_hash, changes};
  return out->bytes != 0;
}

bool StillValid(const WorkingDirectory& directory) {
  std::atomic_thread_fence(std::memory_order_acquire);
  return g_known.load(std::memory_order_relaxed) == directory.version;
}

void WorkingDirectoryChanged() { g_changes.fetch_add(1, std::memory_order_release); }

}  // namespace chokepoint::interpose
