// Compares softgpu's declarations with the headers of an installed CUDA toolkit.
// It must not need a GPU, nor run anything: compiling it is the test.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>

#include "tests/softgpu/cuda/cuda_types.h"
#include "tests/softgpu/cuda/device_properties.h"

using namespace chokepoint::softgpu;

#define SAME_VALUE(ours, theirs) static_assert((long)(ours) == (long)(theirs), #ours)
#define SAME_PLACE(Ours, field, Theirs, their_field)                             \
  static_assert(offsetof(Ours, field) == offsetof(Theirs, their_field), #field); \
  static_assert(sizeof(((Ours*)0)->field) == sizeof(((Theirs*)0)->their_field), #field)
// A leading part is enough where the library only writes that part.
#define SAME_HEAD(Ours, Theirs) static_assert(sizeof(Ours) <= sizeof(Theirs), #Ours)

SAME_VALUE(kInvalidValue, cudaErrorInvalidValue);
SAME_VALUE(kOutOfMemory, cudaErrorMemoryAllocation);
SAME_VALUE(kInvalidDeviceFunction, cudaErrorInvalidDeviceFunction);
SAME_VALUE(kNoDevice, cudaErrorNoDevice);
SAME_VALUE(kInvalidDevice, cudaErrorInvalidDevice);
SAME_VALUE(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME_VALUE(kPeerAccessUnsupported, cudaErrorPeerAccessUnsupported);
SAME_VALUE(kInvalidHandle, cudaErrorInvalidResourceHandle);
SAME_VALUE(kNotFound, cudaErrorSymbolNotFound);
SAME_VALUE(kNotReady, cudaErrorNotReady);
SAME_VALUE(kLaunchFailure, cudaErrorLaunchFailure);
SAME_VALUE(kNotSupported, cudaErrorNotSupported);
SAME_VALUE(kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME_VALUE(kNotFound, CUDA_ERROR_NOT_FOUND);

static_assert(sizeof(Dim3) == sizeof(dim3));
static_assert(sizeof(LaunchAttribute) == sizeof(cudaLaunchAttribute) &&
              sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
SAME_PLACE(LaunchAttribute, value, cudaLaunchAttribute, val);
SAME_VALUE(kLaunchAttributeLaunchCompletionEvent, cudaLaunchAttributeLaunchCompletionEvent);
static_assert(sizeof(RuntimeLaunchConfig) == sizeof(cudaLaunchConfig_t));
SAME_PLACE(RuntimeLaunchConfig, grid, cudaLaunchConfig_t, gridDim);
SAME_PLACE(RuntimeLaunchConfig, block, cudaLaunchConfig_t, blockDim);
SAME_PLACE(RuntimeLaunchConfig, stream, cudaLaunchConfig_t, stream);
SAME_PLACE(RuntimeLaunchConfig, attributes, cudaLaunchConfig_t, attrs);
SAME_PLACE(RuntimeLaunchConfig, attribute_count, cudaLaunchConfig_t, numAttrs);
static_assert(sizeof(DriverLaunchConfig) == sizeof(CUlaunchConfig));
SAME_PLACE(DriverLaunchConfig, grid_x, CUlaunchConfig, gridDimX);
SAME_PLACE(DriverLaunchConfig, block_x, CUlaunchConfig, blockDimX);
SAME_PLACE(DriverLaunchConfig, stream, CUlaunchConfig, hStream);
SAME_PLACE(DriverLaunchConfig, attributes, CUlaunchConfig, attrs);
SAME_PLACE(DriverLaunchConfig, attribute_count, CUlaunchConfig, numAttrs);

SAME_HEAD(PointerAttributes, cudaPointerAttributes);
SAME_PLACE(PointerAttributes, type, cudaPointerAttributes, type);
SAME_PLACE(PointerAttributes, device, cudaPointerAttributes, device);
SAME_PLACE(PointerAttributes, device_pointer, cudaPointerAttributes, devicePointer);
SAME_PLACE(PointerAttributes, host_pointer, cudaPointerAttributes, hostPointer);
SAME_VALUE(kMemoryHost, cudaMemoryTypeHost);
SAME_VALUE(kMemoryDevice, cudaMemoryTypeDevice);
SAME_VALUE(kMemoryManaged, cudaMemoryTypeManaged);
SAME_VALUE(kMemoryHost, CU_MEMORYTYPE_HOST);
SAME_VALUE(kMemoryDevice, CU_MEMORYTYPE_DEVICE);
SAME_HEAD(FunctionAttributes, cudaFuncAttributes);
SAME_PLACE(FunctionAttributes, max_threads_per_block, cudaFuncAttributes, maxThreadsPerBlock);
SAME_PLACE(FunctionAttributes, num_regs, cudaFuncAttributes, numRegs);
SAME_PLACE(FunctionAttributes, preferred_shmem_carveout, cudaFuncAttributes,
           preferredShmemCarveout);
SAME_HEAD(PoolProperties, cudaMemPoolProps);
static_assert(offsetof(PoolProperties, location_id) ==
              offsetof(cudaMemPoolProps, location) + offsetof(cudaMemLocation, id));
static_assert(sizeof(IpcMemoryHandle) == sizeof(cudaIpcMemHandle_t));
static_assert(sizeof(Uuid) == sizeof(CUuuid));
SAME_VALUE(kStreamNonBlocking, cudaStreamNonBlocking);
SAME_VALUE(kCaptureNone, cudaStreamCaptureStatusNone);
SAME_VALUE(kCaptureModeGlobal, cudaStreamCaptureModeGlobal);
SAME_VALUE(kEntryPointSuccess, cudaDriverEntryPointSuccess);
SAME_VALUE(kEntryPointSymbolNotFound, cudaDriverEntryPointSymbolNotFound);
SAME_VALUE(kEntryPointSymbolNotFound, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);

#define SAME_ATTRIBUTE(ours, theirs) SAME_VALUE(kAttr##ours, CU_DEVICE_ATTRIBUTE_##theirs)
SAME_ATTRIBUTE(MaxThreadsPerBlock, MAX_THREADS_PER_BLOCK);
SAME_ATTRIBUTE(MaxBlockDimX, MAX_BLOCK_DIM_X);
SAME_ATTRIBUTE(MaxGridDimX, MAX_GRID_DIM_X);
SAME_ATTRIBUTE(MaxSharedMemoryPerBlock, MAX_SHARED_MEMORY_PER_BLOCK);
SAME_ATTRIBUTE(TotalConstantMemory, TOTAL_CONSTANT_MEMORY);
SAME_ATTRIBUTE(WarpSize, WARP_SIZE);
SAME_ATTRIBUTE(MaxPitch, MAX_PITCH);
SAME_ATTRIBUTE(MaxRegistersPerBlock, MAX_REGISTERS_PER_BLOCK);
SAME_ATTRIBUTE(ClockRate, CLOCK_RATE);
SAME_ATTRIBUTE(TextureAlignment, TEXTURE_ALIGNMENT);
SAME_ATTRIBUTE(GpuOverlap, GPU_OVERLAP);
SAME_ATTRIBUTE(MultiprocessorCount, MULTIPROCESSOR_COUNT);
SAME_ATTRIBUTE(CanMapHostMemory, CAN_MAP_HOST_MEMORY);
SAME_ATTRIBUTE(SurfaceAlignment, SURFACE_ALIGNMENT);
SAME_ATTRIBUTE(ConcurrentKernels, CONCURRENT_KERNELS);
SAME_ATTRIBUTE(PciBusId, PCI_BUS_ID);
SAME_ATTRIBUTE(MemoryClockRate, MEMORY_CLOCK_RATE);
SAME_ATTRIBUTE(GlobalMemoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH);
SAME_ATTRIBUTE(L2CacheSize, L2_CACHE_SIZE);
SAME_ATTRIBUTE(MaxThreadsPerMultiprocessor, MAX_THREADS_PER_MULTIPROCESSOR);
SAME_ATTRIBUTE(AsyncEngineCount, ASYNC_ENGINE_COUNT);
SAME_ATTRIBUTE(UnifiedAddressing, UNIFIED_ADDRESSING);
SAME_ATTRIBUTE(TexturePitchAlignment, TEXTURE_PITCH_ALIGNMENT);
SAME_ATTRIBUTE(ComputeCapabilityMajor, COMPUTE_CAPABILITY_MAJOR);
SAME_ATTRIBUTE(ComputeCapabilityMinor, COMPUTE_CAPABILITY_MINOR);
SAME_ATTRIBUTE(StreamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED);
SAME_ATTRIBUTE(GlobalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED);
SAME_ATTRIBUTE(LocalL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED);
SAME_ATTRIBUTE(MaxSharedMemoryPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME_ATTRIBUTE(MaxRegistersPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME_ATTRIBUTE(ManagedMemory, MANAGED_MEMORY);
SAME_ATTRIBUTE(ComputePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED);
SAME_ATTRIBUTE(CanUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
SAME_ATTRIBUTE(CooperativeLaunch, COOPERATIVE_LAUNCH);
SAME_ATTRIBUTE(MaxSharedMemoryPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME_ATTRIBUTE(HostRegisterSupported, HOST_REGISTER_SUPPORTED);
SAME_ATTRIBUTE(MaxBlocksPerMultiprocessor, MAX_BLOCKS_PER_MULTIPROCESSOR);
SAME_ATTRIBUTE(ReservedSharedMemoryPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK);
SAME_ATTRIBUTE(MemoryPoolsSupported, MEMORY_POOLS_SUPPORTED);
SAME_VALUE(kPointerContext, CU_POINTER_ATTRIBUTE_CONTEXT);
SAME_VALUE(kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME_VALUE(kPointerDevicePointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
SAME_VALUE(kPointerHostPointer, CU_POINTER_ATTRIBUTE_HOST_POINTER);
SAME_VALUE(kPointerSyncMemops, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
SAME_VALUE(kPointerBufferId, CU_POINTER_ATTRIBUTE_BUFFER_ID);
SAME_VALUE(kPointerIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME_VALUE(kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME_VALUE(kPointerIsLegacyIpcCapable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
SAME_VALUE(kPointerRangeStart, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME_VALUE(kPointerRangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME_VALUE(kPointerMapped, CU_POINTER_ATTRIBUTE_MAPPED);
SAME_VALUE(kPointerAllowedHandleTypes, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES);
SAME_VALUE(kPointerIsGpuDirectRdmaCapable, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE);
SAME_VALUE(kPointerMemPool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);

#if CUDART_VERSION >= 13000
using OurProperties = DeviceProperties13;
#else
using OurProperties = DeviceProperties12;
#endif
static_assert(sizeof(OurProperties) == sizeof(cudaDeviceProp));
#define SAME_PROPERTY(field) SAME_PLACE(OurProperties, field, cudaDeviceProp, field)
SAME_PROPERTY(name);
SAME_PROPERTY(uuid);
SAME_PROPERTY(totalGlobalMem);
SAME_PROPERTY(warpSize);
SAME_PROPERTY(maxGridSize);
SAME_PROPERTY(major);
SAME_PROPERTY(multiProcessorCount);
SAME_PROPERTY(canMapHostMemory);
SAME_PROPERTY(concurrentKernels);
SAME_PROPERTY(pciBusID);
SAME_PROPERTY(asyncEngineCount);
SAME_PROPERTY(unifiedAddressing);
SAME_PROPERTY(l2CacheSize);
SAME_PROPERTY(maxThreadsPerMultiProcessor);
SAME_PROPERTY(sharedMemPerMultiprocessor);
SAME_PROPERTY(regsPerMultiprocessor);
SAME_PROPERTY(managedMemory);
SAME_PROPERTY(cooperativeLaunch);
SAME_PROPERTY(sharedMemPerBlockOptin);
SAME_PROPERTY(hostRegisterSupported);
SAME_PROPERTY(memoryPoolsSupported);
SAME_PROPERTY(gpuDirectRDMASupported);

int main() { printf("check_types: CUDA %d: ok\n", CUDART_VERSION); }
