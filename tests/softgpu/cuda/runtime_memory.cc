// CUDA runtime: memory, copies, memory pools.
#include <cstring>

#include "tests/softgpu/cuda/context.h"
#include "tests/softgpu/cuda/copy.h"
#include "tests/softgpu/redirect/entry_points.h"
#include "tests/softgpu/cuda/errors.h"
#include "tests/softgpu/cuda/memory.h"
#include "tests/softgpu/cuda/settings.h"
#include "tests/softgpu/cuda/stream.h"

using namespace softgpu;

static int currentDevice() { return currentOrPrimaryContext()->device; }

static Error allocate(void **out, size_t size, MemoryKind kind) {
  *out = nullptr;
  return size ? noted(allocateMemory(size, kind, currentDevice(), out)) : kSuccess;
}

RUNTIME_API(Error, cudaMalloc, (void **out, size_t size)) { return allocate(out, size, MemoryKind::Device); }
RUNTIME_API(Error, cudaMallocManaged, (void **out, size_t size, unsigned)) { return allocate(out, size, MemoryKind::Managed); }
RUNTIME_API(Error, cudaFree, (void *p)) { return noted(releaseMemory(p)); }
RUNTIME_API(Error, cudaHostAlloc, (void **out, size_t size, unsigned)) { return allocate(out, size, MemoryKind::Host); }
RUNTIME_API(Error, cudaMallocHost, (void **out, size_t size)) { return allocate(out, size, MemoryKind::Host); }
RUNTIME_API(Error, cudaFreeHost, (void *p)) { return noted(releaseMemory(p)); }
RUNTIME_API(Error, cudaHostRegister, (void *p, size_t size, unsigned)) { return noted(registerMemory(p, size, currentDevice())); }
RUNTIME_API(Error, cudaHostUnregister, (void *p)) { return noted(releaseMemory(p)); }
RUNTIME_API(Error, cudaHostGetDevicePointer, (void **device, void *host, unsigned)) {
  *device = host;
  return kSuccess;
}
RUNTIME_API(Error, cudaHostGetFlags, (unsigned *flags, void *)) {
  *flags = 0;
  return kSuccess;
}
RUNTIME_API(Error, cudaMemGetInfo, (size_t *free, size_t *total)) {
  *free = *total = settings().deviceBytes;
  return kSuccess;
}
RUNTIME_API(Error, cudaPointerGetAttributes, (PointerAttributes *out, const void *p)) {
  Allocation a;
  if (!findAllocation(p, &a)) {
    *out = {kMemoryUnregistered, -2, nullptr, (void *)p};
    return kSuccess;
  }
  bool isDevice = a.kind == MemoryKind::Device, isManaged = a.kind == MemoryKind::Managed;
  *out = {isDevice ? kMemoryDevice : isManaged ? kMemoryManaged : kMemoryHost, a.device, (void *)p, isDevice ? nullptr : (void *)p};
  return kSuccess;
}

RUNTIME_API(Error, cudaMemcpy, (void *to, const void *from, size_t bytes, int)) { return noted(copySync(to, from, bytes)); }
RUNTIME_API(Error, cudaMemcpyAsync, (void *to, const void *from, size_t bytes, int, StreamHandle stream)) {
  return noted(copyAsync(to, from, bytes, stream));
}
RUNTIME_API(Error, cudaMemcpyPeer, (void *to, int, const void *from, int, size_t bytes)) { return noted(copySync(to, from, bytes)); }
RUNTIME_API(Error, cudaMemcpyPeerAsync, (void *to, int, const void *from, int, size_t bytes, StreamHandle stream)) {
  return noted(copyAsync(to, from, bytes, stream));
}
RUNTIME_API(Error, cudaMemset, (void *to, int byte, size_t bytes)) { return noted(fillSync(to, byte, bytes)); }
RUNTIME_API(Error, cudaMemsetAsync, (void *to, int byte, size_t bytes, StreamHandle stream)) {
  return noted(fillAsync(to, byte, bytes, stream));
}

// Memory pools carry no state: allocation "in stream order" is allocation at once, which is earlier than needed.
struct Pool {
  int device;
};
RUNTIME_API(Error, cudaMemPoolCreate, (PoolHandle *pool, const PoolProperties *properties)) {
  *pool = new Pool{properties->locationId};
  return kSuccess;
}
RUNTIME_API(Error, cudaMemPoolDestroy, (PoolHandle pool)) {
  delete (Pool *)pool;
  return kSuccess;
}
RUNTIME_API(Error, cudaMemPoolSetAttribute, (PoolHandle, int, void *)) { return kSuccess; }
RUNTIME_API(Error, cudaDeviceGetDefaultMemPool, (PoolHandle *pool, int device)) {
  static Pool *const pools = new Pool[kMaxDevices]{};
  if (device < 0 || device >= settings().deviceCount) return noted(kInvalidDevice);
  pools[device].device = device;
  *pool = &pools[device];
  return kSuccess;
}
RUNTIME_API(Error, cudaMallocAsync, (void **out, size_t size, StreamHandle)) { return allocate(out, size, MemoryKind::Device); }
RUNTIME_API(Error, cudaMallocFromPoolAsync, (void **out, size_t size, PoolHandle, StreamHandle)) {
  return allocate(out, size, MemoryKind::Device);
}
RUNTIME_API(Error, cudaFreeAsync, (void *p, StreamHandle stream)) {
  return noted(callHostFunction(stream, [](void *memory) { releaseMemory(memory); }, p));
}
