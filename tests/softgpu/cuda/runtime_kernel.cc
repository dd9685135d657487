// CUDA runtime: registration and launch of kernels.
#include <cstring>

#include "tests/softgpu/redirect/entry_points.h"
#include "tests/softgpu/cuda/errors.h"
#include "tests/softgpu/cuda/kernel.h"

using namespace softgpu;

// ---- Registration, which nvcc's generated code does in constructors.  The images are never looked into.

RUNTIME_API(void **, __cudaRegisterFatBinary, (void *)) {
  static void *handle;
  return &handle;
}
RUNTIME_API(void, __cudaRegisterFatBinaryEnd, (void **)) {}
RUNTIME_API(void, __cudaUnregisterFatBinary, (void **)) {}
RUNTIME_API(char, __cudaInitModule, (void **)) { return 1; }
RUNTIME_API(void, __cudaRegisterFunction,
            (void **, const char *hostFunction, char *, const char *name, int, void *, void *, void *, void *, int *)) {
  registerKernel(hostFunction, name);
}
RUNTIME_API(void, __cudaRegisterVar, (void **, char *, char *, const char *, int, size_t, int, int)) {}
RUNTIME_API(void, __cudaRegisterHostVar, (void **, const char *, char *, size_t)) {}

// ---- Launches

static Error launch(const void *hostFunction, const Launch &what) {
  Kernel *kernel = kernelOf(hostFunction);
  return noted(kernel ? launchKernel(kernel, what) : kInvalidDeviceFunction);
}

RUNTIME_API(Error, cudaLaunchKernelExC, (const RuntimeLaunchConfig *config, const void *hostFunction, void **parameters)) {
  Launch what;
  what.grid = config->grid, what.block = config->block, what.stream = config->stream, what.parameters = parameters;
  what.attributes = config->attributes, what.attributeCount = config->attributeCount;
  return launch(hostFunction, what);
}
RUNTIME_API(Error, cudaLaunchKernel,
            (const void *hostFunction, Dim3 grid, Dim3 block, void **parameters, size_t, StreamHandle stream)) {
  Launch what;
  what.grid = grid, what.block = block, what.stream = stream, what.parameters = parameters;
  return launch(hostFunction, what);
}

// ---- What the compiler makes of f<<<grid, block, shared, stream>>>()

struct CallConfiguration {
  Dim3 grid, block;
  size_t sharedBytes;
  StreamHandle stream;
};
static CallConfiguration &pendingCall() {
  static thread_local CallConfiguration configuration;
  return configuration;
}
RUNTIME_API(unsigned, __cudaPushCallConfiguration, (Dim3 grid, Dim3 block, size_t sharedBytes, StreamHandle stream)) {
  pendingCall() = {grid, block, sharedBytes, stream};
  return 0;
}
RUNTIME_API(Error, __cudaPopCallConfiguration, (Dim3 *grid, Dim3 *block, size_t *sharedBytes, void *stream)) {
  CallConfiguration &c = pendingCall();
  *grid = c.grid, *block = c.block, *sharedBytes = c.sharedBytes;
  *(StreamHandle *)stream = c.stream;
  return kSuccess;
}
RUNTIME_API(Error, __cudaGetKernel, (void **kernel, const void *hostFunction)) {
  *kernel = kernelOf(hostFunction);
  return noted(*kernel ? kSuccess : kInvalidDeviceFunction);
}
RUNTIME_API(Error, __cudaLaunchKernel, (Kernel *kernel, Dim3 grid, Dim3 block, void **parameters, size_t, StreamHandle stream)) {
  Launch what;
  what.grid = grid, what.block = block, what.stream = stream, what.parameters = parameters;
  return noted(launchKernel(kernel, what));
}

// ---- Functions as objects

RUNTIME_API(Error, cudaGetFuncBySymbol, (FunctionHandle *function, const void *hostFunction)) {
  *function = kernelOf(hostFunction);
  return noted(*function ? kSuccess : kInvalidDeviceFunction);
}
RUNTIME_API(Error, cudaFuncGetAttributes, (FunctionAttributes *attributes, const void *hostFunction)) {
  if (!kernelOf(hostFunction)) return noted(kInvalidDeviceFunction);
  *attributes = FunctionAttributes{};
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 64;
  return kSuccess;
}
RUNTIME_API(Error, cudaFuncSetAttribute, (const void *, int, int)) { return kSuccess; }
RUNTIME_API(Error, cudaFuncSetCacheConfig, (const void *, int)) { return kSuccess; }
