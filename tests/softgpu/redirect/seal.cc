// Overwrites what is left of a runtime whose public functions are redirected.
// It must not touch code that is not the runtime's.
#include "tests/softgpu/redirect/seal.h"

#include <cstring>
#include <unordered_map>

#include "tests/softgpu/cuda/log.h"

namespace chokepoint::softgpu {
namespace {

// As NVIDIA names the static runtime's internal functions in libcudart_static.a.
bool IsRuntimeInternal(const char* name) {
  constexpr char kPrefix[] = "libcudart_static_";
  return strncmp(name, kPrefix, sizeof kPrefix - 1) == 0;
}

// The image's constructors and destructors.
std::vector<uintptr_t> InitAndFiniFunctions(const Image& image, const dl_phdr_info* info) {
  uintptr_t arrays[2] = {};
  size_t sizes[2] = {};
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(image.bias + info->dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; entry++) {
      if (entry->d_tag == DT_INIT_ARRAY) arrays[0] = image.bias + entry->d_un.d_ptr;
      if (entry->d_tag == DT_INIT_ARRAYSZ) sizes[0] = entry->d_un.d_val;
      if (entry->d_tag == DT_FINI_ARRAY) arrays[1] = image.bias + entry->d_un.d_ptr;
      if (entry->d_tag == DT_FINI_ARRAYSZ) sizes[1] = entry->d_un.d_val;
    }
  }
  std::vector<uintptr_t> functions;
  for (int i = 0; i < 2; i++) {
    const auto* const array = reinterpret_cast<const uintptr_t*>(arrays[i]);
    functions.insert(functions.end(), array, array + sizes[i] / sizeof(uintptr_t));
  }
  return functions;
}

}  // namespace

void Seal(const Image& image, const dl_phdr_info* info,
          const std::vector<RuntimeFunction>& functions, CodePatch* patch) {
  std::unordered_map<uintptr_t, size_t> internals;
  image.file->ForEachSymbol(ElfFile::kSymtab, [&](const char* name, const Elf64_Sym& s) {
    if (ElfFile::IsFunction(s) && IsRuntimeInternal(name) && s.st_size != 0) {
      internals[image.bias + s.st_value] = s.st_size;
    }
  });
  for (const auto& [address, size] : internals) patch->Trap(address, size);
  for (const RuntimeFunction& f : functions) {
    if (f.size > kJumpBytes) patch->Trap(f.address + kJumpBytes, f.size - kJumpBytes);
  }
  int emptied = 0;
  for (const uintptr_t function : InitAndFiniFunctions(image, info)) {
    if (internals.count(function) == 0) continue;
    patch->MakeEmpty(function);
    emptied++;
  }
  LogLine(1,
          "%s: sealed %zu internal functions of its CUDA runtime, %d constructors or destructors "
          "made empty",
          image.path.c_str(), internals.size(), emptied);
}

}  // namespace chokepoint::softgpu
