#include "tests/softgpu/cuda/event.h"

#include <atomic>
#include <ctime>

#include "tests/softgpu/cuda/handles.h"
#include "tests/softgpu/cuda/stream.h"

namespace softgpu {
namespace {

struct Record {  // one recording of an event
  std::shared_ptr<Stream> stream;
  uint64_t ticket = 0;
  std::atomic<double> milliseconds{0};
  bool done() const { return stream->done(ticket); }
};

struct Event {
  std::mutex mutex;
  std::shared_ptr<Record> last;
  std::shared_ptr<Record> lastRecord() {
    std::lock_guard<std::mutex> lock(mutex);
    return last;
  }
};

HandleMap<Event> &events() {
  static auto *const map = new HandleMap<Event>;
  return *map;
}

double nowMilliseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

}  // namespace

Error createEvent(EventHandle *out) {
  *out = events().add(std::make_shared<Event>());
  return kSuccess;
}

Error destroyEvent(EventHandle event) { return events().remove(event) ? kSuccess : kInvalidHandle; }

Error recordEvent(EventHandle handle, StreamHandle streamHandle) {
  auto event = events().get(handle);
  auto stream = streamFromHandle(streamHandle);
  if (!event || !stream) return kInvalidHandle;
  auto record = std::make_shared<Record>();
  record->stream = stream;
  std::lock_guard<std::mutex> lock(event->mutex);
  record->ticket = enqueue(stream, [record] { record->milliseconds = nowMilliseconds(); });
  event->last = record;
  return kSuccess;
}

Error queryEvent(EventHandle handle) {
  auto event = events().get(handle);
  if (!event) return kInvalidHandle;
  auto record = event->lastRecord();
  return !record || record->done() ? kSuccess : kNotReady;
}

Error synchronizeEvent(EventHandle handle) {
  auto event = events().get(handle);
  if (!event) return kInvalidHandle;
  if (auto record = event->lastRecord()) record->stream->wait(record->ticket);
  return kSuccess;
}

Error elapsedTime(float *milliseconds, EventHandle beginHandle, EventHandle endHandle) {
  auto begin = events().get(beginHandle), end = events().get(endHandle);
  if (!begin || !end) return kInvalidHandle;
  auto first = begin->lastRecord(), second = end->lastRecord();
  if (!first || !second) return kInvalidHandle;
  if (!first->done() || !second->done()) return kNotReady;
  *milliseconds = (float)(second->milliseconds - first->milliseconds);
  return kSuccess;
}

Error streamWaitEvent(StreamHandle streamHandle, EventHandle handle) {
  auto event = events().get(handle);
  auto stream = streamFromHandle(streamHandle);
  if (!event || !stream) return kInvalidHandle;
  auto record = event->lastRecord();
  if (record && record->stream != stream && !record->done())
    enqueue(stream, [record] { record->stream->wait(record->ticket); });
  return kSuccess;
}

}  // namespace softgpu
