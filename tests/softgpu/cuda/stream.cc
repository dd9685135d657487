#include "tests/softgpu/cuda/stream.h"

#include <atomic>
#include <thread>
#include <vector>

#include "tests/softgpu/cuda/handles.h"

namespace softgpu {
namespace {

std::atomic<uint64_t> nextStreamId{1};

HandleMap<Stream> &streams() {
  static auto *const map = new HandleMap<Stream>;
  return *map;
}

bool isNullStream(StreamHandle handle) { return (uintptr_t)handle <= 2; }

std::shared_ptr<Stream> nullStream(Context *context) {
  {
    std::lock_guard<std::mutex> lock(context->mutex);
    if (context->nullStream) return context->nullStream;
  }
  auto fresh = Stream::create(context, 0, 0);
  std::lock_guard<std::mutex> lock(context->mutex);
  if (!context->nullStream) context->nullStream = fresh;
  return context->nullStream;
}

// The streams that new work on `stream` has to wait for.
std::vector<std::shared_ptr<Stream>> implicitPredecessors(const std::shared_ptr<Stream> &stream) {
  std::vector<std::shared_ptr<Stream>> others;
  if (stream->flags & kStreamNonBlocking) return others;
  Context *context = stream->context;
  std::lock_guard<std::mutex> lock(context->mutex);
  if (stream != context->nullStream) {
    if (context->nullStream) others.push_back(context->nullStream);
    return others;
  }
  for (auto &weak : context->streams)
    if (auto other = weak.lock())
      if (other != stream && !(other->flags & kStreamNonBlocking)) others.push_back(other);
  return others;
}

}  // namespace

Stream::Stream(Context *c, unsigned f, int p) : context(c), flags(f), priority(p), id(nextStreamId++) {}

std::shared_ptr<Stream> Stream::create(Context *context, unsigned flags, int priority) {
  std::shared_ptr<Stream> stream(new Stream(context, flags, priority));
  std::lock_guard<std::mutex> lock(context->mutex);
  auto &all = context->streams;
  for (size_t i = all.size(); i-- > 0;)
    if (all[i].expired()) all.erase(all.begin() + i);
  all.push_back(stream);
  return stream;
}

uint64_t Stream::submit(Work work) {
  std::lock_guard<std::mutex> lock(mutex_);
  queue_.push_back(std::move(work));
  if (!started_) {
    started_ = true;
    std::thread([self = shared_from_this()] { self->run(); }).detach();
  }
  wake_.notify_one();
  return ++submitted_;
}

void Stream::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return !queue_.empty() || retired_; });
    if (queue_.empty()) return;
    Work work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    completed_++;
    finished_.notify_all();
  }
}

void Stream::wait(uint64_t ticket) {
  std::unique_lock<std::mutex> lock(mutex_);
  finished_.wait(lock, [&] { return completed_ >= ticket; });
}

bool Stream::done(uint64_t ticket) {
  std::lock_guard<std::mutex> lock(mutex_);
  return completed_ >= ticket;
}

uint64_t Stream::lastTicket() {
  std::lock_guard<std::mutex> lock(mutex_);
  return submitted_;
}

void Stream::retire() {
  std::lock_guard<std::mutex> lock(mutex_);
  retired_ = true;
  wake_.notify_all();
}

std::shared_ptr<Stream> streamFromHandle(StreamHandle handle) {
  if (isNullStream(handle)) return nullStream(currentOrPrimaryContext());
  return streams().get(handle);
}

uint64_t enqueue(const std::shared_ptr<Stream> &stream, Stream::Work work) {
  std::vector<std::pair<std::shared_ptr<Stream>, uint64_t>> pending;
  for (auto &other : implicitPredecessors(stream)) {
    uint64_t ticket = other->lastTicket();
    if (!other->done(ticket)) pending.emplace_back(other, ticket);
  }
  if (pending.empty()) return stream->submit(std::move(work));
  return stream->submit([pending = std::move(pending), work = std::move(work)] {
    for (auto &[other, ticket] : pending) other->wait(ticket);
    work();
  });
}

Error createStream(StreamHandle *out, unsigned flags, int priority) {
  *out = streams().add(Stream::create(currentOrPrimaryContext(), flags, priority));
  return kSuccess;
}

Error destroyStream(StreamHandle handle) {
  auto stream = streams().remove(handle);
  if (!stream) return kInvalidHandle;
  stream->retire();
  return kSuccess;
}

Error synchronizeStream(StreamHandle handle) {
  auto stream = streamFromHandle(handle);
  if (!stream) return kInvalidHandle;
  stream->wait(isNullStream(handle) ? enqueue(stream, [] {}) : stream->lastTicket());
  return kSuccess;
}

Error queryStream(StreamHandle handle) {
  auto stream = streamFromHandle(handle);
  if (!stream) return kInvalidHandle;
  return stream->done(stream->lastTicket()) ? kSuccess : kNotReady;
}

Error synchronizeContext(Context *context) {
  std::vector<std::shared_ptr<Stream>> all;
  {
    std::lock_guard<std::mutex> lock(context->mutex);
    for (auto &weak : context->streams)
      if (auto stream = weak.lock()) all.push_back(stream);
  }
  for (auto &stream : all) stream->wait(stream->lastTicket());
  return kSuccess;
}

}  // namespace softgpu
