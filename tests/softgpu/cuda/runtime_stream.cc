// CUDA runtime: streams, events, host functions, and stream capture (nothing is ever being
// captured). It must not do more than translate calls.
#include <utility>

#include "tests/softgpu/cuda/copy.h"
#include "tests/softgpu/cuda/errors.h"
#include "tests/softgpu/cuda/event.h"
#include "tests/softgpu/cuda/stream.h"
#include "tests/softgpu/redirect/entry_points.h"

using namespace chokepoint::softgpu;

RUNTIME_API Error cudaStreamCreate(StreamHandle* out) { return Noted(CreateStream(out, 0, 0)); }
RUNTIME_ENTRY(cudaStreamCreate)

RUNTIME_API Error cudaStreamCreateWithFlags(StreamHandle* out, unsigned flags) {
  return Noted(CreateStream(out, flags, 0));
}
RUNTIME_ENTRY(cudaStreamCreateWithFlags)

RUNTIME_API Error cudaStreamCreateWithPriority(StreamHandle* out, unsigned flags, int priority) {
  return Noted(CreateStream(out, flags, priority));
}
RUNTIME_ENTRY(cudaStreamCreateWithPriority)

RUNTIME_API Error cudaStreamDestroy(StreamHandle stream) { return Noted(DestroyStream(stream)); }
RUNTIME_ENTRY(cudaStreamDestroy)

RUNTIME_API Error cudaStreamSynchronize(StreamHandle stream) {
  return Noted(SynchronizeStream(stream));
}
RUNTIME_ENTRY(cudaStreamSynchronize)

RUNTIME_API Error cudaStreamQuery(StreamHandle stream) { return Noted(QueryStream(stream)); }
RUNTIME_ENTRY(cudaStreamQuery)

RUNTIME_API Error cudaStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned) {
  return Noted(StreamWaitEvent(stream, event));
}
RUNTIME_ENTRY(cudaStreamWaitEvent)
template <class T, class Get>
static Error StreamProperty(StreamHandle handle, T* out, Get get) {
  auto stream = StreamFromHandle(handle);
  if (!stream) return Noted(kInvalidHandle);
  *out = get(*stream);
  return kSuccess;
}
RUNTIME_API Error cudaStreamGetFlags(StreamHandle stream, unsigned* flags) {
  return StreamProperty(stream, flags, [](Stream& s) { return s.flags; });
}
RUNTIME_ENTRY(cudaStreamGetFlags)

RUNTIME_API Error cudaStreamGetPriority(StreamHandle stream, int* priority) {
  return StreamProperty(stream, priority, [](Stream& s) { return s.priority; });
}
RUNTIME_ENTRY(cudaStreamGetPriority)

RUNTIME_API Error cudaStreamGetId(StreamHandle stream, unsigned long long* id) {
  return StreamProperty(stream, id, [](Stream& s) { return s.id; });
}
RUNTIME_ENTRY(cudaStreamGetId)

RUNTIME_API Error cudaStreamGetDevice(StreamHandle stream, int* device) {
  return StreamProperty(stream, device, [](Stream& s) { return s.context->device; });
}
RUNTIME_ENTRY(cudaStreamGetDevice)

RUNTIME_API Error cudaEventCreate(EventHandle* out) { return Noted(CreateEvent(out)); }
RUNTIME_ENTRY(cudaEventCreate)

RUNTIME_API Error cudaEventCreateWithFlags(EventHandle* out, unsigned) {
  return Noted(CreateEvent(out));
}
RUNTIME_ENTRY(cudaEventCreateWithFlags)

RUNTIME_API Error cudaEventDestroy(EventHandle event) { return Noted(DestroyEvent(event)); }
RUNTIME_ENTRY(cudaEventDestroy)

RUNTIME_API Error cudaEventRecord(EventHandle event, StreamHandle stream) {
  return Noted(RecordEvent(event, stream));
}
RUNTIME_ENTRY(cudaEventRecord)

RUNTIME_API Error cudaEventRecordWithFlags(EventHandle event, StreamHandle stream, unsigned) {
  return Noted(RecordEvent(event, stream));
}
RUNTIME_ENTRY(cudaEventRecordWithFlags)

RUNTIME_API Error cudaEventQuery(EventHandle event) { return Noted(QueryEvent(event)); }
RUNTIME_ENTRY(cudaEventQuery)

RUNTIME_API Error cudaEventSynchronize(EventHandle event) { return Noted(SynchronizeEvent(event)); }
RUNTIME_ENTRY(cudaEventSynchronize)

RUNTIME_API Error cudaEventElapsedTime(float* milliseconds, EventHandle begin, EventHandle end) {
  return Noted(ElapsedTime(milliseconds, begin, end));
}
RUNTIME_ENTRY(cudaEventElapsedTime)

RUNTIME_API Error cudaLaunchHostFunc(StreamHandle stream, HostFunction function, void* argument) {
  return Noted(CallHostFunction(stream, function, argument));
}
RUNTIME_ENTRY(cudaLaunchHostFunc)

RUNTIME_API Error cudaStreamIsCapturing(StreamHandle, int* status) {
  *status = kCaptureNone;
  return kSuccess;
}
RUNTIME_ENTRY(cudaStreamIsCapturing)
// The versions of this function differ in the arguments behind `id`, all of which only mean
// something while a capture is going on.
static Error NoCapture(int* status, unsigned long long* id) {
  *status = kCaptureNone;
  if (id) *id = 0;
  return kSuccess;
}
RUNTIME_API Error cudaStreamGetCaptureInfo(StreamHandle, int* status, unsigned long long* id) {
  return NoCapture(status, id);
}
RUNTIME_ENTRY(cudaStreamGetCaptureInfo)

RUNTIME_API Error cudaStreamGetCaptureInfo_v2(StreamHandle, int* status, unsigned long long* id) {
  return NoCapture(status, id);
}
RUNTIME_ENTRY(cudaStreamGetCaptureInfo_v2)

RUNTIME_API Error cudaStreamGetCaptureInfo_v3(StreamHandle, int* status, unsigned long long* id) {
  return NoCapture(status, id);
}
RUNTIME_ENTRY(cudaStreamGetCaptureInfo_v3)

RUNTIME_API Error cudaThreadExchangeStreamCaptureMode(int* mode) {
  static thread_local int current = kCaptureModeGlobal;
  std::swap(current, *mode);
  return kSuccess;
}
RUNTIME_ENTRY(cudaThreadExchangeStreamCaptureMode)
