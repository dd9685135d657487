// Streams as queues with a worker thread each, started with the first piece of work.
// It must not hold a lock while work runs.
#include "tests/softgpu/cuda/stream.h"

#include <atomic>
#include <thread>
#include <vector>

#include "tests/softgpu/cuda/handles.h"

namespace chokepoint::softgpu {
namespace {

std::atomic<uint64_t> next_stream_id{1};

HandleMap<Stream>& Streams() {
  static auto* const map = new HandleMap<Stream>;
  return *map;
}

bool IsNullStream(StreamHandle handle) { return reinterpret_cast<uintptr_t>(handle) <= 2; }

std::shared_ptr<Stream> NullStream(Context* context) {
  {
    std::lock_guard<std::mutex> lock(context->mutex);
    if (context->null_stream) return context->null_stream;
  }
  auto fresh = Stream::Create(context, 0, 0);
  std::lock_guard<std::mutex> lock(context->mutex);
  if (!context->null_stream) context->null_stream = fresh;
  return context->null_stream;
}

// The streams that new work on `stream` has to wait for.
std::vector<std::shared_ptr<Stream>> ImplicitPredecessors(const std::shared_ptr<Stream>& stream) {
  std::vector<std::shared_ptr<Stream>> others;
  if (stream->flags & kStreamNonBlocking) return others;
  Context* context = stream->context;
  std::lock_guard<std::mutex> lock(context->mutex);
  if (stream != context->null_stream) {
    if (context->null_stream) others.push_back(context->null_stream);
    return others;
  }
  for (auto& weak : context->streams) {
    if (auto other = weak.lock())
      if (other != stream && !(other->flags & kStreamNonBlocking)) others.push_back(other);
  }
  return others;
}

}  // namespace

Stream::Stream(Context* c, unsigned f, int p)
    : context(c), flags(f), priority(p), id(next_stream_id++) {}

std::shared_ptr<Stream> Stream::Create(Context* context, unsigned flags, int priority) {
  std::shared_ptr<Stream> stream(new Stream(context, flags, priority));
  std::lock_guard<std::mutex> lock(context->mutex);
  auto& all = context->streams;
  std::erase_if(all, [](const std::weak_ptr<Stream>& one) { return one.expired(); });
  all.push_back(stream);
  return stream;
}

uint64_t Stream::Submit(Work work) {
  std::lock_guard<std::mutex> lock(mutex_);
  queue_.push_back(std::move(work));
  if (!started_) {
    started_ = true;
    std::thread([self = shared_from_this()] { self->Run(); }).detach();
  }
  wake_.notify_one();
  return ++submitted_;
}

void Stream::Run() {
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

void Stream::Wait(uint64_t ticket) {
  std::unique_lock<std::mutex> lock(mutex_);
  finished_.wait(lock, [&] { return completed_ >= ticket; });
}

bool Stream::Done(uint64_t ticket) {
  std::lock_guard<std::mutex> lock(mutex_);
  return completed_ >= ticket;
}

uint64_t Stream::LastTicket() {
  std::lock_guard<std::mutex> lock(mutex_);
  return submitted_;
}

void Stream::Retire() {
  std::lock_guard<std::mutex> lock(mutex_);
  retired_ = true;
  wake_.notify_all();
}

std::shared_ptr<Stream> StreamFromHandle(StreamHandle handle) {
  if (IsNullStream(handle)) return NullStream(CurrentOrPrimaryContext());
  return Streams().Get(handle);
}

uint64_t Enqueue(const std::shared_ptr<Stream>& stream, Stream::Work work) {
  std::vector<std::pair<std::shared_ptr<Stream>, uint64_t>> pending;
  for (auto& other : ImplicitPredecessors(stream)) {
    uint64_t ticket = other->LastTicket();
    if (!other->Done(ticket)) pending.emplace_back(other, ticket);
  }
  if (pending.empty()) return stream->Submit(std::move(work));
  return stream->Submit([pending = std::move(pending), work = std::move(work)] {
    for (auto& [other, ticket] : pending) other->Wait(ticket);
    work();
  });
}

Error CreateStream(StreamHandle* out, unsigned flags, int priority) {
  *out = Streams().Add(Stream::Create(CurrentOrPrimaryContext(), flags, priority));
  return kSuccess;
}

Error DestroyStream(StreamHandle handle) {
  auto stream = Streams().Remove(handle);
  if (!stream) return kInvalidHandle;
  stream->Retire();
  return kSuccess;
}

Error SynchronizeStream(StreamHandle handle) {
  auto stream = StreamFromHandle(handle);
  if (!stream) return kInvalidHandle;
  stream->Wait(IsNullStream(handle) ? Enqueue(stream, [] {}) : stream->LastTicket());
  return kSuccess;
}

Error QueryStream(StreamHandle handle) {
  auto stream = StreamFromHandle(handle);
  if (!stream) return kInvalidHandle;
  return stream->Done(stream->LastTicket()) ? kSuccess : kNotReady;
}

Error SynchronizeContext(Context* context) {
  std::vector<std::shared_ptr<Stream>> all;
  {
    std::lock_guard<std::mutex> lock(context->mutex);
    for (auto& weak : context->streams)
      if (auto stream = weak.lock()) all.push_back(stream);
  }
  for (auto& stream : all) stream->Wait(stream->LastTicket());
  return kSuccess;
}

}  // namespace chokepoint::softgpu
