// The primary contexts and each thread's stack of contexts.
// It must not free a context: streams and events may still name it.
#include "tests/softgpu/cuda/context.h"

#include "tests/softgpu/cuda/settings.h"

namespace chokepoint::softgpu {
namespace {

// Plain data, so that it outlives thread_local destructors: NCCL still makes runtime calls from
// exit handlers.
struct ContextStack {
  static constexpr int kMaxDepth = 64;
  Context* item[kMaxDepth];
  int depth;
};
thread_local ContextStack stack;

}  // namespace

Context* PrimaryContext(int device) {
  static Context* const contexts = [] {
    auto* all = new Context[kMaxDevices];
    for (int i = 0; i < kMaxDevices; i++) all[i].device = i;
    return all;
  }();
  return &contexts[device];
}

Context* NewContext(int device, unsigned flags) {
  auto* context = new Context;  // never freed: streams and events may still name it
  context->device = device;
  context->flags = flags;
  return context;
}

Context* CurrentContext() { return stack.depth ? stack.item[stack.depth - 1] : nullptr; }

Context* CurrentOrPrimaryContext() {
  if (!CurrentContext()) SetCurrentContext(PrimaryContext(0));
  return CurrentContext();
}

void SetCurrentContext(Context* context) {
  if (stack.depth) stack.depth--;
  if (context) PushContext(context);
}

bool PushContext(Context* context) {
  if (stack.depth == ContextStack::kMaxDepth) return false;
  stack.item[stack.depth++] = context;
  return true;
}

Context* PopContext() { return stack.depth ? stack.item[--stack.depth] : nullptr; }

}  // namespace chokepoint::softgpu
