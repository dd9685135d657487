// Streams: in-order queues, each with one worker thread.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "tests/softgpu/cuda/context.h"
#include "tests/softgpu/cuda/cuda_types.h"

namespace softgpu {

// Work is numbered; "ticket n is done" is the only notion of completion, so an event is just (stream, ticket).
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  using Work = std::function<void()>;
  static std::shared_ptr<Stream> create(Context *context, unsigned flags, int priority);

  uint64_t submit(Work work);
  void wait(uint64_t ticket);
  bool done(uint64_t ticket);
  uint64_t lastTicket();
  void retire();  // the worker ends once the queue is empty

  Context *const context;
  const unsigned flags;
  const int priority;
  const uint64_t id;

 private:
  Stream(Context *context, unsigned flags, int priority);
  void run();

  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  std::deque<Work> queue_;
  uint64_t submitted_ = 0, completed_ = 0;
  bool started_ = false, retired_ = false;
};

// Handles 0, 1 and 2 (NULL, legacy, per-thread) all mean the current context's NULL stream.
std::shared_ptr<Stream> streamFromHandle(StreamHandle handle);
// Submits with the NULL stream's rule: it waits for all blocking streams, and they wait for it.
uint64_t enqueue(const std::shared_ptr<Stream> &stream, Stream::Work work);

Error createStream(StreamHandle *out, unsigned flags, int priority);
Error destroyStream(StreamHandle handle);
Error synchronizeStream(StreamHandle handle);
Error queryStream(StreamHandle handle);
Error synchronizeContext(Context *context);

}  // namespace softgpu
