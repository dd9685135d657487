// CUDA runtime: the public functions that softgpu does not implement, so that programs which name
// them can start. It must not let them pass for working ones: each reports its name and returns
// cudaErrorNotSupported.
#include "tests/softgpu/cuda/errors.h"
#include "tests/softgpu/redirect/entry_points.h"

using namespace chokepoint::softgpu;

// clang-format off
#define UNSUPPORTED_FUNCTIONS(X) \
    X(cudaArrayGetInfo) X(cudaArrayGetMemoryRequirements) X(cudaArrayGetPlane) X(cudaArrayGetSparseProperties) \
    X(cudaChooseDevice) X(cudaCreateChannelDesc) X(cudaCreateSurfaceObject) X(cudaCreateTextureObject) \
    X(cudaCtxResetPersistingL2Cache) X(cudaDestroyExternalMemory) X(cudaDestroyExternalSemaphore) \
    X(cudaDestroySurfaceObject) X(cudaDestroyTextureObject) X(cudaDeviceDisablePeerAccess) \
    X(cudaDeviceFlushGPUDirectRDMAWrites) X(cudaDeviceGetCacheConfig) X(cudaDeviceGetGraphMemAttribute) \
    X(cudaDeviceGetHostAtomicCapabilities) X(cudaDeviceGetMemPool) X(cudaDeviceGetNvSciSyncAttributes) \
    X(cudaDeviceGetP2PAtomicCapabilities) X(cudaDeviceGetSharedMemConfig) X(cudaDeviceGetTexture1DLinearMaxWidth) \
    X(cudaDeviceGraphMemTrim) X(cudaDeviceRegisterAsyncNotification) X(cudaDeviceSetCacheConfig) \
    X(cudaDeviceSetGraphMemAttribute) X(cudaDeviceSetMemPool) X(cudaDeviceSetSharedMemConfig) \
    X(cudaDeviceUnregisterAsyncNotification) X(cudaEGLStreamConsumerAcquireFrame) X(cudaEGLStreamConsumerConnect) \
    X(cudaEGLStreamConsumerConnectWithFlags) X(cudaEGLStreamConsumerDisconnect) X(cudaEGLStreamConsumerReleaseFrame) \
    X(cudaEGLStreamProducerConnect) X(cudaEGLStreamProducerDisconnect) X(cudaEGLStreamProducerPresentFrame) \
    X(cudaEGLStreamProducerReturnFrame) X(cudaEventCreateFromEGLSync) X(cudaEventElapsedTime_v2) \
    X(cudaExternalMemoryGetMappedBuffer) X(cudaExternalMemoryGetMappedMipmappedArray) X(cudaFreeArray) \
    X(cudaFreeMipmappedArray) X(cudaFuncGetName) X(cudaFuncGetParamInfo) X(cudaFuncSetSharedMemConfig) \
    X(cudaGLGetDevices) X(cudaGLMapBufferObject) X(cudaGLMapBufferObjectAsync) X(cudaGLRegisterBufferObject) \
    X(cudaGLSetBufferObjectMapFlags) X(cudaGLSetGLDevice) X(cudaGLUnmapBufferObject) X(cudaGLUnmapBufferObjectAsync) \
    X(cudaGLUnregisterBufferObject) X(cudaGetChannelDesc) X(cudaGetKernel) X(cudaGetMipmappedArrayLevel) \
    X(cudaGetSurfaceObjectResourceDesc) X(cudaGetSymbolAddress) X(cudaGetSymbolSize) \
    X(cudaGetTextureObjectResourceDesc) X(cudaGetTextureObjectResourceViewDesc) X(cudaGetTextureObjectTextureDesc) \
    X(cudaGraphAddChildGraphNode) X(cudaGraphAddDependencies) X(cudaGraphAddDependencies_v2) \
    X(cudaGraphAddEmptyNode) X(cudaGraphAddEventRecordNode) X(cudaGraphAddEventWaitNode) \
    X(cudaGraphAddExternalSemaphoresSignalNode) X(cudaGraphAddExternalSemaphoresWaitNode) X(cudaGraphAddHostNode) \
    X(cudaGraphAddKernelNode) X(cudaGraphAddMemAllocNode) X(cudaGraphAddMemFreeNode) X(cudaGraphAddMemcpyNode) \
    X(cudaGraphAddMemcpyNode1D) X(cudaGraphAddMemcpyNodeFromSymbol) X(cudaGraphAddMemcpyNodeToSymbol) \
    X(cudaGraphAddMemsetNode) X(cudaGraphAddNode) X(cudaGraphAddNode_v2) X(cudaGraphChildGraphNodeGetGraph) \
    X(cudaGraphClone) X(cudaGraphConditionalHandleCreate) X(cudaGraphCreate) X(cudaGraphDebugDotPrint) \
    X(cudaGraphDestroy) X(cudaGraphDestroyNode) X(cudaGraphEventRecordNodeGetEvent) \
    X(cudaGraphEventRecordNodeSetEvent) X(cudaGraphEventWaitNodeGetEvent) X(cudaGraphEventWaitNodeSetEvent) \
    X(cudaGraphExecChildGraphNodeSetParams) X(cudaGraphExecDestroy) X(cudaGraphExecEventRecordNodeSetEvent) \
    X(cudaGraphExecEventWaitNodeSetEvent) X(cudaGraphExecExternalSemaphoresSignalNodeSetParams) \
    X(cudaGraphExecExternalSemaphoresWaitNodeSetParams) X(cudaGraphExecGetFlags) X(cudaGraphExecHostNodeSetParams) \
    X(cudaGraphExecKernelNodeSetParams) X(cudaGraphExecMemcpyNodeSetParams) X(cudaGraphExecMemcpyNodeSetParams1D) \
    X(cudaGraphExecMemcpyNodeSetParamsFromSymbol) X(cudaGraphExecMemcpyNodeSetParamsToSymbol) \
    X(cudaGraphExecMemsetNodeSetParams) X(cudaGraphExecNodeSetParams) X(cudaGraphExecUpdate) \
    X(cudaGraphExternalSemaphoresSignalNodeGetParams) X(cudaGraphExternalSemaphoresSignalNodeSetParams) \
    X(cudaGraphExternalSemaphoresWaitNodeGetParams) X(cudaGraphExternalSemaphoresWaitNodeSetParams) \
    X(cudaGraphGetEdges) X(cudaGraphGetEdges_v2) X(cudaGraphGetNodes) X(cudaGraphGetRootNodes) \
    X(cudaGraphHostNodeGetParams) X(cudaGraphHostNodeSetParams) X(cudaGraphInstantiate) \
    X(cudaGraphInstantiateWithFlags) X(cudaGraphInstantiateWithParams) X(cudaGraphKernelNodeCopyAttributes) \
    X(cudaGraphKernelNodeGetAttribute) X(cudaGraphKernelNodeGetParams) X(cudaGraphKernelNodeSetAttribute) \
    X(cudaGraphKernelNodeSetParams) X(cudaGraphLaunch) X(cudaGraphMemAllocNodeGetParams) \
    X(cudaGraphMemFreeNodeGetParams) X(cudaGraphMemcpyNodeGetParams) X(cudaGraphMemcpyNodeSetParams) \
    X(cudaGraphMemcpyNodeSetParams1D) X(cudaGraphMemcpyNodeSetParamsFromSymbol) \
    X(cudaGraphMemcpyNodeSetParamsToSymbol) X(cudaGraphMemsetNodeGetParams) X(cudaGraphMemsetNodeSetParams) \
    X(cudaGraphNodeFindInClone) X(cudaGraphNodeGetDependencies) X(cudaGraphNodeGetDependencies_v2) \
    X(cudaGraphNodeGetDependentNodes) X(cudaGraphNodeGetDependentNodes_v2) X(cudaGraphNodeGetEnabled) \
    X(cudaGraphNodeGetType) X(cudaGraphNodeSetEnabled) X(cudaGraphNodeSetParams) X(cudaGraphReleaseUserObject) \
    X(cudaGraphRemoveDependencies) X(cudaGraphRemoveDependencies_v2) X(cudaGraphRetainUserObject) X(cudaGraphUpload) \
    X(cudaGraphicsEGLRegisterImage) X(cudaGraphicsGLRegisterBuffer) X(cudaGraphicsGLRegisterImage) \
    X(cudaGraphicsMapResources) X(cudaGraphicsResourceGetMappedEglFrame) \
    X(cudaGraphicsResourceGetMappedMipmappedArray) X(cudaGraphicsResourceGetMappedPointer) \
    X(cudaGraphicsResourceSetMapFlags) X(cudaGraphicsSubResourceGetMappedArray) X(cudaGraphicsUnmapResources) \
    X(cudaGraphicsUnregisterResource) X(cudaGraphicsVDPAURegisterOutputSurface) \
    X(cudaGraphicsVDPAURegisterVideoSurface) X(cudaImportExternalMemory) X(cudaImportExternalSemaphore) \
    X(cudaIpcCloseMemHandle) X(cudaIpcGetEventHandle) X(cudaIpcGetMemHandle) X(cudaIpcOpenEventHandle) \
    X(cudaIpcOpenMemHandle) X(cudaKernelSetAttributeForDevice) X(cudaLaunchCooperativeKernel) \
    X(cudaLibraryEnumerateKernels) X(cudaLibraryGetGlobal) X(cudaLibraryGetKernel) X(cudaLibraryGetKernelCount) \
    X(cudaLibraryGetManaged) X(cudaLibraryGetUnifiedFunction) X(cudaLibraryLoadData) X(cudaLibraryLoadFromFile) \
    X(cudaLibraryUnload) X(cudaLogsCurrent) X(cudaLogsDumpToFile) X(cudaLogsDumpToMemory) \
    X(cudaLogsRegisterCallback) X(cudaLogsUnregisterCallback) X(cudaMalloc3D) X(cudaMalloc3DArray) \
    X(cudaMallocArray) X(cudaMallocMipmappedArray) X(cudaMallocPitch) X(cudaMemAdvise) X(cudaMemAdvise_v2) \
    X(cudaMemDiscardAndPrefetchBatchAsync) X(cudaMemDiscardBatchAsync) X(cudaMemGetDefaultMemPool) \
    X(cudaMemGetMemPool) X(cudaMemPoolExportPointer) X(cudaMemPoolExportToShareableHandle) X(cudaMemPoolGetAccess) \
    X(cudaMemPoolGetAttribute) X(cudaMemPoolImportFromShareableHandle) X(cudaMemPoolImportPointer) \
    X(cudaMemPoolSetAccess) X(cudaMemPoolTrimTo) X(cudaMemPrefetchAsync) X(cudaMemPrefetchAsync_v2) \
    X(cudaMemPrefetchBatchAsync) X(cudaMemRangeGetAttribute) X(cudaMemRangeGetAttributes) X(cudaMemSetMemPool) \
    X(cudaMemcpy2D) X(cudaMemcpy2DArrayToArray) X(cudaMemcpy2DAsync) X(cudaMemcpy2DFromArray) \
    X(cudaMemcpy2DFromArrayAsync) X(cudaMemcpy2DToArray) X(cudaMemcpy2DToArrayAsync) X(cudaMemcpy3D) \
    X(cudaMemcpy3DAsync) X(cudaMemcpy3DBatchAsync) X(cudaMemcpy3DPeer) X(cudaMemcpy3DPeerAsync) \
    X(cudaMemcpyArrayToArray) X(cudaMemcpyBatchAsync) X(cudaMemcpyFromArray) X(cudaMemcpyFromArrayAsync) \
    X(cudaMemcpyFromSymbol) X(cudaMemcpyFromSymbolAsync) X(cudaMemcpyToArray) X(cudaMemcpyToArrayAsync) \
    X(cudaMemcpyToSymbol) X(cudaMemcpyToSymbolAsync) X(cudaMemset2D) X(cudaMemset2DAsync) X(cudaMemset3D) \
    X(cudaMemset3DAsync) X(cudaMipmappedArrayGetMemoryRequirements) X(cudaMipmappedArrayGetSparseProperties) \
    X(cudaOccupancyAvailableDynamicSMemPerBlock) X(cudaOccupancyMaxActiveBlocksPerMultiprocessor) \
    X(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) X(cudaOccupancyMaxActiveClusters) \
    X(cudaOccupancyMaxPotentialClusterSize) X(cudaProfilerStart) X(cudaProfilerStop) X(cudaSetValidDevices) \
    X(cudaSignalExternalSemaphoresAsync) X(cudaStreamAddCallback) X(cudaStreamAttachMemAsync) \
    X(cudaStreamBeginCapture) X(cudaStreamBeginCaptureToGraph) X(cudaStreamCopyAttributes) X(cudaStreamEndCapture) \
    X(cudaStreamGetAttribute) X(cudaStreamSetAttribute) X(cudaStreamUpdateCaptureDependencies) \
    X(cudaStreamUpdateCaptureDependencies_v2) X(cudaUserObjectCreate) X(cudaUserObjectRelease) \
    X(cudaUserObjectRetain) X(cudaVDPAUGetDevice) X(cudaVDPAUSetVDPAUDevice) X(cudaWaitExternalSemaphoresAsync)
// clang-format on

#define DEFINE_UNSUPPORTED(name) \
  extern "C" SOFTGPU_EXPORT Error name() { return Noted(ReportUnsupported(#name)); }
UNSUPPORTED_FUNCTIONS(DEFINE_UNSUPPORTED)
