// Writes jumps and traps into a loaded image, never in memory that is writable and executable at
// once. It must not touch the image's file.
#include "tests/softgpu/redirect/code_patch.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/softgpu/cuda/log.h"
#include "tests/softgpu/redirect/entry_points.h"

#if !defined(__x86_64__)
#error "the code written here is x86-64"
#endif

namespace chokepoint::softgpu {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kStubBytes = 32;
constexpr uint8_t kOpcodeJumpRel32 = 0xE9, kOpcodeTrap = 0xCC, kOpcodeReturn = 0xC3;

uintptr_t PageDown(uintptr_t a) { return a & ~(kPage - 1); }
uintptr_t PageUp(uintptr_t a) { return PageDown(a + kPage - 1); }

uint8_t* PutImmediate(uint8_t* out, const void* value) {
  memcpy(out, &value, sizeof value);
  return out + sizeof value;
}

}  // namespace

void CodePatch::Redirect(uintptr_t function, void* replacement) {
  redirections_.push_back({function, replacement, nullptr});
}

void CodePatch::RedirectToUnsupported(uintptr_t function, const char* name) {
  redirections_.push_back({function, nullptr, name});
}

void CodePatch::Trap(uintptr_t from, size_t size) { fills_.push_back({from, size, kOpcodeTrap}); }

void CodePatch::MakeEmpty(uintptr_t function) { fills_.push_back({function, 1, kOpcodeReturn}); }

// A 5-byte jump reaches 2 GiB, our own code may be further away than that from the image: the jumps
// go to stubs placed close to the image.
uint8_t* CodePatch::AllocateNear(size_t bytes) const {
  constexpr uintptr_t kReach = 0x7f000000, kStep = 1 << 20;
  for (uintptr_t distance = kStep; distance + (end_ - begin_) + bytes < kReach; distance += kStep) {
    for (uintptr_t hint : {PageDown(begin_ - distance), PageUp(end_ + distance)}) {
      void* p = mmap(reinterpret_cast<void*>(hint), bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (p == reinterpret_cast<void*>(hint)) return static_cast<uint8_t*>(p);
      if (p != MAP_FAILED) munmap(p, bytes);  // a kernel that does not know MAP_FIXED_NOREPLACE
    }
  }
  Fatal("%s: found no free memory within 2 GiB of it for the jumps to softgpu", path_);
}

// Stub of an implemented function:   mov rax, replacement; jmp rax
// Stub of an unsupported function:   mov rdi, name; mov rax, ReportUnsupported; jmp rax
void CodePatch::WriteStubs(uint8_t* stubs) const {
  for (const Redirection& r : redirections_) {
    uint8_t* out = stubs;
    if (!r.replacement) {
      *out++ = 0x48, *out++ = 0xBF;
      out = PutImmediate(out, r.name);
    }
    *out++ = 0x48, *out++ = 0xB8;
    out = PutImmediate(out,
                       r.replacement ? r.replacement : reinterpret_cast<void*>(ReportUnsupported));
    *out++ = 0xFF, *out++ = 0xE0;
    stubs += kStubBytes;
  }
}

void CodePatch::WriteImage(const uint8_t* stubs) const {
  for (const Fill& f : fills_) memset(reinterpret_cast<void*>(f.from), f.byte, f.size);
  for (const Redirection& r : redirections_) {
    const auto target = reinterpret_cast<intptr_t>(stubs);
    const auto offset =
        static_cast<int32_t>(target - static_cast<intptr_t>(r.function + kJumpBytes));
    auto* code = reinterpret_cast<uint8_t*>(r.function);
    code[0] = kOpcodeJumpRel32;
    memcpy(code + 1, &offset, sizeof offset);
    stubs += kStubBytes;
  }
}

// Nothing of the image runs yet, so its code may lose the execute permission for a moment: memory
// that is writable and executable at once is forbidden on some systems.
void CodePatch::Apply() {
  if (redirections_.empty()) return;
  uintptr_t from = UINTPTR_MAX, to = 0;
  auto include = [&](uintptr_t begin, size_t size) {
    from = std::min(from, begin), to = std::max(to, begin + size);
  };
  for (auto& r : redirections_) include(r.function, kJumpBytes);
  for (auto& f : fills_) include(f.from, f.size);
  from = PageDown(from), to = PageUp(to);

  size_t stub_bytes = PageUp(redirections_.size() * kStubBytes);
  uint8_t* stubs = AllocateNear(stub_bytes);
  WriteStubs(stubs);
  if (mprotect(stubs, stub_bytes, PROT_READ | PROT_EXEC))
    Fatal("%s: mprotect of the jumps: %s", path_, strerror(errno));
  if (mprotect(reinterpret_cast<void*>(from), to - from, PROT_READ | PROT_WRITE))
    Fatal("%s: its code cannot be made writable: %s", path_, strerror(errno));
  WriteImage(stubs);
  if (mprotect(reinterpret_cast<void*>(from), to - from, PROT_READ | PROT_EXEC))
    Fatal("%s: its changed code cannot be made executable: %s", path_, strerror(errno));
}

bool IsRedirected(uintptr_t function) {
  return *reinterpret_cast<const uint8_t*>(function) == kOpcodeJumpRel32;
}

}  // namespace chokepoint::softgpu
