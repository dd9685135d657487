// Gets control whenever a shared object has been loaded, before its constructors run.
// It must not do anything if no new object is there: it is called for each of them.
//
// The start-up code that compilers put into every shared object (crti.o's _init) calls the weak
// symbol __gmon_start__ if anybody defines it; profilers use that. The loader runs _init before
// the object's other constructors, both at program start and in dlopen. As softgpu is preloaded,
// the definition here is the one that is found. So libnccl itself tells us that it is there, just
// before the constructors that register its kernels with the CUDA runtime.
#include "tests/softgpu/redirect/entry_points.h"
#include "tests/softgpu/redirect/loaded_images.h"

extern "C" SOFTGPU_EXPORT void __gmon_start__() { chokepoint::softgpu::RedirectNewImages(); }

// For objects whose start-up code does not make that call, and which were loaded at program start.
__attribute__((constructor)) static void OnLoad() { chokepoint::softgpu::RedirectNewImages(); }
