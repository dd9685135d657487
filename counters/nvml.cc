// Loads NVML when the program uses CUDA, finds the GPUs that are this process's, and says what they
// are. Must not guess by index: CUDA's order and NVML's differ.
#include "counters/nvml.h"

#include <cstring>

#include "counters/links.h"
#include "counters/text_scan.h"
#include "trace/raw_io.h"
#include "trace/text.h"

namespace chokepoint::counters {

using trace::SamplerSource;
using trace::SourceState;

namespace {

// "00000000:1B:00.0" as NVML and CUDA say it to "0000:1b:00.0" as sysfs does.
void ToSysfsAddress(const char* text, char* out, std::size_t bytes) noexcept {
  const std::size_t length = std::strlen(text);
  const char* begin = length == 16 ? text + 4 : text;
  trace::Text(out, bytes).Add(begin);
  for (char* c = out; *c != '\0'; ++c) {
    if (*c >= 'A' && *c <= 'F') *c = static_cast<char>(*c - 'A' + 'a');
  }
}

// The driver interface of CUDA, as far as it can be asked without a context.
struct Cuda {
  int (*device_count)(int*) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*pci_bus_id)(char*, int, int) = nullptr;
  int (*primary_context_state)(int, unsigned*, int*) = nullptr;

  explicit Cuda(const DynamicLibrary& library) noexcept {
    library.Find("cuDeviceGetCount", &device_count);
    library.Find("cuDeviceGet", &device);
    library.Find("cuDeviceGetPCIBusId", &pci_bus_id);
    library.Find("cuDevicePrimaryCtxGetState", &primary_context_state);
  }
  bool complete() const noexcept {
    return device_count != nullptr && device != nullptr && pci_bus_id != nullptr &&
           primary_context_state != nullptr;
  }
};

SourceState StateOfResult(int result) noexcept {
  switch (result) {
    case nvml::kNotSupported:
    case nvml::kInvalidArgument:
    case nvml::kFunctionNotFound:
      return SourceState::kUnsupported;
    case nvml::kNoPermission:
      return SourceState::kForbidden;
    case nvml::kGpuLost:
      return SourceState::kGone;
    case nvml::kNotFound:
    case nvml::kDriverNotLoaded:
      return SourceState::kMissing;
    default:
      return SourceState::kUnreadable;
  }
}

}  // namespace

void NvmlReader::Init(const char* library, const char* visible_devices) noexcept {
  library_ = library;
  visible_devices_ = visible_devices;
}

bool NvmlReader::Load(const Round& round) noexcept {
  if (loaded_ || failed_) return loaded_;
  const bool uses_cuda = cuda_.FindLoaded("libcuda.so.1");
  if (library_ == nullptr && !uses_cuda && !handle_.FindLoaded("libnvidia-ml.so.1")) return false;
  if (!handle_.Load(library_ != nullptr ? library_ : "libnvidia-ml.so.1")) {
    failed_ = true;
    round.sink->Report(SamplerSource::kGpu, SourceState::kMissing, 0, round.now_ticks, nullptr,
                       "libnvidia-ml.so.1");
    return false;
  }
#define X(member, symbol, older, parameters) \
  handle_.Find(symbol, &call_.member);       \
  if (call_.member == nullptr && (older) != nullptr) handle_.Find(older, &call_.member);
  CHOKEPOINT_NVML_FUNCTIONS(X)
#undef X
  int result = nvml::kFunctionNotFound;
  if (call_.init_with_flags != nullptr) result = call_.init_with_flags(nvml::kInitNoAttach);
  if (result != nvml::kSuccess && call_.init != nullptr) result = call_.init();
  if (result != nvml::kSuccess) {
    failed_ = true;
    round.sink->Report(SamplerSource::kGpu, StateOfResult(result), result, round.now_ticks, nullptr,
                       "nvmlInit");
    return false;
  }
  loaded_ = true;
  return true;
}

void NvmlReader::AddGpu(const Round& round, nvml::Device device) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (gpus_[i].device == device) return;
  }
  if (count_ == kMost) return;
  Gpu& gpu = gpus_[count_++];
  gpu = Gpu{};
  gpu.device = device;
  gpu.identity.index = static_cast<std::uint32_t>(count_);
  Identify(round, &gpu);
  gpu.identity.ticks = round.now_ticks;
  round.sink->Emit(gpu.identity);
  if (events_ == nullptr && call_.event_set_create != nullptr && call_.event_wait != nullptr &&
      call_.event_set_create(&events_) != nvml::kSuccess) {
    events_ = nullptr;
  }
  if (events_ != nullptr && call_.register_events != nullptr) {
    const int result = call_.register_events(device, nvml::kEventXid, events_);
    Note(round, &gpu, kEvents, result);
  }
}

