// An event is a stream and the number of a piece of its work, with the time at which that was
// reached. It must not block a stream that only records.
#include "tests/softgpu/cuda/event.h"

#include <atomic>
#include <ctime>

#include "tests/softgpu/cuda/handles.h"
#include "tests/softgpu/cuda/stream.h"

namespace chokepoint::softgpu {
namespace {

struct Record {  // one recording of an event
  std::shared_ptr<Stream> stream;
  uint64_t ticket = 0;
  std::atomic<double> milliseconds{0};
  bool Done() const { return stream->Done(ticket); }
};

struct Event {
  std::mutex mutex;
  std::shared_ptr<Record> last;
  std::shared_ptr<Record> LastRecord() {
    std::lock_guard<std::mutex> lock(mutex);
    return last;
  }
};

HandleMap<Event>& Events() {
  static auto* const map = new HandleMap<Event>;
  return *map;
}

double NowMilliseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

}  // namespace

Error CreateEvent(EventHandle* out) {
  *out = Events().Add(std::make_shared<Event>());
  return kSuccess;
}

Error DestroyEvent(EventHandle event) { return Events().Remove(event) ? kSuccess : kInvalidHandle; }

Error RecordEvent(EventHandle handle, StreamHandle stream_handle) {
  auto event = Events().Get(handle);
  auto stream = StreamFromHandle(stream_handle);
  if (!event || !stream) return kInvalidHandle;
  auto record = std::make_shared<Record>();
  record->stream = stream;
  std::lock_guard<std::mutex> lock(event->mutex);
  record->ticket = Enqueue(stream, [record] { record->milliseconds = NowMilliseconds(); });
  event->last = record;
  return kSuccess;
}

Error QueryEvent(EventHandle handle) {
  auto event = Events().Get(handle);
  if (!event) return kInvalidHandle;
  auto record = event->LastRecord();
  return !record || record->Done() ? kSuccess : kNotReady;
}

Error SynchronizeEvent(EventHandle handle) {
  auto event = Events().Get(handle);
  if (!event) return kInvalidHandle;
  if (auto record = event->LastRecord()) record->stream->Wait(record->ticket);
  return kSuccess;
}

Error ElapsedTime(float* milliseconds, EventHandle begin_handle, EventHandle end_handle) {
  auto begin = Events().Get(begin_handle), end = Events().Get(end_handle);
  if (!begin || !end) return kInvalidHandle;
  auto first = begin->LastRecord(), second = end->LastRecord();
  if (!first || !second) return kInvalidHandle;
  if (!first->Done() || !second->Done()) return kNotReady;
  *milliseconds = static_cast<float>(second->milliseconds - first->milliseconds);
  return kSuccess;
}

Error StreamWaitEvent(StreamHandle stream_handle, EventHandle handle) {
  auto event = Events().Get(handle);
  auto stream = StreamFromHandle(stream_handle);
  if (!event || !stream) return kInvalidHandle;
  auto record = event->LastRecord();
  if (record && record->stream != stream && !record->Done())
    Enqueue(stream, [record] { record->stream->Wait(record->ticket); });
  return kSuccess;
}

}  // namespace chokepoint::softgpu
