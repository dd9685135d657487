// CUDA driver: memory and pointer attributes.
// It must not do more than translate calls.
#include "tests/softgpu/cuda/context.h"
#include "tests/softgpu/cuda/copy.h"
#include "tests/softgpu/cuda/memory.h"
#include "tests/softgpu/redirect/entry_points.h"

using namespace chokepoint::softgpu;

DRIVER_API cuMemAlloc_v2(void** out, size_t size) {
  return AllocateMemory(size, MemoryKind::kDevice, CurrentOrPrimaryContext()->device, out);
}
DRIVER_ENTRY(cuMemAlloc, 3020, cuMemAlloc_v2)

DRIVER_API cuMemFree_v2(void* p) { return ReleaseMemory(p); }
DRIVER_ENTRY(cuMemFree, 3020, cuMemFree_v2)

DRIVER_API cuMemGetAddressRange_v2(void** base, size_t* size, void* p) {
  Allocation a;
  if (!FindAllocation(p, &a)) return kNotFound;
  if (base) *base = reinterpret_cast<void*>(a.base);
  if (size) *size = a.size;
  return kSuccess;
}
DRIVER_ENTRY(cuMemGetAddressRange, 3020, cuMemGetAddressRange_v2)

DRIVER_API cuPointerGetAttribute(void* out, int attribute, void* p) {
  return PointerAttribute(out, attribute, p, true);
}
DRIVER_ENTRY(cuPointerGetAttribute, 4000, cuPointerGetAttribute)

DRIVER_API cuPointerGetAttributes(unsigned count, int* attributes, void** out, void* p) {
  for (unsigned i = 0; i < count; i++)
    if (Error error = PointerAttribute(out[i], attributes[i], p, false)) return error;
  return kSuccess;
}
DRIVER_ENTRY(cuPointerGetAttributes, 7000, cuPointerGetAttributes)

DRIVER_API cuPointerSetAttribute(const void*, int, void*) { return kSuccess; }
DRIVER_ENTRY(cuPointerSetAttribute, 6000, cuPointerSetAttribute)
// NCCL asks for this even where virtual memory management is reported as absent.
DRIVER_API cuMemGetAllocationGranularity(size_t* bytes, const void*, int) {
  *bytes = kAllocationGranularity;
  return kSuccess;
}
DRIVER_ENTRY(cuMemGetAllocationGranularity, 10020, cuMemGetAllocationGranularity)

DRIVER_API cuMemcpy(void* to, void* from, size_t bytes) { return CopySync(to, from, bytes); }
DRIVER_ENTRY(cuMemcpy, 4000, cuMemcpy)

DRIVER_API cuMemcpyAsync(void* to, void* from, size_t bytes, StreamHandle stream) {
  return CopyAsync(to, from, bytes, stream);
}
DRIVER_ENTRY(cuMemcpyAsync, 4000, cuMemcpyAsync)

DRIVER_API cuMemcpyHtoD_v2(void* to, const void* from, size_t bytes) {
  return CopySync(to, from, bytes);
}
DRIVER_ENTRY(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2)

DRIVER_API cuMemcpyDtoH_v2(void* to, void* from, size_t bytes) { return CopySync(to, from, bytes); }
DRIVER_ENTRY(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2)

DRIVER_API cuMemsetD8_v2(void* to, unsigned char byte, size_t bytes) {
  return FillSync(to, byte, bytes);
}
DRIVER_ENTRY(cuMemsetD8, 3020, cuMemsetD8_v2)

DRIVER_API cuMemsetD8Async(void* to, unsigned char byte, size_t bytes, StreamHandle stream) {
  return FillAsync(to, byte, bytes, stream);
}
DRIVER_ENTRY(cuMemsetD8Async, 3020, cuMemsetD8Async)
