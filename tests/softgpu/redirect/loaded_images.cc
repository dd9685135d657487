#include "tests/softgpu/redirect/loaded_images.h"

#include <cstring>
#include <link.h>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "tests/softgpu/redirect/code_patch.h"
#include "tests/softgpu/redirect/elf_file.h"
#include "tests/softgpu/redirect/entry_points.h"
#include "tests/softgpu/cuda/kernel.h"
#include "tests/softgpu/cuda/log.h"
#include "tests/softgpu/cuda/settings.h"

extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];  // our own image

namespace softgpu {
namespace {

struct Image {
  std::string path;
  uintptr_t bias = 0, begin = 0, end = 0;
  std::unique_ptr<ElfFile> file;
  uintptr_t firstRedirected = 0;  // 0: nothing to redirect here
  int runtimeVersion = 0;         // of the CUDA runtime inside, see runtimeVersionFrom
  std::unordered_map<uintptr_t, const char *> functionNames;  // filled at the first question
};

struct Function {
  const char *name;
  uintptr_t address;
  size_t size;
};

// Which images are known.  Changed only while the loader's lock is held; the mutex protects readers.
struct Registry {
  std::mutex mutex;
  std::map<uintptr_t, Image> images;  // by bias
  unsigned long long loadsSeen = 0;
};
Registry &registry() {
  static auto *const r = new Registry;
  return *r;
}

bool startsWith(const char *text, const char *prefix) { return !strncmp(text, prefix, strlen(prefix)); }

bool isRuntimeName(const char *name) {
  const char *rest = startsWith(name, "__cuda") ? name + 6 : startsWith(name, "cuda") ? name + 4 : "";
  if (*rest < 'A' || *rest > 'Z') return false;
  // Made by nvcc in each program's own code; they call the runtime functions that are redirected.
  return !startsWith(name, "__cudaRegisterLinkedBinary") && strcmp(name, "__cudaUnregisterBinaryUtil");
}

// The static runtime's internal functions, as NVIDIA names them in libcudart_static.a.
bool isRuntimeInternal(const char *name) { return startsWith(name, "libcudart_static_"); }

bool isNccl(const std::string &path) {
  size_t slash = path.rfind('/');
  return startsWith(path.c_str() + (slash == std::string::npos ? 0 : slash + 1), "libnccl.so");
}

bool importsRuntime(const ElfFile &file) {
  bool imports = false;
  file.forEachSymbol(ElfFile::kDynsym, [&](const char *name, const Elf64_Sym &s) {
    imports = imports || (s.st_shndx == SHN_UNDEF && !strcmp(name, "cudaGetDevice"));
  });
  return imports;
}

// All CUDA runtime functions that the image defines, each address once.
std::vector<Function> runtimeFunctions(const Image &image) {
  std::map<uintptr_t, Function> byAddress;
  for (auto table : {ElfFile::kSymtab, ElfFile::kDynsym})
    image.file->forEachSymbol(table, [&](const char *name, const Elf64_Sym &s) {
      if (!ElfFile::isFunction(s) || !isRuntimeName(name)) return;
      uintptr_t address = image.bias + s.st_value;
      // Of two names for one function keep the one that softgpu implements.
      auto it = byAddress.find(address);
      if (it == byAddress.end() || !findRuntimeFunction(it->second.name)) byAddress[address] = {name, address, s.st_size};
    });
  std::vector<Function> all;
  for (auto &[address, function] : byAddress) all.push_back(function);
  return all;
}

bool defines(const std::vector<Function> &functions, const char *name) {
  for (auto &f : functions)
    if (!strcmp(f.name, name)) return true;
  return false;
}

void requireNcclFunctions(const Image &image, const std::vector<Function> &functions) {
  static const char *const kNeeded[] = {
      "cudaGetDevice", "cudaSetDevice", "cudaGetDeviceCount", "cudaDriverGetVersion", "cudaMalloc", "cudaFree", "cudaHostAlloc",
      "cudaFreeHost", "cudaMemcpyAsync", "cudaMemsetAsync", "cudaStreamCreateWithFlags", "cudaStreamDestroy",
      "cudaStreamSynchronize", "cudaEventRecord", "cudaLaunchKernel", "cudaGetDriverEntryPoint", "__cudaRegisterFatBinary",
      "__cudaRegisterFunction"};
  for (const char *name : kNeeded)
    if (!defines(functions, name))
      fatal("%s: cannot be used, its symbol table does not name %s", image.path.c_str(), name);
}

// The functions found by name must be the ones in memory, or we would overwrite something else.
void requireSameCode(const Image &image, const std::vector<Function> &functions) {
  for (auto &f : functions) {
    const uint8_t *onDisk = image.file->bytesAt(f.address - image.bias, kJumpBytes);
    if (!onDisk || memcmp(onDisk, (const void *)f.address, kJumpBytes))
      fatal("%s: the file differs from what is loaded (at %s); was it replaced meanwhile?", image.path.c_str(), f.name);
  }
}

// A jump must not run into the next function.
void requireRoomForJumps(const Image &image, const std::vector<Function> &functions) {
  std::map<uintptr_t, const char *> starts;
  image.file->forEachSymbol(ElfFile::kSymtab, [&](const char *name, const Elf64_Sym &s) {
    if (ElfFile::isFunction(s)) starts[image.bias + s.st_value] = name;
  });
  for (auto &f : functions) {
    auto next = starts.upper_bound(f.address);
    if (next != starts.end() && next->first < f.address + kJumpBytes)
      fatal("%s: %s is too short for a jump", image.path.c_str(), f.name);
  }
}

// Makes the replaced runtime unable to run at all, to prove that nothing gets past the redirection.  Its constructors
// are made empty, as the loader is about to call them.
void seal(const Image &image, const dl_phdr_info *info, const std::vector<Function> &functions, CodePatch *patch) {
  std::unordered_map<uintptr_t, size_t> internals;
  image.file->forEachSymbol(ElfFile::kSymtab, [&](const char *name, const Elf64_Sym &s) {
    if (ElfFile::isFunction(s) && isRuntimeInternal(name) && s.st_size) internals[image.bias + s.st_value] = s.st_size;
  });
  for (auto &[address, size] : internals) patch->trap(address, size);
  for (auto &f : functions)
    if (f.size > kJumpBytes) patch->trap(f.address + kJumpBytes, f.size - kJumpBytes);
  uintptr_t arrays[2] = {}, sizes[2] = {};
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    for (auto *d = (const ElfW(Dyn) *)(image.bias + info->dlpi_phdr[i].p_vaddr); d->d_tag != DT_NULL; d++) {
      if (d->d_tag == DT_INIT_ARRAY) arrays[0] = image.bias + d->d_un.d_ptr;
      if (d->d_tag == DT_INIT_ARRAYSZ) sizes[0] = d->d_un.d_val;
      if (d->d_tag == DT_FINI_ARRAY) arrays[1] = image.bias + d->d_un.d_ptr;
      if (d->d_tag == DT_FINI_ARRAYSZ) sizes[1] = d->d_un.d_val;
    }
  }
  int emptied = 0;
  for (int a = 0; a < 2; a++)
    for (size_t i = 0; i < sizes[a] / sizeof(uintptr_t); i++) {
      uintptr_t function = ((const uintptr_t *)arrays[a])[i];
      if (internals.count(function)) patch->makeEmpty(function), emptied++;
    }
  logLine(1, "%s: sealed %zu internal functions of its CUDA runtime, %d constructors or destructors made empty",
          image.path.c_str(), internals.size(), emptied);
}

// The release that a runtime belongs to, as far as it matters: which signatures a driver function of a given name has.
// CUDA 12 has a second cudaGetDeviceProperties, 13 has dropped it again.
int runtimeVersionFrom(const std::vector<Function> &functions) {
  if (defines(functions, "cudaGetDeviceProperties_v2")) return 12000;
  return defines(functions, "cudaGetDriverEntryPointByVersion") ? 13000 : 11000;
}

void redirectRuntime(Image *image, const dl_phdr_info *info, const std::vector<Function> &functions) {
  requireSameCode(*image, functions);
  requireRoomForJumps(*image, functions);
  CodePatch patch(image->path.c_str(), image->begin, image->end);
  if (settings().sealRuntime) seal(*image, info, functions, &patch);
  size_t implemented = 0;
  for (auto &f : functions) {
    if (void *replacement = findRuntimeFunction(f.name)) patch.redirect(f.address, replacement), implemented++;
    else patch.redirectToUnsupported(f.address, f.name);
  }
  patch.apply();
  image->firstRedirected = functions.front().address;
  image->runtimeVersion = runtimeVersionFrom(functions);
  logLine(2, "%s: redirected %zu CUDA runtime functions, %zu of them to stubs", image->path.c_str(), functions.size(),
          functions.size() - implemented);
}

void inspect(Image *image, const dl_phdr_info *info) {
  image->file = ElfFile::open(image->path.c_str());
  if (!image->file) return;
  std::vector<Function> functions = runtimeFunctions(*image);
  bool carriesRuntime = defines(functions, "cudaGetDevice") && defines(functions, "cudaGetLastError");
  if (isNccl(image->path)) {
    if (!carriesRuntime && importsRuntime(*image->file)) return;  // a build with the shared runtime needs nothing
    if (!image->file->has(ElfFile::kSymtab))
      fatal("%s: cannot be used, it is stripped (no .symtab), so its CUDA runtime cannot be found", image->path.c_str());
    requireNcclFunctions(*image, functions);
  }
  if (carriesRuntime) redirectRuntime(image, info, functions);
  else image->file.reset();
}

void setExtent(Image *image, const dl_phdr_info *info) {
  image->begin = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (begin < image->begin) image->begin = begin;
    if (begin + segment.p_memsz > image->end) image->end = begin + segment.p_memsz;
  }
}

