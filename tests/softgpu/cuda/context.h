// CUDA contexts and which one a thread uses.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "tests/softgpu/cuda/cuda_types.h"

namespace softgpu {

class Stream;

struct Context {
  int device = 0;
  unsigned flags = 0;
  std::mutex mutex;
  std::shared_ptr<Stream> nullStream;
  std::vector<std::weak_ptr<Stream>> streams;
};

Context *primaryContext(int device);
Context *newContext(int device, unsigned flags);
// The calling thread's context; NULL if it has not used CUDA yet.
Context *currentContext();
// The same, but the primary context of device 0 becomes current if there was none: the runtime's rule.
Context *currentOrPrimaryContext();
void setCurrentContext(Context *context);
bool pushContext(Context *context);
Context *popContext();

}  // namespace softgpu
