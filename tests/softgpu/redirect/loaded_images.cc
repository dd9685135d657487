// Finds the CUDA runtime inside loaded objects and has its functions redirected.
// It must not redirect anything unless names, code and room have been checked.
#include "tests/softgpu/redirect/loaded_images.h"

#include <link.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/softgpu/cuda/kernel.h"
#include "tests/softgpu/cuda/log.h"
#include "tests/softgpu/cuda/settings.h"
#include "tests/softgpu/redirect/code_patch.h"
#include "tests/softgpu/redirect/entry_points.h"
#include "tests/softgpu/redirect/image.h"
#include "tests/softgpu/redirect/runtime_functions.h"
#include "tests/softgpu/redirect/seal.h"

extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];  // our own image

namespace chokepoint::softgpu {
namespace {

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

bool IsNccl(const std::string& path) {
  size_t slash = path.rfind('/');
  return path.compare(slash == std::string::npos ? 0 : slash + 1, 10, "libnccl.so") == 0;
}

void RedirectRuntime(Image* image, const dl_phdr_info* info,
                     const std::vector<RuntimeFunction>& functions) {
  RequireSameCode(*image, functions);
  RequireRoomForJumps(*image, functions);
  CodePatch patch(image->path.c_str(), image->begin, image->end);
  if (GetSettings().seal_runtime) Seal(*image, info, functions, &patch);
  size_t implemented = 0;
  for (auto& f : functions) {
    if (void* replacement = FindRuntimeFunction(f.name)) {
      patch.Redirect(f.address, replacement);
      implemented++;
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
  std::vector<RuntimeFunction> functions = RuntimeFunctions(*image);
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