int visitLoadedObject(dl_phdr_info *info, size_t, void *) {
  Registry &r = registry();
  std::string path = info->dlpi_name ? info->dlpi_name : "";
  if (path.empty()) path = "/proc/self/exe";
  if (path.find('/') == std::string::npos || info->dlpi_addr == (uintptr_t)__ehdr_start) return 0;
  {
    std::lock_guard<std::mutex> lock(r.mutex);
    auto it = r.images.find(info->dlpi_addr);
    if (it != r.images.end() && it->second.path == path) {
      // The same object, unless it was unloaded and loaded again at the same place.
      if (!it->second.firstRedirected || isRedirected(it->second.firstRedirected)) return 0;
    }
    r.images.erase(info->dlpi_addr);
  }
  Image image;
  image.path = path;
  image.bias = info->dlpi_addr;
  setExtent(&image, info);
  inspect(&image, info);
  std::lock_guard<std::mutex> lock(r.mutex);
  r.images[info->dlpi_addr] = std::move(image);
  return 0;
}

int countLoads(dl_phdr_info *info, size_t, void *loads) {
  *(unsigned long long *)loads = info->dlpi_adds;
  return 1;
}

int collectBias(dl_phdr_info *info, size_t, void *set) {
  ((std::set<uintptr_t> *)set)->insert(info->dlpi_addr);
  return 0;
}

