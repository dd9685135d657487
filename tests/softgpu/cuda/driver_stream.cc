// CUDA driver: streams, events, launches.
// It must not do more than translate calls.
#include "tests/softgpu/cuda/copy.h"
#include "tests/softgpu/cuda/event.h"
#include "tests/softgpu/cuda/kernel.h"
#include "tests/softgpu/cuda/stream.h"
#include "tests/softgpu/redirect/entry_points.h"

using namespace chokepoint::softgpu;

DRIVER_API cuStreamCreate(StreamHandle* out, unsigned flags) { return CreateStream(out, flags, 0); }
DRIVER_ENTRY(cuStreamCreate, 2000, cuStreamCreate)

DRIVER_API cuStreamDestroy_v2(StreamHandle stream) { return DestroyStream(stream); }
DRIVER_ENTRY(cuStreamDestroy, 4000, cuStreamDestroy_v2)

DRIVER_API cuStreamSynchronize(StreamHandle stream) { return SynchronizeStream(stream); }
DRIVER_ENTRY(cuStreamSynchronize, 2000, cuStreamSynchronize)

DRIVER_API cuStreamQuery(StreamHandle stream) { return QueryStream(stream); }
DRIVER_ENTRY(cuStreamQuery, 2000, cuStreamQuery)

DRIVER_API cuStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned) {
  return StreamWaitEvent(stream, event);
}
DRIVER_ENTRY(cuStreamWaitEvent, 3020, cuStreamWaitEvent)

DRIVER_API cuEventCreate(EventHandle* out, unsigned) { return CreateEvent(out); }
DRIVER_ENTRY(cuEventCreate, 2000, cuEventCreate)

DRIVER_API cuEventDestroy_v2(EventHandle event) { return DestroyEvent(event); }
DRIVER_ENTRY(cuEventDestroy, 4000, cuEventDestroy_v2)

DRIVER_API cuEventRecord(EventHandle event, StreamHandle stream) {
  return RecordEvent(event, stream);
}
DRIVER_ENTRY(cuEventRecord, 2000, cuEventRecord)

DRIVER_API cuEventQuery(EventHandle event) { return QueryEvent(event); }
DRIVER_ENTRY(cuEventQuery, 2000, cuEventQuery)

DRIVER_API cuEventSynchronize(EventHandle event) { return SynchronizeEvent(event); }
DRIVER_ENTRY(cuEventSynchronize, 2000, cuEventSynchronize)

DRIVER_API cuEventElapsedTime(float* milliseconds, EventHandle begin, EventHandle end) {
  return ElapsedTime(milliseconds, begin, end);
}
DRIVER_ENTRY(cuEventElapsedTime, 2000, cuEventElapsedTime)

DRIVER_API cuLaunchHostFunc(StreamHandle stream, HostFunction function, void* argument) {
  return CallHostFunction(stream, function, argument);
}
DRIVER_ENTRY(cuLaunchHostFunc, 10000, cuLaunchHostFunc)

DRIVER_API cuLaunchKernel(FunctionHandle function, unsigned grid_x, unsigned grid_y,
                          unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned, StreamHandle stream, void** parameters, void** extra) {
  Launch what;
  what.grid = {grid_x, grid_y, grid_z}, what.block = {block_x, block_y, block_z};
  what.stream = stream, what.parameters = parameters, what.extra = extra;
  return LaunchKernel(reinterpret_cast<Kernel*>(function), what);
}
DRIVER_ENTRY(cuLaunchKernel, 4000, cuLaunchKernel)

DRIVER_API cuLaunchKernelEx(const DriverLaunchConfig* config, FunctionHandle function,
                            void** parameters, void** extra) {
  Launch what;
  what.grid = {config->grid_x, config->grid_y, config->grid_z},
  what.block = {config->block_x, config->block_y, config->block_z};
  what.stream = config->stream, what.parameters = parameters, what.extra = extra;
  what.attributes = config->attributes, what.attribute_count = config->attribute_count;
  return LaunchKernel(reinterpret_cast<Kernel*>(function), what);
}
DRIVER_ENTRY(cuLaunchKernelEx, 11060, cuLaunchKernelEx)
