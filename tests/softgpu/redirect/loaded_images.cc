// Finds the CUDA runtime inside loaded objects and has its functions redirected.
// It must not redirect anything unless names, code and room have been checked.
#include "tests/softgpu/redirect/loaded_images.h"

#include <link.h>

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "tests/softgpu/cuda/kernel.h"
#include "tests/softgpu/cuda/log.h"
#include "tests/softgpu/cuda/settings.h"
#include "tests/softgpu/redirect/code_patch.h"
#include "tests/softgpu/redirect/elf_file.h"
#include "tests/softgpu/redirect/entry_points.h"

extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];  // our own image

namespace chokepoint::softgpu {
namespace {

struct Image {
  std::string path;
  uintptr_t bias = 0, begin = 0, end = 0;
  std::unique_ptr<ElfFile> file;
  uintptr_t first_redirected = 0;  // 0: nothing to redirect here
  int runtime_version = 0;         // of the CUDA runtime inside, see RuntimeVersionFrom
  std::unordered_map<uintptr_t, const char*> function_names;  // filled at the first question
};

struct Function {
  const char* name;
  uintptr_t address;
  size_t size;
};

// Which images are known. Changed only while the loader's lock is held; the mutex protects
// readers.
struct Registry {
  std::mutex mutex;
  std::map<uintptr_t, Image> images;  // by bias
  unsigned long long loads_seen = 0;
};
Registry& TheRegistry() {
  static auto* const r = new Registry;
  return *r;
}

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

// The static runtime's internal functions, as NVIDIA names them in libcudart_static.a.
bool IsRuntimeInternal(const char* name) { return StartsWith(name, "libcudart_static_"); }

bool IsNccl(const std::string& path) {
  size_t slash = path.rfind('/');
  return StartsWith(path.c_str() + (slash == std::string::npos ? 0 : slash + 1), "libnccl.so");
}

bool ImportsRuntime(const ElfFile& file) {
  bool imports = false;
  file.ForEachSymbol(ElfFile::kDynsym, [&](const char* name, const Elf64_Sym& s) {
    imports = imports || (s.st_shndx == SHN_UNDEF && !strcmp(name, "cudaGetDevice"));
  });
  return imports;
}

// All CUDA runtime functions that the image defines, each address once.
std::vector<Function> RuntimeFunctions(const Image& image) {
  std::map<uintptr_t, Function> by_address;
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
  std::vector<Function> all;
  for (auto& [address, function] : by_address) all.push_back(function);
  return all;
}

bool Defines(const std::vector<Function>& functions, const char* name) {
  for (auto& f : functions)
    if (!strcmp(f.name, name)) return true;
  return false;
}

void RequireNcclFunctions(const Image& image, const std::vector<Function>& functions) {
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

// The functions found by name must be the ones in memory, or we would overwrite something else.
void RequireSameCode(const Image& image, const std::vector<Function>& functions) {
  for (auto& f : functions) {
    const uint8_t* on_disk = image.file->BytesAt(f.address - image.bias, kJumpBytes);
    if (!on_disk || memcmp(on_disk, reinterpret_cast<const void*>(f.address), kJumpBytes)) {
      Fatal("%s: the file differs from what is loaded (at %s); was it replaced meanwhile?",
            image.path.c_str(), f.name);
    }
  }
}

// A jump must not run into the next function.
void RequireRoomForJumps(const Image& image, const std::vector<Function>& functions) {
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

// Makes the replaced runtime unable to run at all, to prove that nothing gets past the redirection.
// Its constructors are made empty, as the loader is about to call them.
void Seal(const Image& image, const dl_phdr_info* info, const std::vector<Function>& functions,
          CodePatch* patch) {
  std::unordered_map<uintptr_t, size_t> internals;
  image.file->ForEachSymbol(ElfFile::kSymtab, [&](const char* name, const Elf64_Sym& s) {
    if (ElfFile::IsFunction(s) && IsRuntimeInternal(name) && s.st_size)
      internals[image.bias + s.st_value] = s.st_size;
  });
  for (auto& [address, size] : internals) patch->Trap(address, size);
  for (auto& f : functions)
    if (f.size > kJumpBytes) patch->Trap(f.address + kJumpBytes, f.size - kJumpBytes);
  uintptr_t arrays[2] = {}, sizes[2] = {};
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    for (auto* d = (const ElfW(Dyn)*)(image.bias + info->dlpi_phdr[i].p_vaddr); d->d_tag != DT_NULL;
         d++) {
      if (d->d_tag == DT_INIT_ARRAY) arrays[0] = image.bias + d->d_un.d_ptr;
      if (d->d_tag == DT_INIT_ARRAYSZ) sizes[0] = d->d_un.d_val;
      if (d->d_tag == DT_FINI_ARRAY) arrays[1] = image.bias + d->d_un.d_ptr;
      if (d->d_tag == DT_FINI_ARRAYSZ) sizes[1] = d->d_un.d_val;
    }
  }
  int emptied = 0;
  for (int a = 0; a < 2; a++) {
    for (size_t i = 0; i < sizes[a] / sizeof(uintptr_t); i++) {
      uintptr_t function = (reinterpret_cast<const uintptr_t*>(arrays[a]))[i];
      if (internals.count(function)) patch->MakeEmpty(function), emptied++;
    }
  }
  LogLine(1,
          "%s: sealed %zu internal functions of its CUDA runtime, %d constructors or destructors "
          "made empty",
          image.path.c_str(), internals.size(), emptied);
}

// The release that a runtime belongs to, as far as it matters: which signatures a driver function
// of a given name has. CUDA 12 has a second cudaGetDeviceProperties, 13 has dropped it again.
int RuntimeVersionFrom(const std::vector<Function>& functions) {
  if (Defines(functions, "cudaGetDeviceProperties_v2")) return 12000;
  return Defines(functions, "cudaGetDriverEntryPointByVersion") ? 13000 : 11000;
}

void RedirectRuntime(Image* image, const dl_phdr_info* info,
                     const std::vector<Function>& functions) {
  RequireSameCode(*image, functions);
  RequireRoomForJumps(*image, functions);
  CodePatch patch(image->path.c_str(), image->begin, image->end);
  if (GetSettings().seal_runtime) Seal(*image, info, functions, &patch);
  size_t implemented = 0;
  for (auto& f : functions) {
    if (void* replacement = FindRuntimeFunction(f.name)) {
      patch.Redirect(f.address, replacement), implemented++;
    } else {
      patch.RedirectToUnsupported(f.address, f.name);
    }
  }
  patch.Apply();
  image->first_redirected = functions.front().address;
  image->runtime_version = RuntimeVersionFrom(functions);
  LogLine(2, "%s: redirected %zu CUDA runtime functions, %zu of them to stubs", image->path.c_str(),
          functions.size(), functions.size() - implemented);
}

void Inspect(Image* image, const dl_phdr_info* info) {
  image->file = ElfFile::Open(image->path.c_str());
  if (!image->file) return;
  std::vector<Function> functions = RuntimeFunctions(*image);
  bool carries_runtime =
      Defines(functions, "cudaGetDevice") && Defines(functions, "cudaGetLastError");
  if (IsNccl(image->path)) {
    if (!carries_runtime && ImportsRuntime(*image->file))
      return;  // a build with the shared runtime needs nothing
    if (!image->file->Has(ElfFile::kSymtab)) {
      Fatal("%s: cannot be used, it is stripped (no .symtab), so its CUDA runtime cannot be found",
            image->path.c_str());
    }
    RequireNcclFunctions(*image, functions);
  }
  if (carries_runtime) {
    RedirectRuntime(image, info, functions);
  } else {
    image->file.reset();
  }
}

void SetExtent(Image* image, const dl_phdr_info* info) {
  image->begin = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (begin < image->begin) image->begin = begin;
    if (begin + segment.p_memsz > image->end) image->end = begin + segment.p_memsz;
  }
}

int VisitLoadedObject(dl_phdr_info* info, size_t, void*) {
  Registry& r = TheRegistry();
  std::string path = info->dlpi_name ? info->dlpi_name : "";
  if (path.empty()) path = "/proc/self/exe";
  if (path.find('/') == std::string::npos ||
      info->dlpi_addr == reinterpret_cast<uintptr_t>(__ehdr_start))
    return 0;
  {
    std::lock_guard<std::mutex> lock(r.mutex);
    auto it = r.images.find(info->dlpi_addr);
    if (it != r.images.end() && it->second.path == path) {
      // The same object, unless it was unloaded and loaded again at the same place.
      if (!it->second.first_redirected || IsRedirected(it->second.first_redirected)) return 0;
    }
    r.images.erase(info->dlpi_addr);
  }
  Image image;
  image.path = path;
  image.bias = info->dlpi_addr;
  SetExtent(&image, info);
  Inspect(&image, info);
  std::lock_guard<std::mutex> lock(r.mutex);
  r.images[info->dlpi_addr] = std::move(image);
  return 0;
}

int CountLoads(dl_phdr_info* info, size_t, void* loads) {
  *static_cast<unsigned long long*>(loads) = info->dlpi_adds;
  return 1;
}

int CollectBias(dl_phdr_info* info, size_t, void* set) {
  (static_cast<std::set<uintptr_t>*>(set))->insert(info->dlpi_addr);
  return 0;
}

void ForgetUnloadedImages() {
  std::set<uintptr_t> loaded;
  dl_iterate_phdr(CollectBias, &loaded);
  Registry& r = TheRegistry();
  std::lock_guard<std::mutex> lock(r.mutex);
  for (auto it = r.images.begin(); it != r.images.end();) {
    if (loaded.count(it->first)) {
      ++it;
      continue;
    }
    ForgetKernels(reinterpret_cast<const void*>(it->second.begin),
                  reinterpret_cast<const void*>(it->second.end));
    it = r.images.erase(it);
  }
}

}  // namespace

void RedirectNewImages() {
  unsigned long long loads = 0;
  dl_iterate_phdr(CountLoads, &loads);
  if (loads == TheRegistry().loads_seen) return;
  TheRegistry().loads_seen = loads;
  ForgetUnloadedImages();
  dl_iterate_phdr(VisitLoadedObject, nullptr);
}

int RuntimeVersionOfCaller(const void* code) {
  Registry& r = TheRegistry();
  std::lock_guard<std::mutex> lock(r.mutex);
  for (auto& [bias, image] : r.images) {
    if (image.runtime_version && reinterpret_cast<uintptr_t>(code) >= image.begin &&
        reinterpret_cast<uintptr_t>(code) < image.end)
      return image.runtime_version;
  }
  return GetSettings().cuda_version;
}

bool FunctionNameInImages(const void* address, std::string* name) {
  Registry& r = TheRegistry();
  std::lock_guard<std::mutex> lock(r.mutex);
  for (auto& entry : r.images) {
    Image& image = entry.second;
    if (!image.file || reinterpret_cast<uintptr_t>(address) < image.begin ||
        reinterpret_cast<uintptr_t>(address) >= image.end)
      continue;
    if (image.function_names.empty()) {
      image.file->ForEachSymbol(ElfFile::kSymtab, [&](const char* symbol, const Elf64_Sym& s) {
        if (ElfFile::IsFunction(s)) image.function_names[image.bias + s.st_value] = symbol;
      });
    }
    auto it = image.function_names.find(reinterpret_cast<uintptr_t>(address));
    if (it == image.function_names.end()) return false;
    *name = it->second;
    return true;
  }
  return false;
}

}  // namespace chokepoint::softgpu
