// CUDA runtime: registration and launch of kernels.
// It must not look into the device code that is registered.
#include <cstring>

#include "tests/softgpu/cuda/errors.h"
#include "tests/softgpu/cuda/kernel.h"
#include "tests/softgpu/redirect/entry_points.h"

using namespace chokepoint::softgpu;

// ---- Registration, which nvcc's generated code does in constructors; the images are never looked
// into

RUNTIME_API void** __cudaRegisterFatBinary(void*) {
  static void* handle;
  return &handle;
}
RUNTIME_ENTRY(__cudaRegisterFatBinary)

RUNTIME_API void __cudaRegisterFatBinaryEnd(void**) {}
RUNTIME_ENTRY(__cudaRegisterFatBinaryEnd)

RUNTIME_API void __cudaUnregisterFatBinary(void**) {}
RUNTIME_ENTRY(__cudaUnregisterFatBinary)

RUNTIME_API char __cudaInitModule(void**) { return 1; }
RUNTIME_ENTRY(__cudaInitModule)

RUNTIME_API void __cudaRegisterFunction(void**, const char* host_function, char*, const char* name,
                                        int, void*, void*, void*, void*, int*) {
  RegisterKernel(host_function, name);
}
RUNTIME_ENTRY(__cudaRegisterFunction)

RUNTIME_API void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
RUNTIME_ENTRY(__cudaRegisterVar)

RUNTIME_API void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
RUNTIME_ENTRY(__cudaRegisterHostVar)

// ---- Launches

static Error LaunchHostFunction(const void* host_function, const Launch& what) {
  Kernel* kernel = KernelOf(host_function);
  return Noted(kernel ? LaunchKernel(kernel, what) : kInvalidDeviceFunction);
}

RUNTIME_API Error cudaLaunchKernelExC(const RuntimeLaunchConfig* config, const void* host_function,
                                      void** parameters) {
  Launch what;
  what.grid = config->grid, what.block = config->block, what.stream = config->stream,
  what.parameters = parameters;
  what.attributes = config->attributes, what.attribute_count = config->attribute_count;
  return LaunchHostFunction(host_function, what);
}
RUNTIME_ENTRY(cudaLaunchKernelExC)

RUNTIME_API Error cudaLaunchKernel(const void* host_function, Dim3 grid, Dim3 block,
                                   void** parameters, size_t, StreamHandle stream) {
  Launch what;
  what.grid = grid, what.block = block, what.stream = stream, what.parameters = parameters;
  return LaunchHostFunction(host_function, what);
}
RUNTIME_ENTRY(cudaLaunchKernel)

// ---- What the compiler makes of f<<<grid, block, shared, stream>>>()

struct CallConfiguration {
  Dim3 grid, block;
  size_t shared_bytes;
  StreamHandle stream;
};
static CallConfiguration& PendingCall() {
  static thread_local CallConfiguration configuration;
  return configuration;
}
RUNTIME_API unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared_bytes,
                                                 StreamHandle stream) {
  PendingCall() = {grid, block, shared_bytes, stream};
  return 0;
}
RUNTIME_ENTRY(__cudaPushCallConfiguration)

RUNTIME_API Error __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared_bytes,
                                             void* stream) {
  CallConfiguration& c = PendingCall();
  *grid = c.grid, *block = c.block, *shared_bytes = c.shared_bytes;
  *static_cast<StreamHandle*>(stream) = c.stream;
  return kSuccess;
}
RUNTIME_ENTRY(__cudaPopCallConfiguration)

RUNTIME_API Error __cudaGetKernel(void** kernel, const void* host_function) {
  *kernel = KernelOf(host_function);
  return Noted(*kernel ? kSuccess : kInvalidDeviceFunction);
}
RUNTIME_ENTRY(__cudaGetKernel)

RUNTIME_API Error __cudaLaunchKernel(Kernel* kernel, Dim3 grid, Dim3 block, void** parameters,
                                     size_t, StreamHandle stream) {
  Launch what;
  what.grid = grid, what.block = block, what.stream = stream, what.parameters = parameters;
  return Noted(LaunchKernel(kernel, what));
}
RUNTIME_ENTRY(__cudaLaunchKernel)

// ---- Functions as objects

RUNTIME_API Error cudaGetFuncBySymbol(FunctionHandle* function, const void* host_function) {
  *function = KernelOf(host_function);
  return Noted(*function ? kSuccess : kInvalidDeviceFunction);
}
RUNTIME_ENTRY(cudaGetFuncBySymbol)

RUNTIME_API Error cudaFuncGetAttributes(FunctionAttributes* attributes, const void* host_function) {
  if (!KernelOf(host_function)) return Noted(kInvalidDeviceFunction);
  *attributes = FunctionAttributes{};
  attributes->max_threads_per_block = 1024;
  attributes->num_regs = 64;
  return kSuccess;
}
RUNTIME_ENTRY(cudaFuncGetAttributes)

RUNTIME_API Error cudaFuncSetAttribute(const void*, int, int) { return kSuccess; }
RUNTIME_ENTRY(cudaFuncSetAttribute)

RUNTIME_API Error cudaFuncSetCacheConfig(const void*, int) { return kSuccess; }
RUNTIME_ENTRY(cudaFuncSetCacheConfig)
