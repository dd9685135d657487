// Streams: in-order queues, each with one worker thread.
// It must not know what the work is.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "tests/softgpu/cuda/context.h"
#include "tests/softgpu/cuda/cuda_types.h"

namespace chokepoint::softgpu {

// Work is numbered; "ticket n is done" is the only notion of completion, so an event is just
// (stream, ticket).
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  using Work = std::function<void()>;
  static std::shared_ptr<Stream> Create(Context* context, unsigned flags, int priority);

  uint64_t Submit(Work work);
  void Wait(uint64_t ticket);
  bool Done(uint64_t ticket);
  uint64_t LastTicket();
  void Retire();  // the worker ends once the queue is empty

  Context* const context;
  const unsigned flags;
  const int priority;
  const uint64_t id;

 private:
  Stream(Context* context, unsigned flags, int priority);
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  std::deque<Work> queue_;
  uint64_t submitted_ = 0, completed_ = 0;
  bool started_ = false, retired_ = false;
};

// Handles 0, 1 and 2 (NULL, legacy, per-thread) all mean the current context's NULL stream.
std::shared_ptr<Stream> StreamFromHandle(StreamHandle handle);
// Submits with the NULL stream's rule: it waits for all blocking streams, and they wait for it.
uint64_t Enqueue(const std::shared_ptr<Stream>& stream, Stream::Work work);

Error CreateStream(StreamHandle* out, unsigned flags, int priority);
Error DestroyStream(StreamHandle handle);
Error SynchronizeStream(StreamHandle handle);
Error QueryStream(StreamHandle handle);
Error SynchronizeContext(Context* context);

}  // namespace chokepoint::softgpu
