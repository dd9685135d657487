// Recognises the runtime's functions by their names in the image's symbol tables.
// It must not trust the tables: the file on disk may not be the one that is loaded.
#include "tests/softgpu/redirect/runtime_functions.h"

#include <cstring>
#include <map>

#include "tests/softgpu/cuda/log.h"
#include "tests/softgpu/redirect/code_patch.h"
#include "tests/softgpu/redirect/entry_points.h"

namespace chokepoint::softgpu {
namespace {

bool StartsWith(const char* text, const char* prefix) {
  return !strncmp(text, prefix, strlen(prefix));
}

bool IsRuntimeName(const char* name) {
  const char* rest = StartsWith(name, "__cuda") ? name + 6
                     : StartsWith(name, "cuda") ? name + 4
                                                : "";
  if (*rest < 'A' || *rest > 'Z') return false;
  // Made by nvcc in each program's own code; they call the runtime functions that are redirected.
  return !StartsWith(name, "__cudaRegisterLinkedBinary") &&
         strcmp(name, "__cudaUnregisterBinaryUtil");
}

}  // namespace

bool ImportsRuntime(const ElfFile& file) {
  bool imports = false;
  file.ForEachSymbol(ElfFile::kDynsym, [&](const char* name, const Elf64_Sym& s) {
    imports = imports || (s.st_shndx == SHN_UNDEF && !strcmp(name, "cudaGetDevice"));
  });
  return imports;
}

std::vector<RuntimeFunction> RuntimeFunctions(const Image& image) {
  std::map<uintptr_t, RuntimeFunction> by_address;
  for (auto table : {ElfFile::kSymtab, ElfFile::kDynsym}) {
    image.file->ForEachSymbol(table, [&](const char* name, const Elf64_Sym& s) {
      if (!ElfFile::IsFunction(s) || !IsRuntimeName(name)) return;
      uintptr_t address = image.bias + s.st_value;
      // Of two names for one function keep the one that softgpu implements.
      auto it = by_address.find(address);
      if (it == by_address.end() || !FindRuntimeFunction(it->second.name))
        by_address[address] = {name, address, s.st_size};
    });
  }
  std::vector<RuntimeFunction> all;
  for (auto& [address, function] : by_address) all.push_back(function);
  return all;
}

bool Defines(const std::vector<RuntimeFunction>& functions, const char* name) {
  for (auto& f : functions)
    if (!strcmp(f.name, name)) return true;
  return false;
}

void RequireNcclFunctions(const Image& image, const std::vector<RuntimeFunction>& functions) {
  static const char* const kNeeded[] = {"cudaGetDevice",
                                        "cudaSetDevice",
                                        "cudaGetDeviceCount",
                                        "cudaDriverGetVersion",
                                        "cudaMalloc",
                                        "cudaFree",
                                        "cudaHostAlloc",
                                        "cudaFreeHost",
                                        "cudaMemcpyAsync",
                                        "cudaMemsetAsync",
                                        "cudaStreamCreateWithFlags",
                                        "cudaStreamDestroy",
                                        "cudaStreamSynchronize",
                                        "cudaEventRecord",
                                        "cudaLaunchKernel",
                                        "cudaGetDriverEntryPoint",
                                        "__cudaRegisterFatBinary",
                                        "__cudaRegisterFunction"};
  for (const char* name : kNeeded) {
    if (!Defines(functions, name))
      Fatal("%s: cannot be used, its symbol table does not name %s", image.path.c_str(), name);
  }
}

void RequireSameCode(const Image& image, const std::vector<RuntimeFunction>& functions) {
  for (auto& f : functions) {
    const uint8_t* on_disk = image.file->BytesAt(f.address - image.bias, kJumpBytes);
    if (!on_disk || memcmp(on_disk, reinterpret_cast<const void*>(f.address), kJumpBytes)) {
      Fatal("%s: the file differs from what is loaded (at %s); was it replaced meanwhile?",
            image.path.c_str(), f.name);
    }
  }
}

void RequireRoomForJumps(const Image& image, const std::vector<RuntimeFunction>& functions) {
  std::map<uintptr_t, const char*> starts;
  image.file->ForEachSymbol(ElfFile::kSymtab, [&](const char* name, const Elf64_Sym& s) {
    if (ElfFile::IsFunction(s)) starts[image.bias + s.st_value] = name;
  });
  for (auto& f : functions) {
    auto next = starts.upper_bound(f.address);
    if (next != starts.end() && next->first < f.address + kJumpBytes)
      Fatal("%s: %s is too short for a jump", image.path.c_str(), f.name);
  }
}

// CUDA 12 has a second cudaGetDeviceProperties, 13 has dropped it again.
int RuntimeVersionFrom(const std::vector<RuntimeFunction>& functions) {
  if (Defines(functions, "cudaGetDeviceProperties_v2")) return 12000;
  return Defines(functions, "cudaGetDriverEntryPointByVersion") ? 13000 : 11000;
}

}  // namespace chokepoint::softgpu
