// CUDA contexts and which one a thread uses.
// It must not know what is done in a context.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tests/softgpu/cuda/cuda_types.h"

namespace chokepoint::softgpu {

class Stream;

struct Context {
  int device = 0;
  unsigned flags = 0;
  std::mutex mutex;
  std::shared_ptr<Stream> null_stream;
  std::vector<std::weak_ptr<Stream>> streams;
};

Context* PrimaryContext(int device);
Context* NewContext(int device, unsigned flags);
// The calling thread's context; NULL if it has not used CUDA yet.
Context* CurrentContext();
// The same, but the primary context of device 0 becomes current if there was none: the runtime's
// rule.
Context* CurrentOrPrimaryContext();
void SetCurrentContext(Context* context);
bool PushContext(Context* context);
Context* PopContext();

}  // namespace chokepoint::softgpu