// Devices on which this process has a primary context: those that it computes on.
bool NvmlReader::FindByCuda(const Round& round) noexcept {
  constexpr int kNoError = 0;
  const Cuda cuda(cuda_);
  int devices = 0;
  if (!cuda.complete() || call_.by_pci == nullptr || cuda.device_count(&devices) != kNoError) {
    return false;
  }
  for (int ordinal = 0; ordinal < devices && ordinal < 64; ++ordinal) {
    int device = 0;
    unsigned flags = 0;
    int active = 0;
    char address[32] = {};
    if (cuda.device(&device, ordinal) != kNoError) continue;
    if (cuda.primary_context_state(device, &flags, &active) != kNoError || active == 0) continue;
    if (cuda.pci_bus_id(address, sizeof(address) - 1, device) != kNoError) continue;
    nvml::Device handle = nullptr;
    if (call_.by_pci(address, &handle) == nvml::kSuccess) AddGpu(round, handle);
  }
  return true;
}

// Devices that list this process. In a container the numbers may be the host's: then nothing is
// found.
bool NvmlReader::FindByProcess(const Round& round) noexcept {
  if (call_.processes == nullptr || call_.count == nullptr || call_.by_index == nullptr)
    return false;
  const std::uint32_t pid = trace::raw::ProcessId();
  unsigned devices = 0;
  if (call_.count(&devices) != nvml::kSuccess) return false;
  for (unsigned i = 0; i < devices && i < 64; ++i) {
    nvml::Device device = nullptr;
    nvml::ProcessInfo list[64];
    unsigned listed = 64;
    if (call_.by_index(i, &device) != nvml::kSuccess) continue;
    if (call_.processes(device, &listed, list) != nvml::kSuccess) continue;
    for (unsigned j = 0; j < listed && j < 64; ++j) {
      if (list[j].pid == pid) AddGpu(round, device);
    }
  }
  return count_ > 0;
}

// CUDA_VISIBLE_DEVICES, as far as it names devices: numbers mean CUDA's order, which is not known
// here.
void NvmlReader::FindByVariable(const Round& round) noexcept {
  if (visible_devices_ == nullptr || call_.by_uuid == nullptr) return;
  std::string_view rest(visible_devices_);
  std::string_view one;
  while (TakeUpTo(&rest, ',', &one)) {
    one = Trimmed(one);
    if (!StartsWith(one, "GPU-")) continue;
    char uuid[96];
    nvml::Device device = nullptr;
    trace::Text(uuid, sizeof(uuid)).Add(one.data(), one.size());
    if (call_.by_uuid(uuid, &device) == nvml::kSuccess) AddGpu(round, device);
  }
}

void NvmlReader::FindGpus(const Round& round) noexcept {
  constexpr int kPatience = 3;  // a program makes its contexts a while after it has loaded CUDA
  FindByCuda(round);
  if (count_ == 0 && !FindByProcess(round)) FindByVariable(round);
  if (count_ != 0 || said_unknown_ || ++rounds_without_gpu_ < kPatience) return;
  said_unknown_ = true;
  round.sink->Report(SamplerSource::kGpu, SourceState::kUnsupported, 0, round.now_ticks, nullptr,
                     "which GPU is this process's");
}