void forgetUnloadedImages() {
  std::set<uintptr_t> loaded;
  dl_iterate_phdr(collectBias, &loaded);
  Registry &r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  for (auto it = r.images.begin(); it != r.images.end();) {
    if (loaded.count(it->first)) {
      ++it;
      continue;
    }
    forgetKernels((const void *)it->second.begin, (const void *)it->second.end);
    it = r.images.erase(it);
  }
}

}  // namespace

void redirectNewImages() {
  unsigned long long loads = 0;
  dl_iterate_phdr(countLoads, &loads);
  if (loads == registry().loadsSeen) return;
  registry().loadsSeen = loads;
  forgetUnloadedImages();
  dl_iterate_phdr(visitLoadedObject, nullptr);
}

int runtimeVersionOfCaller(const void *code) {
  Registry &r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  for (auto &[bias, image] : r.images)
    if (image.runtimeVersion && (uintptr_t)code >= image.begin && (uintptr_t)code < image.end) return image.runtimeVersion;
  return settings().cudaVersion;
}

bool functionNameInImages(const void *address, std::string *name) {
  Registry &r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  for (auto &[bias, image] : r.images) {
    if (!image.file || (uintptr_t)address < image.begin || (uintptr_t)address >= image.end) continue;
    if (image.functionNames.empty())
      image.file->forEachSymbol(ElfFile::kSymtab, [&, base = bias](const char *symbol, const Elf64_Sym &s) {
        if (ElfFile::isFunction(s)) image.functionNames[base + s.st_value] = symbol;
      });
    auto it = image.functionNames.find((uintptr_t)address);
    if (it == image.functionNames.end()) return false;
    *name = it->second;
    return true;
  }
  return false;
}

}  // namespace softgpu
