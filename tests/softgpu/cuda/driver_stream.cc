// CUDA driver: streams, events, launches.
#include "tests/softgpu/cuda/copy.h"
#include "tests/softgpu/redirect/entry_points.h"
#include "tests/softgpu/cuda/event.h"
#include "tests/softgpu/cuda/kernel.h"
#include "tests/softgpu/cuda/stream.h"

using namespace softgpu;

DRIVER_API(cuStreamCreate, 2000, cuStreamCreate, (StreamHandle *out, unsigned flags)) { return createStream(out, flags, 0); }
DRIVER_API(cuStreamDestroy, 4000, cuStreamDestroy_v2, (StreamHandle stream)) { return destroyStream(stream); }
DRIVER_API(cuStreamSynchronize, 2000, cuStreamSynchronize, (StreamHandle stream)) { return synchronizeStream(stream); }
DRIVER_API(cuStreamQuery, 2000, cuStreamQuery, (StreamHandle stream)) { return queryStream(stream); }
DRIVER_API(cuStreamWaitEvent, 3020, cuStreamWaitEvent, (StreamHandle stream, EventHandle event, unsigned)) {
  return streamWaitEvent(stream, event);
}
DRIVER_API(cuEventCreate, 2000, cuEventCreate, (EventHandle *out, unsigned)) { return createEvent(out); }
DRIVER_API(cuEventDestroy, 4000, cuEventDestroy_v2, (EventHandle event)) { return destroyEvent(event); }
DRIVER_API(cuEventRecord, 2000, cuEventRecord, (EventHandle event, StreamHandle stream)) { return recordEvent(event, stream); }
DRIVER_API(cuEventQuery, 2000, cuEventQuery, (EventHandle event)) { return queryEvent(event); }
DRIVER_API(cuEventSynchronize, 2000, cuEventSynchronize, (EventHandle event)) { return synchronizeEvent(event); }
DRIVER_API(cuEventElapsedTime, 2000, cuEventElapsedTime, (float *milliseconds, EventHandle begin, EventHandle end)) {
  return elapsedTime(milliseconds, begin, end);
}
DRIVER_API(cuLaunchHostFunc, 10000, cuLaunchHostFunc, (StreamHandle stream, HostFunction function, void *argument)) {
  return callHostFunction(stream, function, argument);
}

DRIVER_API(cuLaunchKernel, 4000, cuLaunchKernel,
           (FunctionHandle function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
            unsigned blockZ, unsigned, StreamHandle stream, void **parameters, void **extra)) {
  Launch what;
  what.grid = {gridX, gridY, gridZ}, what.block = {blockX, blockY, blockZ};
  what.stream = stream, what.parameters = parameters, what.extra = extra;
  return launchKernel((Kernel *)function, what);
}
DRIVER_API(cuLaunchKernelEx, 11060, cuLaunchKernelEx,
           (const DriverLaunchConfig *config, FunctionHandle function, void **parameters, void **extra)) {
  Launch what;
  what.grid = {config->gridX, config->gridY, config->gridZ}, what.block = {config->blockX, config->blockY, config->blockZ};
  what.stream = config->stream, what.parameters = parameters, what.extra = extra;
  what.attributes = config->attributes, what.attributeCount = config->attributeCount;
  return launchKernel((Kernel *)function, what);
}
