// What the fake GPUs say about themselves.
// It must not promise anything that is not there: NCCL would use it.
#include "tests/softgpu/cuda/device.h"

#include <cstdio>
#include <cstring>

#include "tests/softgpu/cuda/settings.h"

namespace chokepoint::softgpu {

bool IsValidDevice(int device) { return device >= 0 && device < GetSettings().device_count; }

const char* DeviceName() { return "softgpu (host CPU)"; }

Uuid DeviceUuid(int device) {
  Uuid uuid;
  memcpy(uuid.bytes, "softgpu-cpu-dev", 15);
  uuid.bytes[15] = static_cast<char>(device);
  return uuid;
}

namespace {

struct FixedAttribute {
  int attribute, value;
};

// The numbers are an A100's. Whatever would invite virtual memory management, peer access,
// multicast, GPUDirect RDMA or dma-buf is absent and hence 0.
constexpr FixedAttribute kFixedAttributes[] = {
    {kAttrMaxThreadsPerBlock, 1024},
    {kAttrMaxBlockDimX, 1024},
    {kAttrMaxBlockDimY, 1024},
    {kAttrMaxBlockDimZ, 64},
    {kAttrMaxGridDimX, 0x7fffffff},
    {kAttrMaxPitch, 0x7fffffff},
    {kAttrMaxGridDimY, 65535},
    {kAttrMaxGridDimZ, 65535},
    {kAttrMaxSharedMemoryPerBlock, 48 << 10},
    {kAttrMaxSharedMemoryPerBlockOptin, 163 << 10},
    {kAttrMaxSharedMemoryPerMultiprocessor, 164 << 10},
    {kAttrReservedSharedMemoryPerBlock, 1024},
    {kAttrTotalConstantMemory, 64 << 10},
    {kAttrWarpSize, 32},
    {kAttrTexturePitchAlignment, 32},
    {kAttrMaxBlocksPerMultiprocessor, 32},
    {kAttrMaxRegistersPerBlock, 65536},
    {kAttrMaxRegistersPerMultiprocessor, 65536},
    {kAttrMaxThreadsPerMultiprocessor, 2048},
    {kAttrMultiprocessorCount, 108},
    {kAttrClockRate, 1410000},
    {kAttrMemoryClockRate, 1215000},
    {kAttrGlobalMemoryBusWidth, 5120},
    {kAttrL2CacheSize, 40 << 20},
    {kAttrTextureAlignment, 512},
    {kAttrSurfaceAlignment, 512},
    {kAttrAsyncEngineCount, 3},
    {kAttrGpuOverlap, 1},
    {kAttrCanMapHostMemory, 1},
    {kAttrConcurrentKernels, 1},
    {kAttrUnifiedAddressing, 1},
    {kAttrStreamPrioritiesSupported, 1},
    {kAttrGlobalL1CacheSupported, 1},
    {kAttrLocalL1CacheSupported, 1},
    {kAttrManagedMemory, 1},
    {kAttrComputePreemptionSupported, 1},
    {kAttrCanUseHostPointerForRegisteredMem, 1},
    {kAttrCooperativeLaunch, 1},
    {kAttrHostRegisterSupported, 1},
    {kAttrMemoryPoolsSupported, 1},
};

}  // namespace

int DeviceAttribute(int attribute, int device) {
  if (attribute == kAttrPciBusId) return GetSettings().first_bus + device;
  if (attribute == kAttrComputeCapabilityMajor) return GetSettings().compute_capability_major;
  if (attribute == kAttrComputeCapabilityMinor) return GetSettings().compute_capability_minor;
  for (const FixedAttribute& fixed : kFixedAttributes) {
    if (fixed.attribute == attribute) return fixed.value;
  }
  return 0;
}

void FormatPciBusId(char* text, int size, int device) {
  snprintf(text, static_cast<size_t>(size), "0000:%02X:00.0",
           static_cast<unsigned>(GetSettings().first_bus + device) & 0xff);
}

int DeviceFromPciBusId(const char* text) {
  unsigned domain = 0, bus = 0;
  if (sscanf(text, "%x:%x", &domain, &bus) != 2 || domain) return -1;
  int device = static_cast<int>(bus) - GetSettings().first_bus;
  return IsValidDevice(device) ? device : -1;
}

namespace {

template <class Properties>
void Fill(Properties* p, int device) {
  const auto attribute = [device](int a) { return DeviceAttribute(a, device); };
  const auto bytes = [device](int a) { return static_cast<size_t>(DeviceAttribute(a, device)); };
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "%s", DeviceName());
  p->uuid = DeviceUuid(device);
  p->totalGlobalMem = GetSettings().device_bytes;
  p->sharedMemPerBlock = bytes(kAttrMaxSharedMemoryPerBlock);
  p->sharedMemPerBlockOptin = bytes(kAttrMaxSharedMemoryPerBlockOptin);
  p->sharedMemPerMultiprocessor = bytes(kAttrMaxSharedMemoryPerMultiprocessor);
  p->regsPerBlock = attribute(kAttrMaxRegistersPerBlock);
  p->regsPerMultiprocessor = attribute(kAttrMaxRegistersPerMultiprocessor);
  p->warpSize = attribute(kAttrWarpSize);
  p->maxThreadsPerBlock = attribute(kAttrMaxThreadsPerBlock);
  p->maxThreadsPerMultiProcessor = attribute(kAttrMaxThreadsPerMultiprocessor);
  for (int i = 0; i < 3; i++) {
    p->maxThreadsDim[i] = attribute(kAttrMaxBlockDimX + i);
    p->maxGridSize[i] = attribute(kAttrMaxGridDimX + i);
  }
  p->totalConstMem = bytes(kAttrTotalConstantMemory);
  p->major = attribute(kAttrComputeCapabilityMajor);
  p->minor = attribute(kAttrComputeCapabilityMinor);
  p->multiProcessorCount = attribute(kAttrMultiprocessorCount);
  p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = 1;
  p->hostRegisterSupported = p->memoryPoolsSupported = p->cooperativeLaunch = 1;
  p->asyncEngineCount = attribute(kAttrAsyncEngineCount);
  p->pciBusID = attribute(kAttrPciBusId);
  p->l2CacheSize = attribute(kAttrL2CacheSize);
  p->memoryBusWidth = attribute(kAttrGlobalMemoryBusWidth);
}

}  // namespace

void FillProperties(DeviceProperties12* properties, int device) { Fill(properties, device); }
void FillProperties(DeviceProperties13* properties, int device) { Fill(properties, device); }

}  // namespace chokepoint::softgpu
