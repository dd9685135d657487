// Kernels are known by name only; NCCL's go to the emulator, others do nothing and that is said
// once. It must not let an NCCL kernel that cannot be run pass for one that ran.
#include "tests/softgpu/cuda/kernel.h"

#include <ctime>
#include <iterator>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tests/softgpu/cuda/event.h"
#include "tests/softgpu/cuda/kernel_parameters.h"
#include "tests/softgpu/cuda/log.h"
#include "tests/softgpu/cuda/settings.h"
#include "tests/softgpu/cuda/stream.h"
#include "tests/softgpu/emu/emulator.h"
#include "tests/softgpu/redirect/loaded_images.h"

namespace chokepoint::softgpu {
namespace {

struct Kernels {
  std::mutex mutex;
  std::unordered_map<const void*, std::string> registered;
  std::unordered_map<const void*, std::unique_ptr<Kernel>> by_host_function;
};
Kernels& AllKernels() {
  static auto* const k = new Kernels;
  return *k;
}

void SleepMicroseconds(long microseconds) {
  timespec t = {microseconds / 1000000, microseconds % 1000000 * 1000};
  nanosleep(&t, nullptr);
}

void Run(const Kernel& kernel, const std::vector<char>& parameters, unsigned grid) {
  if (GetSettings().kernel_delay_microseconds > 0) {
    SleepMicroseconds(GetSettings().kernel_delay_microseconds);
  }
  if (kernel.is_nccl) emu::RunKernel(kernel.name, parameters.data(), parameters.size(), grid);
}

// An NCCL kernel that the emulator cannot run must not pass for one that ran.
bool MustRefuse(const Kernel& kernel) {
  bool is_other_nccl_kernel = !kernel.is_nccl && kernel.name.find("ncclSym") != std::string::npos;
  bool is_unknown_version = kernel.is_nccl && !emu::NcclVersionIsUsable();
  if (is_other_nccl_kernel && FirstTime("kernel " + kernel.name))
    LogLine(1, "kernel %s is not emulated: launch refused", kernel.name.c_str());
  if (is_unknown_version && FirstTime("NCCL version")) {
    LogLine(1, "NCCL version code %d is not emulated (2.23 to 2.30 are): launches refused",
            emu::NcclVersion());
  }
  return is_other_nccl_kernel || is_unknown_version;
}

}  // namespace

void RegisterKernel(const void* host_function, const char* name) {
  Kernels& k = AllKernels();
  std::lock_guard<std::mutex> lock(k.mutex);
  k.registered[host_function] = name;
}

// The objects stay: launches of them may still be under way.
void ForgetKernels(const void* begin, const void* end) {
  Kernels& k = AllKernels();
  std::lock_guard<std::mutex> lock(k.mutex);
  for (auto it = k.by_host_function.begin(); it != k.by_host_function.end();) {
    if (it->first >= begin && it->first < end) {
      it->second.release();
      it = k.by_host_function.erase(it);
    } else {
      ++it;
    }
  }
  for (auto it = k.registered.begin(); it != k.registered.end();)
    it = it->first >= begin && it->first < end ? k.registered.erase(it) : std::next(it);
}

// In NCCL's library a kernel's host function has the kernel's name, so its symbol tells which
// kernel is meant even if the registration was missed. Stripped programs' kernels are known from
// the registration.
Kernel* KernelOf(const void* host_function) {
  Kernels& k = AllKernels();
  std::string name;
  {
    std::lock_guard<std::mutex> lock(k.mutex);
    auto it = k.by_host_function.find(host_function);
    if (it != k.by_host_function.end()) return it->second.get();
  }
  bool is_known = FunctionNameInImages(host_function,
                                       &name);  // not under our lock: the images' lock comes first
  std::lock_guard<std::mutex> lock(k.mutex);
  if (!is_known) {
    auto registered = k.registered.find(host_function);
    if (registered == k.registered.end()) return nullptr;
    name = registered->second;
  }
  auto& kernel = k.by_host_function[host_function];
  if (!kernel) {  // else another thread was faster
    kernel = std::make_unique<Kernel>();
    kernel->name = name;
    kernel->is_nccl = emu::KnowsKernel(name);
  }
  return kernel.get();
}

Error LaunchKernel(Kernel* kernel, const Launch& launch) {
  auto stream = StreamFromHandle(launch.stream);
  if (!stream) return kInvalidHandle;
  if (MustRefuse(*kernel)) return kNotSupported;
  if (!kernel->is_nccl && FirstTime("kernel " + kernel->name))
    LogLine(1, "kernel %s is not NCCL's: its launches do nothing", kernel->name.c_str());
  std::vector<char> parameters;
  if (kernel->is_nccl) {
    Error error = launch.extra ? PackedParameters(launch.extra, &parameters)
                               : PackParameters(kernel->name, launch.parameters, &parameters);
    if (error) {
      LogLine(1, "launch of %s: its parameters are not understood", kernel->name.c_str());
      return error;
    }
  }
  // "Launch completion" means that every block has begun: recorded just before the kernel.
  for (unsigned i = 0; i < launch.attribute_count; i++) {
    if (launch.attributes[i].id == kLaunchAttributeLaunchCompletionEvent)
      RecordEvent(launch.attributes[i].value.launch_completion_event.event, launch.stream);
  }
  LogLine(2, "launch %s grid %u block %u parameters %zu stream %llu", kernel->name.c_str(),
          launch.grid.x, launch.block.x, parameters.size(),
          static_cast<unsigned long long>(stream->id));
  Enqueue(stream, [kernel, parameters = std::move(parameters), grid = launch.grid.x] {
    Run(*kernel, parameters, grid);
  });
  return kSuccess;
}

}  // namespace chokepoint::softgpu
