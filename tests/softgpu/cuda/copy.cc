// Copies by memcpy on the stream's thread, with CUDA's rules for memory of the program's own.
// It must not read a pageable source after the call has returned.
#include "tests/softgpu/cuda/copy.h"

#include <cstring>
#include <vector>

#include "tests/softgpu/cuda/memory.h"
#include "tests/softgpu/cuda/stream.h"

namespace chokepoint::softgpu {

// CUDA's rules for pageable memory: such a source is read before the call returns, such a
// destination is written before it. NCCL relies on this: it copies from variables on the stack.
Error CopyAsync(void* to, const void* from, size_t bytes, StreamHandle handle) {
  auto stream = StreamFromHandle(handle);
  if (!stream) return kInvalidHandle;
  if (!bytes) return kSuccess;
  if (!FindAllocation(from)) {
    auto staged = std::make_shared<std::vector<char>>(static_cast<const char*>(from),
                                                      static_cast<const char*>(from) + bytes);
    Enqueue(stream, [=] { memcpy(to, staged->data(), bytes); });
    return kSuccess;
  }
  uint64_t ticket = Enqueue(stream, [=] { memmove(to, from, bytes); });
  if (!FindAllocation(to)) stream->Wait(ticket);
  return kSuccess;
}

Error CopySync(void* to, const void* from, size_t bytes) {
  auto stream = StreamFromHandle(nullptr);
  if (bytes) stream->Wait(Enqueue(stream, [=] { memmove(to, from, bytes); }));
  return kSuccess;
}

Error FillAsync(void* to, int byte, size_t bytes, StreamHandle handle) {
  auto stream = StreamFromHandle(handle);
  if (!stream) return kInvalidHandle;
  if (bytes) Enqueue(stream, [=] { memset(to, byte, bytes); });
  return kSuccess;
}

Error FillSync(void* to, int byte, size_t bytes) {
  auto stream = StreamFromHandle(nullptr);
  if (bytes) stream->Wait(Enqueue(stream, [=] { memset(to, byte, bytes); }));
  return kSuccess;
}

Error CallHostFunction(StreamHandle handle, HostFunction function, void* argument) {
  auto stream = StreamFromHandle(handle);
  if (!stream) return kInvalidHandle;
  Enqueue(stream, [=] { function(argument); });
  return kSuccess;
}

}  // namespace chokepoint::softgpu