void NvmlReader::Identify(const Round& round, Gpu* gpu) noexcept {
  const auto text_of = [&](auto function, char* text, unsigned bytes) noexcept {
    text[0] = '\0';
    if (function != nullptr && function(gpu->device, text, bytes) != nvml::kSuccess) text[0] = '\0';
    return round.sink->Name(text);
  };
  const auto number_of = [&](auto function, auto... arguments) noexcept {
    unsigned value = 0;
    if (function == nullptr || function(gpu->device, arguments..., &value) != nvml::kSuccess)
      return 0u;
    return value;
  };
  char text[96];
  trace::GpuDevice& identity = gpu->identity;
  identity.uuid = text_of(call_.uuid, text, sizeof(text));
  identity.model = text_of(call_.name, text, sizeof(text));
  if (const NvlinkModel* model = FindNvlinkModel(text)) {
    identity.nvlink_nominal_mbytes = model->links * model->link_mbytes;
    identity.nvlink_expected_mbytes = model->expected_mbytes;
  }
  if (call_.driver_version != nullptr &&
      call_.driver_version(text, sizeof(text)) == nvml::kSuccess) {
    identity.driver_version = round.sink->Name(text);
  }
  identity.nvml_index = number_of(call_.index);
  identity.power_limit_mw = number_of(call_.power_limit);
  identity.sm_clock_max_mhz = number_of(call_.clock_max, nvml::kClockSm);
  identity.pcie_generation_max = static_cast<std::uint8_t>(number_of(call_.pcie_generation_max));
  identity.pcie_width_max = static_cast<std::uint8_t>(number_of(call_.pcie_width_max));
  identity.pcie_nominal_mbytes = PcieMbytes(identity.pcie_generation_max, identity.pcie_width_max);
  nvml::Memory memory{};
  if (call_.memory != nullptr && call_.memory(gpu->device, &memory) == nvml::kSuccess) {
    identity.memory_bytes = memory.total;
  }
  identity.numa_node = -1;
  nvml::PciInfo pci{};
  if (call_.pci_info != nullptr && call_.pci_info(gpu->device, &pci) == nvml::kSuccess) {
    pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
    ToSysfsAddress(pci.bus_id, gpu->pci_address, sizeof(gpu->pci_address));
    identity.pci_address = round.sink->Name(gpu->pci_address);
    char path[kMaxPathBytes];
    trace::Text(path, sizeof(path))
        .Add("/sys/bus/pci/devices/")
        .Add(gpu->pci_address)
        .Add("/numa_node");
    std::int64_t node = -1;
    round.tree->ReadSigned(path, &node);
    identity.numa_node = static_cast<std::int32_t>(node);
  }
  ReadLinks(round, gpu);
}

// How many NVLinks there are, and how many are up.
void NvmlReader::ReadLinks(const Round& round, Gpu* gpu) noexcept {
  if (!Usable(*gpu, kNvlink, reinterpret_cast<const void*>(call_.nvlink_state))) return;
  std::uint32_t links = 0;
  std::uint16_t active = 0;
  int first_result = nvml::kSuccess;
  for (unsigned link = 0; link < nvml::kMostLinks; ++link) {
    int state = 0;
    const int result = call_.nvlink_state(gpu->device, link, &state);
    if (link == 0) first_result = result;
    if (result != nvml::kSuccess) break;  // the model has no more
    ++links;
    if (state != 0) ++active;
  }
  Note(round, gpu, kNvlink, first_result);
  gpu->nvlinks_active = active;
  if (links <= gpu->identity.nvlinks) return;
  gpu->identity.nvlinks = links;
}

bool NvmlReader::Usable(const Gpu& gpu, Call call, const void* function) const noexcept {
  return function != nullptr && !gpu.lost && (gpu.refused & 1u << call) == 0;
}

// True when the call gave a value. What is refused for good is said once and not asked again.
bool NvmlReader::Note(const Round& round, Gpu* gpu, Call call, int result) noexcept {
  static constexpr const char* kNames[kCalls] = {
      "utilisation",   "clock reasons", "SM clock",        "memory clock",
      "power",         "temperature",   "PCIe generation", "PCIe width",
      "energy",        "memory",        "ECC corrected",   "ECC uncorrected",
      "remapped rows", "PCIe replays",  "NVLink",          "Xid events"};
  round.tree->CountRead();
  if (result == nvml::kSuccess) return true;
  round.tree->CountError();
  if (result == nvml::kGpuLost) {
    gpu->lost = true;
    round.sink->Report(SamplerSource::kGpu, SourceState::kGone, result, round.now_ticks,
                       gpu->pci_address);
    return false;
  }
  const SourceState state = StateOfResult(result);
  if (state == SourceState::kUnreadable) return false;  // a passing failure: asked again
  gpu->refused |= 1u << call;
  round.sink->Report(SamplerSource::kGpu, state, result, round.now_ticks, gpu->pci_address,
                     kNames[call]);
  return false;
}

void NvmlReader::Refresh(const Round& round) noexcept {
  if (!Load(round)) return;
  if (count_ == 0) FindGpus(round);
  for (std::size_t i = 0; i < count_; ++i) {
    if (gpus_[i].lost) continue;
    ReadLinks(round, &gpus_[i]);
    ReadHealth(round, &gpus_[i]);
  }
}

void NvmlReader::RepeatIdentities(const Sink& sink) const noexcept {
  for (std::size_t i = 0; i < count_; ++i) sink.Emit(gpus_[i].identity);
}

}  // namespace chokepoint::counters
