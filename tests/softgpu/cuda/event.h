// Events.
#pragma once
#include "tests/softgpu/cuda/cuda_types.h"

namespace softgpu {

Error createEvent(EventHandle *out);
Error destroyEvent(EventHandle event);
Error recordEvent(EventHandle event, StreamHandle stream);
Error queryEvent(EventHandle event);
Error synchronizeEvent(EventHandle event);
Error elapsedTime(float *milliseconds, EventHandle begin, EventHandle end);
Error streamWaitEvent(StreamHandle stream, EventHandle event);

}  // namespace softgpu
