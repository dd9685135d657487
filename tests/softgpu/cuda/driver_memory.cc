// CUDA driver: memory, copies.
#include "tests/softgpu/cuda/context.h"
#include "tests/softgpu/cuda/copy.h"
#include "tests/softgpu/redirect/entry_points.h"
#include "tests/softgpu/cuda/memory.h"

using namespace softgpu;

DRIVER_API(cuMemAlloc, 3020, cuMemAlloc_v2, (void **out, size_t size)) {
  return allocateMemory(size, MemoryKind::Device, currentOrPrimaryContext()->device, out);
}
DRIVER_API(cuMemFree, 3020, cuMemFree_v2, (void *p)) { return releaseMemory(p); }
DRIVER_API(cuMemGetAddressRange, 3020, cuMemGetAddressRange_v2, (void **base, size_t *size, void *p)) {
  Allocation a;
  if (!findAllocation(p, &a)) return kNotFound;
  if (base) *base = (void *)a.base;
  if (size) *size = a.size;
  return kSuccess;
}
DRIVER_API(cuPointerGetAttribute, 4000, cuPointerGetAttribute, (void *out, int attribute, void *p)) {
  return pointerAttribute(out, attribute, p, true);
}
DRIVER_API(cuPointerGetAttributes, 7000, cuPointerGetAttributes, (unsigned count, int *attributes, void **out, void *p)) {
  for (unsigned i = 0; i < count; i++)
    if (Error error = pointerAttribute(out[i], attributes[i], p, false)) return error;
  return kSuccess;
}
DRIVER_API(cuPointerSetAttribute, 6000, cuPointerSetAttribute, (const void *, int, void *)) { return kSuccess; }
// NCCL asks for this even where virtual memory management is reported as absent.
DRIVER_API(cuMemGetAllocationGranularity, 10020, cuMemGetAllocationGranularity, (size_t *bytes, const void *, int)) {
  *bytes = kAllocationGranularity;
  return kSuccess;
}
DRIVER_API(cuMemcpy, 4000, cuMemcpy, (void *to, void *from, size_t bytes)) { return copySync(to, from, bytes); }
DRIVER_API(cuMemcpyAsync, 4000, cuMemcpyAsync, (void *to, void *from, size_t bytes, StreamHandle stream)) {
  return copyAsync(to, from, bytes, stream);
}
DRIVER_API(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2, (void *to, const void *from, size_t bytes)) { return copySync(to, from, bytes); }
DRIVER_API(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2, (void *to, void *from, size_t bytes)) { return copySync(to, from, bytes); }
DRIVER_API(cuMemsetD8, 3020, cuMemsetD8_v2, (void *to, unsigned char byte, size_t bytes)) { return fillSync(to, byte, bytes); }
DRIVER_API(cuMemsetD8Async, 3020, cuMemsetD8Async, (void *to, unsigned char byte, size_t bytes, StreamHandle stream)) {
  return fillAsync(to, byte, bytes, stream);
}
