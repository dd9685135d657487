// CUDA runtime: memory, copies, memory pools.
// It must not do more than translate calls.
#include <cstring>

#include "tests/softgpu/cuda/context.h"
#include "tests/softgpu/cuda/copy.h"
#include "tests/softgpu/cuda/errors.h"
#include "tests/softgpu/cuda/memory.h"
#include "tests/softgpu/cuda/settings.h"
#include "tests/softgpu/cuda/stream.h"
#include "tests/softgpu/redirect/entry_points.h"

using namespace chokepoint::softgpu;

static int CurrentDevice() { return CurrentOrPrimaryContext()->device; }

static Error Allocate(void** out, size_t size, MemoryKind kind) {
  *out = nullptr;
  return size ? Noted(AllocateMemory(size, kind, CurrentDevice(), out)) : kSuccess;
}

RUNTIME_API Error cudaMalloc(void** out, size_t size) {
  return Allocate(out, size, MemoryKind::kDevice);
}
RUNTIME_ENTRY(cudaMalloc)

RUNTIME_API Error cudaMallocManaged(void** out, size_t size, unsigned) {
  return Allocate(out, size, MemoryKind::kManaged);
}
RUNTIME_ENTRY(cudaMallocManaged)

RUNTIME_API Error cudaFree(void* p) { return Noted(ReleaseMemory(p)); }
RUNTIME_ENTRY(cudaFree)

RUNTIME_API Error cudaHostAlloc(void** out, size_t size, unsigned) {
  return Allocate(out, size, MemoryKind::kHost);
}
RUNTIME_ENTRY(cudaHostAlloc)

RUNTIME_API Error cudaMallocHost(void** out, size_t size) {
  return Allocate(out, size, MemoryKind::kHost);
}
RUNTIME_ENTRY(cudaMallocHost)

RUNTIME_API Error cudaFreeHost(void* p) { return Noted(ReleaseMemory(p)); }
RUNTIME_ENTRY(cudaFreeHost)

RUNTIME_API Error cudaHostRegister(void* p, size_t size, unsigned) {
  return Noted(RegisterMemory(p, size, CurrentDevice()));
}
RUNTIME_ENTRY(cudaHostRegister)

RUNTIME_API Error cudaHostUnregister(void* p) { return Noted(ReleaseMemory(p)); }
RUNTIME_ENTRY(cudaHostUnregister)

RUNTIME_API Error cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return kSuccess;
}
RUNTIME_ENTRY(cudaHostGetDevicePointer)

RUNTIME_API Error cudaHostGetFlags(unsigned* flags, void*) {
  *flags = 0;
  return kSuccess;
}
RUNTIME_ENTRY(cudaHostGetFlags)

RUNTIME_API Error cudaMemGetInfo(size_t* free, size_t* total) {
  *free = *total = GetSettings().device_bytes;
  return kSuccess;
}
RUNTIME_ENTRY(cudaMemGetInfo)

RUNTIME_API Error cudaPointerGetAttributes(PointerAttributes* out, const void* p) {
  void* const address = const_cast<void*>(p);
  Allocation a;
  if (!FindAllocation(p, &a)) {
    *out = {kMemoryUnregistered, -2, nullptr, address};
    return kSuccess;
  }
  const bool is_device = a.kind == MemoryKind::kDevice;
  const bool is_managed = a.kind == MemoryKind::kManaged;
  const MemoryType type = is_device ? kMemoryDevice : is_managed ? kMemoryManaged : kMemoryHost;
  *out = {type, a.device, address, is_device ? nullptr : address};
  return kSuccess;
}
RUNTIME_ENTRY(cudaPointerGetAttributes)

RUNTIME_API Error cudaMemcpy(void* to, const void* from, size_t bytes, int) {
  return Noted(CopySync(to, from, bytes));
}
RUNTIME_ENTRY(cudaMemcpy)

RUNTIME_API Error cudaMemcpyAsync(void* to, const void* from, size_t bytes, int,
                                  StreamHandle stream) {
  return Noted(CopyAsync(to, from, bytes, stream));
}
RUNTIME_ENTRY(cudaMemcpyAsync)

RUNTIME_API Error cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return Noted(CopySync(to, from, bytes));
}
RUNTIME_ENTRY(cudaMemcpyPeer)

RUNTIME_API Error cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes,
                                      StreamHandle stream) {
  return Noted(CopyAsync(to, from, bytes, stream));
}
RUNTIME_ENTRY(cudaMemcpyPeerAsync)

RUNTIME_API Error cudaMemset(void* to, int byte, size_t bytes) {
  return Noted(FillSync(to, byte, bytes));
}
RUNTIME_ENTRY(cudaMemset)

RUNTIME_API Error cudaMemsetAsync(void* to, int byte, size_t bytes, StreamHandle stream) {
  return Noted(FillAsync(to, byte, bytes, stream));
}
RUNTIME_ENTRY(cudaMemsetAsync)

// Memory pools carry no state: allocation "in stream order" is allocation at once, which is earlier
// than needed.
struct Pool {
  int device;
};
RUNTIME_API Error cudaMemPoolCreate(PoolHandle* pool, const PoolProperties* properties) {
  *pool = new Pool{properties->location_id};
  return kSuccess;
}
RUNTIME_ENTRY(cudaMemPoolCreate)

RUNTIME_API Error cudaMemPoolDestroy(PoolHandle pool) {
  delete static_cast<Pool*>(pool);
  return kSuccess;
}
RUNTIME_ENTRY(cudaMemPoolDestroy)

RUNTIME_API Error cudaMemPoolSetAttribute(PoolHandle, int, void*) { return kSuccess; }
RUNTIME_ENTRY(cudaMemPoolSetAttribute)

RUNTIME_API Error cudaDeviceGetDefaultMemPool(PoolHandle* pool, int device) {
  static Pool* const pools = new Pool[kMaxDevices]{};
  if (device < 0 || device >= GetSettings().device_count) return Noted(kInvalidDevice);
  pools[device].device = device;
  *pool = &pools[device];
  return kSuccess;
}
RUNTIME_ENTRY(cudaDeviceGetDefaultMemPool)

RUNTIME_API Error cudaMallocAsync(void** out, size_t size, StreamHandle) {
  return Allocate(out, size, MemoryKind::kDevice);
}
RUNTIME_ENTRY(cudaMallocAsync)

RUNTIME_API Error cudaMallocFromPoolAsync(void** out, size_t size, PoolHandle, StreamHandle) {
  return Allocate(out, size, MemoryKind::kDevice);
}
RUNTIME_ENTRY(cudaMallocFromPoolAsync)

RUNTIME_API Error cudaFreeAsync(void* p, StreamHandle stream) {
  return Noted(CallHostFunction(
      stream, [](void* memory) { ReleaseMemory(memory); }, p));
}
RUNTIME_ENTRY(cudaFreeAsync)
