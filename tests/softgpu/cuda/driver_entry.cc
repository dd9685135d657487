#include "tests/softgpu/cuda/driver_entry.h"

#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>

#include "tests/softgpu/redirect/code_patch.h"
#include "tests/softgpu/redirect/entry_points.h"
#include "tests/softgpu/cuda/log.h"

using namespace softgpu;

namespace softgpu {
namespace {

// A function that calls reportUnsupported(name):   mov rdi, name; mov rax, reportUnsupported; jmp rax
void *makeUnsupportedFunction(const char *name) {
  constexpr size_t kPage = 4096;
  auto *code = (uint8_t *)mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return nullptr;
  const void *values[] = {name, (const void *)reportUnsupported};
  const uint8_t opcodes[][2] = {{0x48, 0xBF}, {0x48, 0xB8}, {0xFF, 0xE0}};
  uint8_t *out = code;
  for (int i = 0; i < 3; i++) {
    memcpy(out, opcodes[i], 2), out += 2;
    if (i < 2) memcpy(out, &values[i], 8), out += 8;
  }
  mprotect(code, kPage, PROT_READ | PROT_EXEC);
  return code;
}

void *unsupportedFunction(const char *name) {
  static auto *const mutex = new std::mutex;
  static auto *const stubs = new std::map<std::string, void *>;
  std::lock_guard<std::mutex> lock(*mutex);
  auto [it, isNew] = stubs->emplace(name, nullptr);
  if (isNew) it->second = makeUnsupportedFunction(it->first.c_str());
  return it->second;
}

}  // namespace

void *driverFunctionOrStub(const char *name, int version, const void *caller) {
  void *function = findDriverFunction(name, version);
  if (!strcmp(name, "cuGetExportTable")) {
    // Only a CUDA runtime asks for this: one that has not been redirected is running.
    Dl_info info;
    const char *object = dladdr(caller, &info) && info.dli_fname ? info.dli_fname : "an unknown object";
    if (firstTime(name + std::string(object)))
      logLine(1, "%s: its CUDA runtime was not replaced (stripped?) and cannot work with softgpu", object);
    return nullptr;
  }
  if (!function && !strncmp(name, "cu", 2)) function = unsupportedFunction(name);
  logLine(2, "driver function %s (%d): %s", name, version, findDriverFunction(name, version) ? "found" : "not implemented");
  return function;
}

}  // namespace softgpu

static Error getProcAddress(const char *name, void **function, int version, int *status, const void *caller) {
  *function = driverFunctionOrStub(name, version, caller);
  if (status) *status = *function ? kEntryPointSuccess : kEntryPointSymbolNotFound;
  return *function ? kSuccess : kNotFound;
}
DRIVER_API(cuGetProcAddress, 11030, cuGetProcAddress, (const char *name, void **function, int version, uint64_t)) {
  return getProcAddress(name, function, version, nullptr, __builtin_return_address(0));
}
DRIVER_API(cuGetProcAddress, 12000, cuGetProcAddress_v2, (const char *name, void **function, int version, uint64_t, int *status)) {
  return getProcAddress(name, function, version, status, __builtin_return_address(0));
}
