#include "tests/softgpu/redirect/code_patch.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

#include "tests/softgpu/redirect/entry_points.h"
#include "tests/softgpu/cuda/log.h"

#if !defined(__x86_64__)
#error "the code written here is x86-64"
#endif

namespace softgpu {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kStubBytes = 32;
constexpr uint8_t kOpcodeJumpRel32 = 0xE9, kOpcodeTrap = 0xCC, kOpcodeReturn = 0xC3;

uintptr_t pageDown(uintptr_t a) { return a & ~(kPage - 1); }
uintptr_t pageUp(uintptr_t a) { return pageDown(a + kPage - 1); }

uint8_t *putImmediate(uint8_t *out, const void *value) {
  memcpy(out, &value, sizeof value);
  return out + sizeof value;
}

}  // namespace

void CodePatch::redirect(uintptr_t function, void *replacement) { redirections_.push_back({function, replacement, nullptr}); }

void CodePatch::redirectToUnsupported(uintptr_t function, const char *name) {
  redirections_.push_back({function, nullptr, name});
}

void CodePatch::trap(uintptr_t from, size_t size) { fills_.push_back({from, size, kOpcodeTrap}); }

void CodePatch::makeEmpty(uintptr_t function) { fills_.push_back({function, 1, kOpcodeReturn}); }

// A 5-byte jump reaches 2 GiB, our own code may be further away than that from the image: the jumps go to stubs placed
// close to the image.
uint8_t *CodePatch::allocateNear(size_t bytes) const {
  constexpr uintptr_t kReach = 0x7f000000, kStep = 1 << 20;
  for (uintptr_t distance = kStep; distance + (end_ - begin_) + bytes < kReach; distance += kStep) {
    for (uintptr_t hint : {pageDown(begin_ - distance), pageUp(end_ + distance)}) {
      void *p = mmap((void *)hint, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (p == (void *)hint) return (uint8_t *)p;
      if (p != MAP_FAILED) munmap(p, bytes);  // a kernel that does not know MAP_FIXED_NOREPLACE
    }
  }
  fatal("%s: found no free memory within 2 GiB of it for the jumps to softgpu", path_);
}

// Stub of an implemented function:   mov rax, replacement; jmp rax
// Stub of an unsupported function:   mov rdi, name; mov rax, reportUnsupported; jmp rax
void CodePatch::writeStubs(uint8_t *stubs) const {
  for (const Redirection &r : redirections_) {
    uint8_t *out = stubs;
    if (!r.replacement) {
      *out++ = 0x48, *out++ = 0xBF;
      out = putImmediate(out, r.name);
    }
    *out++ = 0x48, *out++ = 0xB8;
    out = putImmediate(out, r.replacement ? r.replacement : (void *)reportUnsupported);
    *out++ = 0xFF, *out++ = 0xE0;
    stubs += kStubBytes;
  }
}

void CodePatch::writeImage(const uint8_t *stubs) const {
  for (const Fill &f : fills_) memset((void *)f.from, f.byte, f.size);
  for (const Redirection &r : redirections_) {
    int32_t offset = (int32_t)((intptr_t)stubs - (intptr_t)(r.function + kJumpBytes));
    auto *code = (uint8_t *)r.function;
    code[0] = kOpcodeJumpRel32;
    memcpy(code + 1, &offset, sizeof offset);
    stubs += kStubBytes;
  }
}

// Nothing of the image runs yet, so its code may lose the execute permission for a moment: memory that is writable and
// executable at once is forbidden on some systems.
void CodePatch::apply() {
  if (redirections_.empty()) return;
  uintptr_t from = UINTPTR_MAX, to = 0;
  auto include = [&](uintptr_t begin, size_t size) { from = std::min(from, begin), to = std::max(to, begin + size); };
  for (auto &r : redirections_) include(r.function, kJumpBytes);
  for (auto &f : fills_) include(f.from, f.size);
  from = pageDown(from), to = pageUp(to);

  size_t stubBytes = pageUp(redirections_.size() * kStubBytes);
  uint8_t *stubs = allocateNear(stubBytes);
  writeStubs(stubs);
  if (mprotect(stubs, stubBytes, PROT_READ | PROT_EXEC)) fatal("%s: mprotect of the jumps: %s", path_, strerror(errno));
  if (mprotect((void *)from, to - from, PROT_READ | PROT_WRITE))
    fatal("%s: its code cannot be made writable: %s", path_, strerror(errno));
  writeImage(stubs);
  if (mprotect((void *)from, to - from, PROT_READ | PROT_EXEC))
    fatal("%s: its changed code cannot be made executable: %s", path_, strerror(errno));
}

bool isRedirected(uintptr_t function) { return *(const uint8_t *)function == kOpcodeJumpRel32; }

}  // namespace softgpu
