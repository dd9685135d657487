// Events.
// It must not know how streams work.
#pragma once

#include "tests/softgpu/cuda/cuda_types.h"

namespace chokepoint::softgpu {

Error CreateEvent(EventHandle* out);
Error DestroyEvent(EventHandle event);
Error RecordEvent(EventHandle event, StreamHandle stream);
Error QueryEvent(EventHandle event);
Error SynchronizeEvent(EventHandle event);
Error ElapsedTime(float* milliseconds, EventHandle begin, EventHandle end);
Error StreamWaitEvent(StreamHandle stream, EventHandle event);

}  // namespace chokepoint::softgpu
