#include "tests/softgpu/cuda/kernel.h"

#include <ctime>
#include <iterator>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tests/softgpu/emu/nccl_emu.h"
#include "tests/softgpu/cuda/event.h"
#include "tests/softgpu/cuda/kernel_parameters.h"
#include "tests/softgpu/redirect/loaded_images.h"
#include "tests/softgpu/cuda/log.h"
#include "tests/softgpu/cuda/settings.h"
#include "tests/softgpu/cuda/stream.h"

namespace softgpu {
namespace {

struct Kernels {
  std::mutex mutex;
  std::unordered_map<const void *, std::string> registered;
  std::unordered_map<const void *, std::unique_ptr<Kernel>> byHostFunction;
};
Kernels &kernels() {
  static auto *const k = new Kernels;
  return *k;
}

void sleepMicroseconds(long microseconds) {
  timespec t = {microseconds / 1000000, microseconds % 1000000 * 1000};
  nanosleep(&t, nullptr);
}

void run(const Kernel &kernel, const std::vector<char> &parameters, unsigned grid, unsigned block) {
  if (settings().kernelDelayMicroseconds > 0) sleepMicroseconds(settings().kernelDelayMicroseconds);
  if (kernel.isNccl) nccl_emu_launch(kernel.name.c_str(), parameters.data(), parameters.size(), grid, block);
}

// An NCCL kernel that the emulator cannot run must not pass for one that ran.
bool mustRefuse(const Kernel &kernel) {
  bool isOtherNcclKernel = !kernel.isNccl && kernel.name.find("ncclSym") != std::string::npos;
  bool isUnknownVersion = kernel.isNccl && !nccl_emu_version_is_usable();
  if (isOtherNcclKernel && firstTime("kernel " + kernel.name))
    logLine(1, "kernel %s is not emulated: launch refused", kernel.name.c_str());
  if (isUnknownVersion && firstTime("NCCL version"))
    logLine(1, "NCCL version code %d is not emulated (2.23 to 2.30 are): launches refused", nccl_emu_version());
  return isOtherNcclKernel || isUnknownVersion;
}

}  // namespace

void registerKernel(const void *hostFunction, const char *name) {
  Kernels &k = kernels();
  std::lock_guard<std::mutex> lock(k.mutex);
  k.registered[hostFunction] = name;
}

// The objects stay: launches of them may still be under way.
void forgetKernels(const void *begin, const void *end) {
  Kernels &k = kernels();
  std::lock_guard<std::mutex> lock(k.mutex);
  for (auto it = k.byHostFunction.begin(); it != k.byHostFunction.end();) {
    if (it->first >= begin && it->first < end) {
      it->second.release();
      it = k.byHostFunction.erase(it);
    } else {
      ++it;
    }
  }
  for (auto it = k.registered.begin(); it != k.registered.end();)
    it = it->first >= begin && it->first < end ? k.registered.erase(it) : std::next(it);
}

// In NCCL's library a kernel's host function has the kernel's name, so its symbol tells which kernel is meant even if
// the registration was missed.  Stripped programs' kernels are known from the registration.
Kernel *kernelOf(const void *hostFunction) {
  Kernels &k = kernels();
  std::string name;
  {
    std::lock_guard<std::mutex> lock(k.mutex);
    auto it = k.byHostFunction.find(hostFunction);
    if (it != k.byHostFunction.end()) return it->second.get();
  }
  bool isKnown = functionNameInImages(hostFunction, &name);  // not under our lock: the images' lock comes first
  std::lock_guard<std::mutex> lock(k.mutex);
  if (!isKnown) {
    auto registered = k.registered.find(hostFunction);
    if (registered == k.registered.end()) return nullptr;
    name = registered->second;
  }
  auto &kernel = k.byHostFunction[hostFunction];
  if (!kernel) {  // else another thread was faster
    kernel = std::make_unique<Kernel>();
    kernel->name = name;
    kernel->isNccl = nccl_emu_knows(name.c_str());
  }
  return kernel.get();
}

Error launchKernel(Kernel *kernel, const Launch &launch) {
  auto stream = streamFromHandle(launch.stream);
  if (!stream) return kInvalidHandle;
  if (mustRefuse(*kernel)) return kNotSupported;
  if (!kernel->isNccl && firstTime("kernel " + kernel->name))
    logLine(1, "kernel %s is not NCCL's: its launches do nothing", kernel->name.c_str());
  std::vector<char> parameters;
  if (kernel->isNccl) {
    Error error = launch.extra ? packedParameters(launch.extra, &parameters)
                               : packParameters(kernel->name, launch.parameters, &parameters);
    if (error) {
      logLine(1, "launch of %s: its parameters are not understood", kernel->name.c_str());
      return error;
    }
  }
  // "Launch completion" means that every block has begun: recorded just before the kernel.
  for (unsigned i = 0; i < launch.attributeCount; i++)
    if (launch.attributes[i].id == kLaunchAttributeLaunchCompletionEvent)
      recordEvent(launch.attributes[i].value.launchCompletionEvent.event, launch.stream);
  logLine(2, "launch %s grid %u block %u parameters %zu stream %llu", kernel->name.c_str(), launch.grid.x, launch.block.x,
          parameters.size(), (unsigned long long)stream->id);
  enqueue(stream, [kernel, parameters = std::move(parameters), grid = launch.grid.x, block = launch.block.x] {
    run(*kernel, parameters, grid, block);
  });
  return kSuccess;
}

}  // namespace softgpu
