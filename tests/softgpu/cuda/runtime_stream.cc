// CUDA runtime: streams, events, host functions, and stream capture (nothing is ever being captured).
#include <utility>

#include "tests/softgpu/cuda/copy.h"
#include "tests/softgpu/redirect/entry_points.h"
#include "tests/softgpu/cuda/errors.h"
#include "tests/softgpu/cuda/event.h"
#include "tests/softgpu/cuda/stream.h"

using namespace softgpu;

RUNTIME_API(Error, cudaStreamCreate, (StreamHandle *out)) { return noted(createStream(out, 0, 0)); }
RUNTIME_API(Error, cudaStreamCreateWithFlags, (StreamHandle *out, unsigned flags)) { return noted(createStream(out, flags, 0)); }
RUNTIME_API(Error, cudaStreamCreateWithPriority, (StreamHandle *out, unsigned flags, int priority)) {
  return noted(createStream(out, flags, priority));
}
RUNTIME_API(Error, cudaStreamDestroy, (StreamHandle stream)) { return noted(destroyStream(stream)); }
RUNTIME_API(Error, cudaStreamSynchronize, (StreamHandle stream)) { return noted(synchronizeStream(stream)); }
RUNTIME_API(Error, cudaStreamQuery, (StreamHandle stream)) { return noted(queryStream(stream)); }
RUNTIME_API(Error, cudaStreamWaitEvent, (StreamHandle stream, EventHandle event, unsigned)) {
  return noted(streamWaitEvent(stream, event));
}
template <class T, class Get> static Error streamProperty(StreamHandle handle, T *out, Get get) {
  auto stream = streamFromHandle(handle);
  if (!stream) return noted(kInvalidHandle);
  *out = get(*stream);
  return kSuccess;
}
RUNTIME_API(Error, cudaStreamGetFlags, (StreamHandle stream, unsigned *flags)) {
  return streamProperty(stream, flags, [](Stream &s) { return s.flags; });
}
RUNTIME_API(Error, cudaStreamGetPriority, (StreamHandle stream, int *priority)) {
  return streamProperty(stream, priority, [](Stream &s) { return s.priority; });
}
RUNTIME_API(Error, cudaStreamGetId, (StreamHandle stream, unsigned long long *id)) {
  return streamProperty(stream, id, [](Stream &s) { return s.id; });
}
RUNTIME_API(Error, cudaStreamGetDevice, (StreamHandle stream, int *device)) {
  return streamProperty(stream, device, [](Stream &s) { return s.context->device; });
}

RUNTIME_API(Error, cudaEventCreate, (EventHandle *out)) { return noted(createEvent(out)); }
RUNTIME_API(Error, cudaEventCreateWithFlags, (EventHandle *out, unsigned)) { return noted(createEvent(out)); }
RUNTIME_API(Error, cudaEventDestroy, (EventHandle event)) { return noted(destroyEvent(event)); }
RUNTIME_API(Error, cudaEventRecord, (EventHandle event, StreamHandle stream)) { return noted(recordEvent(event, stream)); }
RUNTIME_API(Error, cudaEventRecordWithFlags, (EventHandle event, StreamHandle stream, unsigned)) {
  return noted(recordEvent(event, stream));
}
RUNTIME_API(Error, cudaEventQuery, (EventHandle event)) { return noted(queryEvent(event)); }
RUNTIME_API(Error, cudaEventSynchronize, (EventHandle event)) { return noted(synchronizeEvent(event)); }
RUNTIME_API(Error, cudaEventElapsedTime, (float *milliseconds, EventHandle begin, EventHandle end)) {
  return noted(elapsedTime(milliseconds, begin, end));
}
RUNTIME_API(Error, cudaLaunchHostFunc, (StreamHandle stream, HostFunction function, void *argument)) {
  return noted(callHostFunction(stream, function, argument));
}

RUNTIME_API(Error, cudaStreamIsCapturing, (StreamHandle, int *status)) {
  *status = kCaptureNone;
  return kSuccess;
}
// The versions of this function differ in the arguments behind `id`, all of which only mean something while a capture
// is going on.
static Error noCapture(int *status, unsigned long long *id) {
  *status = kCaptureNone;
  if (id) *id = 0;
  return kSuccess;
}
RUNTIME_API(Error, cudaStreamGetCaptureInfo, (StreamHandle, int *status, unsigned long long *id)) { return noCapture(status, id); }
RUNTIME_API(Error, cudaStreamGetCaptureInfo_v2, (StreamHandle, int *status, unsigned long long *id)) { return noCapture(status, id); }
RUNTIME_API(Error, cudaStreamGetCaptureInfo_v3, (StreamHandle, int *status, unsigned long long *id)) { return noCapture(status, id); }
RUNTIME_API(Error, cudaThreadExchangeStreamCaptureMode, (int *mode)) {
  static thread_local int current = kCaptureModeGlobal;
  std::swap(current, *mode);
  return kSuccess;
}
