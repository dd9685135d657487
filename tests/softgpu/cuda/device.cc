#include "tests/softgpu/cuda/device.h"

#include <cstdio>
#include <cstring>

#include "tests/softgpu/cuda/settings.h"

namespace softgpu {

bool isValidDevice(int device) { return device >= 0 && device < settings().deviceCount; }

const char *deviceName() { return "softgpu (host CPU)"; }

Uuid deviceUuid(int device) {
  Uuid uuid;
  memcpy(uuid.bytes, "softgpu-cpu-dev", 15);
  uuid.bytes[15] = (char)device;
  return uuid;
}

// The numbers are an A100's.  Whatever would invite virtual memory management, peer access, multicast, GPUDirect RDMA
// or dma-buf is absent and hence 0.
int deviceAttribute(int attribute, int device) {
  switch (attribute) {
    case kAttrMaxThreadsPerBlock: case kAttrMaxBlockDimX: case kAttrMaxBlockDimY: return 1024;
    case kAttrMaxBlockDimZ: return 64;
    case kAttrMaxGridDimX: case kAttrMaxPitch: return 0x7fffffff;
    case kAttrMaxGridDimY: case kAttrMaxGridDimZ: return 65535;
    case kAttrMaxSharedMemoryPerBlock: return 48 << 10;
    case kAttrMaxSharedMemoryPerBlockOptin: return 163 << 10;
    case kAttrMaxSharedMemoryPerMultiprocessor: return 164 << 10;
    case kAttrReservedSharedMemoryPerBlock: return 1024;
    case kAttrTotalConstantMemory: return 64 << 10;
    case kAttrWarpSize: case kAttrTexturePitchAlignment: case kAttrMaxBlocksPerMultiprocessor: return 32;
    case kAttrMaxRegistersPerBlock: case kAttrMaxRegistersPerMultiprocessor: return 65536;
    case kAttrMaxThreadsPerMultiprocessor: return 2048;
    case kAttrMultiprocessorCount: return 108;
    case kAttrClockRate: return 1410000;
    case kAttrMemoryClockRate: return 1215000;
    case kAttrGlobalMemoryBusWidth: return 5120;
    case kAttrL2CacheSize: return 40 << 20;
    case kAttrTextureAlignment: case kAttrSurfaceAlignment: return 512;
    case kAttrAsyncEngineCount: return 3;
    case kAttrPciBusId: return settings().firstBus + device;
    case kAttrComputeCapabilityMajor: return settings().computeCapabilityMajor;
    case kAttrComputeCapabilityMinor: return settings().computeCapabilityMinor;
    case kAttrGpuOverlap: case kAttrCanMapHostMemory: case kAttrConcurrentKernels: case kAttrUnifiedAddressing:
    case kAttrStreamPrioritiesSupported: case kAttrGlobalL1CacheSupported: case kAttrLocalL1CacheSupported:
    case kAttrManagedMemory: case kAttrComputePreemptionSupported: case kAttrCanUseHostPointerForRegisteredMem:
    case kAttrCooperativeLaunch: case kAttrHostRegisterSupported: case kAttrMemoryPoolsSupported: return 1;
    default: return 0;
  }
}

void formatPciBusId(char *text, int size, int device) {
  snprintf(text, size, "0000:%02X:00.0", (unsigned)(settings().firstBus + device) & 0xff);
}

int deviceFromPciBusId(const char *text) {
  unsigned domain = 0, bus = 0;
  if (sscanf(text, "%x:%x", &domain, &bus) != 2 || domain) return -1;
  int device = (int)bus - settings().firstBus;
  return isValidDevice(device) ? device : -1;
}

namespace {

template <class Properties> void fill(Properties *p, int device) {
  auto attribute = [device](int a) { return deviceAttribute(a, device); };
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "%s", deviceName());
  p->uuid = deviceUuid(device);
  p->totalGlobalMem = settings().deviceBytes;
  p->sharedMemPerBlock = attribute(kAttrMaxSharedMemoryPerBlock);
  p->sharedMemPerBlockOptin = attribute(kAttrMaxSharedMemoryPerBlockOptin);
  p->sharedMemPerMultiprocessor = attribute(kAttrMaxSharedMemoryPerMultiprocessor);
  p->regsPerBlock = attribute(kAttrMaxRegistersPerBlock);
  p->regsPerMultiprocessor = attribute(kAttrMaxRegistersPerMultiprocessor);
  p->warpSize = attribute(kAttrWarpSize);
  p->maxThreadsPerBlock = attribute(kAttrMaxThreadsPerBlock);
  p->maxThreadsPerMultiProcessor = attribute(kAttrMaxThreadsPerMultiprocessor);
  for (int i = 0; i < 3; i++) {
    p->maxThreadsDim[i] = attribute(kAttrMaxBlockDimX + i);
    p->maxGridSize[i] = attribute(kAttrMaxGridDimX + i);
  }
  p->totalConstMem = attribute(kAttrTotalConstantMemory);
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

void fillProperties(DeviceProperties12 *properties, int device) { fill(properties, device); }
void fillProperties(DeviceProperties13 *properties, int device) { fill(properties, device); }

}  // namespace softgpu
