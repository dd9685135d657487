// NVML (libnvidia-ml.so.1): the calls that NCCL makes. Types follow NVIDIA's public NVML reference.
// It must not report links between devices: there are none.
#include <cstdio>

#include "tests/softgpu/cuda/device.h"
#include "tests/softgpu/cuda/settings.h"
#include "tests/softgpu/redirect/entry_points.h"

#define NVML_API extern "C" SOFTGPU_EXPORT NvmlResult

using namespace chokepoint::softgpu;

namespace {

enum NvmlResult : int {
  kNvmlSuccess = 0,
  kNvmlInvalidArgument = 2,
  kNvmlNotSupported = 3,
  kNvmlNotFound = 6
};
constexpr int kP2pStatusNotSupported = 5;
constexpr unsigned kPciDeviceId = 0x20b010de;  // an A100's
constexpr unsigned kPciBaseClassDisplay = 3, kPciSubClass3d = 2;

// A handle is the address of the device's element.
char devices[kMaxDevices];
using NvmlDevice = char*;

int IndexOf(NvmlDevice device) { return static_cast<int>(device - devices); }
unsigned BusOf(NvmlDevice device) {
  return static_cast<unsigned>(DeviceAttribute(kAttrPciBusId, IndexOf(device)));
}

struct PciInfo {  // the leading fields of nvmlPciInfo_t; what follows depends on the caller's
                  // version
  char legacy_bus_id[16];
  unsigned domain, bus, device, pci_device_id, pci_sub_system_id;
};
static_assert(sizeof(PciInfo) == 36);

struct PciInfoExt {  // nvmlPciInfoExt_v1_t
  unsigned version, domain, bus, device, pci_device_id, pci_sub_system_id, base_class, sub_class;
  char bus_id[32];
};
static_assert(sizeof(PciInfoExt) == 64);

}  // namespace

NVML_API nvmlInit_v2() { return kNvmlSuccess; }
NVML_API nvmlInit() { return kNvmlSuccess; }
NVML_API nvmlShutdown() { return kNvmlSuccess; }
extern "C" SOFTGPU_EXPORT const char* nvmlErrorString(NvmlResult result) {
  return result == kNvmlSuccess        ? "success"
         : result == kNvmlNotSupported ? "not supported (softgpu)"
                                       : "error (softgpu)";
}

NVML_API nvmlDeviceGetCount_v2(unsigned* count) {
  *count = (unsigned)GetSettings().device_count;
  return kNvmlSuccess;
}
NVML_API nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

NVML_API nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice* device) {
  if (!IsValidDevice((int)index)) return kNvmlInvalidArgument;
  *device = &devices[index];
  return kNvmlSuccess;
}
NVML_API nvmlDeviceGetHandleByIndex(unsigned index, NvmlDevice* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

NVML_API nvmlDeviceGetHandleByPciBusId_v2(const char* text, NvmlDevice* device) {
  int index = DeviceFromPciBusId(text);
  if (index < 0) return kNvmlNotFound;
  *device = &devices[index];
  return kNvmlSuccess;
}
NVML_API nvmlDeviceGetHandleByPciBusId(const char* text, NvmlDevice* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(text, device);
}

NVML_API nvmlDeviceGetIndex(NvmlDevice device, unsigned* index) {
  *index = (unsigned)IndexOf(device);
  return kNvmlSuccess;
}
NVML_API nvmlDeviceGetCudaComputeCapability(NvmlDevice, int* major, int* minor) {
  *major = GetSettings().compute_capability_major;
  *minor = GetSettings().compute_capability_minor;
  return kNvmlSuccess;
}
NVML_API nvmlDeviceGetP2PStatus(NvmlDevice, NvmlDevice, int, int* status) {
  *status = kP2pStatusNotSupported;
  return kNvmlSuccess;
}
NVML_API nvmlDeviceGetPciInfo_v3(NvmlDevice device, PciInfo* info) {
  FormatPciBusId(info->legacy_bus_id, sizeof info->legacy_bus_id, IndexOf(device));
  info->domain = info->device = info->pci_sub_system_id = 0;
  info->bus = BusOf(device);
  info->pci_device_id = kPciDeviceId;
  return kNvmlSuccess;
}
NVML_API nvmlDeviceGetPciInfoExt(NvmlDevice device, PciInfoExt* info) {
  info->domain = info->device = info->pci_sub_system_id = 0;
  info->bus = BusOf(device);
  info->pci_device_id = kPciDeviceId;
  info->base_class = kPciBaseClassDisplay, info->sub_class = kPciSubClass3d;
  snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", info->bus & 0xff);
  return kNvmlSuccess;
}
NVML_API nvmlDeviceGetPcieLinkMaxSpeed(NvmlDevice, unsigned* megabytes_per_second) {
  *megabytes_per_second = 16000;
  return kNvmlSuccess;
}
NVML_API nvmlDeviceGetCurrPcieLinkGeneration(NvmlDevice, unsigned* generation) {
  *generation = 4;
  return kNvmlSuccess;
}
NVML_API nvmlDeviceGetCurrPcieLinkWidth(NvmlDevice, unsigned* lanes) {
  *lanes = 16;
  return kNvmlSuccess;
}

// Confidential computing is off.
struct ConfidentialComputeState {  // nvmlConfComputeSystemState_t
  unsigned environment, cc_feature, dev_tools_mode;
};
struct ConfidentialComputeSettings {  // nvmlSystemConfComputeSettings_v1_t
  unsigned version, environment, cc_feature, dev_tools_mode, multi_gpu_mode;
};
NVML_API nvmlSystemGetConfComputeState(ConfidentialComputeState* state) {
  *state = {};
  return kNvmlSuccess;
}
NVML_API nvmlSystemGetConfComputeSettings(ConfidentialComputeSettings* settings) {
  *settings = {settings->version, 0, 0, 0, 0};
  return kNvmlSuccess;
}

NVML_API nvmlDeviceGetPlatformInfo(NvmlDevice, void*) { return kNvmlNotSupported; }
NVML_API nvmlDeviceGetNvLinkState(NvmlDevice, unsigned, int*) { return kNvmlNotSupported; }
NVML_API nvmlDeviceGetNvLinkCapability(NvmlDevice, unsigned, int, unsigned*) {
  return kNvmlNotSupported;
}
NVML_API nvmlDeviceGetNvLinkRemotePciInfo(NvmlDevice, unsigned, void*) { return kNvmlNotSupported; }
NVML_API nvmlDeviceGetNvLinkRemotePciInfo_v2(NvmlDevice, unsigned, void*) {
  return kNvmlNotSupported;
}
NVML_API nvmlDeviceGetFieldValues(NvmlDevice, int, void*) { return kNvmlNotSupported; }
NVML_API nvmlDeviceGetGpuFabricInfoV(NvmlDevice, void*) { return kNvmlNotSupported; }
