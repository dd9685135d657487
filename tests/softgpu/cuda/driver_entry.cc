// Looking up driver functions by name, and the stubs of those that are not implemented.
// It must not give out an undocumented interface.
#include "tests/softgpu/cuda/driver_entry.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "tests/softgpu/cuda/log.h"
#include "tests/softgpu/redirect/code_patch.h"
#include "tests/softgpu/redirect/entry_points.h"

using namespace chokepoint::softgpu;

namespace chokepoint::softgpu {
namespace {

// A function that calls ReportUnsupported(name):   mov rdi, name; mov rax, ReportUnsupported; jmp
// rax
void* MakeUnsupportedFunction(const char* name) {
  constexpr size_t kPage = 4096;
  auto* code = static_cast<uint8_t*>(
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (code == MAP_FAILED) return nullptr;
  const void* values[] = {name, reinterpret_cast<const void*>(ReportUnsupported)};
  const uint8_t opcodes[][2] = {{0x48, 0xBF}, {0x48, 0xB8}, {0xFF, 0xE0}};
  uint8_t* out = code;
  for (int i = 0; i < 3; i++) {
    memcpy(out, opcodes[i], 2), out += 2;
    if (i < 2) memcpy(out, &values[i], 8), out += 8;
  }
  mprotect(code, kPage, PROT_READ | PROT_EXEC);
  return code;
}

void* UnsupportedFunction(const char* name) {
  static auto* const mutex = new std::mutex;
  static auto* const stubs = new std::map<std::string, void*>;
  std::lock_guard<std::mutex> lock(*mutex);
  auto [it, isNew] = stubs->emplace(name, nullptr);
  if (isNew) it->second = MakeUnsupportedFunction(it->first.c_str());
  return it->second;
}

}  // namespace

void* DriverFunctionOrStub(const char* name, int version, const void* caller) {
  void* function = FindDriverFunction(name, version);
  if (!strcmp(name, "cuGetExportTable")) {
    // Only a CUDA runtime asks for this: one that has not been redirected is running.
    Dl_info info;
    const char* object =
        dladdr(caller, &info) && info.dli_fname ? info.dli_fname : "an unknown object";
    if (FirstTime(name + std::string(object))) {
      LogLine(1, "%s: its CUDA runtime was not replaced (stripped?) and cannot work with softgpu",
              object);
    }
    return nullptr;
  }
  if (!function && !strncmp(name, "cu", 2)) function = UnsupportedFunction(name);
  LogLine(2, "driver function %s (%d): %s", name, version,
          FindDriverFunction(name, version) ? "found" : "not implemented");
  return function;
}

}  // namespace chokepoint::softgpu

static Error GetProcAddress(const char* name, void** function, int version, int* status,
                            const void* caller) {
  *function = DriverFunctionOrStub(name, version, caller);
  if (status) *status = *function ? kEntryPointSuccess : kEntryPointSymbolNotFound;
  return *function ? kSuccess : kNotFound;
}
DRIVER_API cuGetProcAddress(const char* name, void** function, int version, uint64_t) {
  return GetProcAddress(name, function, version, nullptr, __builtin_return_address(0));
}
DRIVER_ENTRY(cuGetProcAddress, 11030, cuGetProcAddress)

DRIVER_API cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t,
                               int* status) {
  return GetProcAddress(name, function, version, status, __builtin_return_address(0));
}
DRIVER_ENTRY(cuGetProcAddress, 12000, cuGetProcAddress_v2)
