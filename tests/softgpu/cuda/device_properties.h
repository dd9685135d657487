// cudaDeviceProp, whose layout depends on the CUDA version: CUDA 12 asks for it by
// cudaGetDeviceProperties_v2, CUDA 13 by cudaGetDeviceProperties. It must not rename the fields:
// their names are the public API's.
#pragma once

#include <cstddef>

#include "tests/softgpu/cuda/cuda_types.h"

namespace chokepoint::softgpu {

// Fields in front of the first difference.
#define SOFTGPU_PROPERTIES_HEAD             \
  char name[256];                           \
  Uuid uuid;                                \
  char luid[8];                             \
  unsigned luidDeviceNodeMask;              \
  size_t totalGlobalMem, sharedMemPerBlock; \
  int regsPerBlock, warpSize;               \
  size_t memPitch;                          \
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];

#define SOFTGPU_PROPERTIES_SURFACES                                                         \
  int maxTexture2D[2], maxTexture2DMipmap[2], maxTexture2DLinear[3], maxTexture2DGather[2], \
      maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap, maxTexture1DLayered[2],       \
      maxTexture2DLayered[3], maxTextureCubemapLayered[2], maxSurface1D, maxSurface2D[2],   \
      maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3], maxSurfaceCubemap,   \
      maxSurfaceCubemapLayered[2];                                                          \
  size_t surfaceAlignment;                                                                  \
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver,         \
      asyncEngineCount, unifiedAddressing;

#define SOFTGPU_PROPERTIES_TAIL                                                       \
  size_t sharedMemPerBlockOptin;                                                      \
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost,         \
      maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;                          \
  size_t reservedSharedMemPerBlock;                                                   \
  int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported, \
      timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;

struct DeviceProperties13 {
  SOFTGPU_PROPERTIES_HEAD
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int multiProcessorCount, integrated, canMapHostMemory, maxTexture1D, maxTexture1DMipmap;
  SOFTGPU_PROPERTIES_SURFACES
  int memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor,
      streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID,
      hostNativeAtomicSupported, pageableMemoryAccess, concurrentManagedAccess,
      computePreemptionSupported, canUseHostPointerForRegisteredMem, cooperativeLaunch;
  SOFTGPU_PROPERTIES_TAIL
  char rest[4 * (14 + 56)];
};
static_assert(sizeof(DeviceProperties13) == 1008 &&
              offsetof(DeviceProperties13, gpuDirectRDMASupported) == 724);

struct DeviceProperties12 {
  SOFTGPU_PROPERTIES_HEAD
  int clockRate;
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory,
      computeMode, maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear;
  SOFTGPU_PROPERTIES_SURFACES
  int memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize,
      maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported,
      localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID,
      hostNativeAtomicSupported, singleToDoublePrecisionPerfRatio, pageableMemoryAccess,
      concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem,
      cooperativeLaunch, cooperativeMultiDeviceLaunch;
  SOFTGPU_PROPERTIES_TAIL
  char rest[4 * (7 + 63)];
};
static_assert(sizeof(DeviceProperties12) == 1032 && offsetof(DeviceProperties12, major) == 360);

}  // namespace chokepoint::softgpu
