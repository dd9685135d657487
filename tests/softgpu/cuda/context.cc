#include "tests/softgpu/cuda/context.h"

#include "tests/softgpu/cuda/settings.h"

namespace softgpu {
namespace {

// Plain data, so that it outlives thread_local destructors: NCCL still makes runtime calls from exit handlers.
struct ContextStack {
  static constexpr int kMaxDepth = 64;
  Context *item[kMaxDepth];
  int depth;
};
thread_local ContextStack stack;

}  // namespace

Context *primaryContext(int device) {
  static Context *const contexts = [] {
    auto *all = new Context[kMaxDevices];
    for (int i = 0; i < kMaxDevices; i++) all[i].device = i;
    return all;
  }();
  return &contexts[device];
}

Context *newContext(int device, unsigned flags) {
  auto *context = new Context;  // never freed: streams and events may still name it
  context->device = device;
  context->flags = flags;
  return context;
}

Context *currentContext() { return stack.depth ? stack.item[stack.depth - 1] : nullptr; }

Context *currentOrPrimaryContext() {
  if (!currentContext()) setCurrentContext(primaryContext(0));
  return currentContext();
}

void setCurrentContext(Context *context) {
  if (stack.depth) stack.depth--;
  if (context) pushContext(context);
}

bool pushContext(Context *context) {
  if (stack.depth == ContextStack::kMaxDepth) return false;
  stack.item[stack.depth++] = context;
  return true;
}

Context *popContext() { return stack.depth ? stack.item[--stack.depth] : nullptr; }

}  // namespace softgpu
