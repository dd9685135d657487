#include "tests/softgpu/cuda/copy.h"

#include <cstring>
#include <vector>

#include "tests/softgpu/cuda/memory.h"
#include "tests/softgpu/cuda/stream.h"

namespace softgpu {

// CUDA's rules for pageable memory: such a source is read before the call returns, such a destination is written
// before it.  NCCL relies on this: it copies from variables on the stack.
Error copyAsync(void *to, const void *from, size_t bytes, StreamHandle handle) {
  auto stream = streamFromHandle(handle);
  if (!stream) return kInvalidHandle;
  if (!bytes) return kSuccess;
  if (!findAllocation(from)) {
    auto staged = std::make_shared<std::vector<char>>((const char *)from, (const char *)from + bytes);
    enqueue(stream, [=] { memcpy(to, staged->data(), bytes); });
    return kSuccess;
  }
  uint64_t ticket = enqueue(stream, [=] { memmove(to, from, bytes); });
  if (!findAllocation(to)) stream->wait(ticket);
  return kSuccess;
}

Error copySync(void *to, const void *from, size_t bytes) {
  auto stream = streamFromHandle(nullptr);
  if (bytes) stream->wait(enqueue(stream, [=] { memmove(to, from, bytes); }));
  return kSuccess;
}

Error fillAsync(void *to, int byte, size_t bytes, StreamHandle handle) {
  auto stream = streamFromHandle(handle);
  if (!stream) return kInvalidHandle;
  if (bytes) enqueue(stream, [=] { memset(to, byte, bytes); });
  return kSuccess;
}

Error fillSync(void *to, int byte, size_t bytes) {
  auto stream = streamFromHandle(nullptr);
  if (bytes) stream->wait(enqueue(stream, [=] { memset(to, byte, bytes); }));
  return kSuccess;
}

Error callHostFunction(StreamHandle handle, HostFunction function, void *argument) {
  auto stream = streamFromHandle(handle);
  if (!stream) return kInvalidHandle;
  enqueue(stream, [=] { function(argument); });
  return kSuccess;
}

}  // namespace softgpu
