// Proves that a replaced CUDA runtime does not run.
// It must not be used outside tests of the redirection.
#pragma once

#include <link.h>

#include <vector>

#include "tests/softgpu/redirect/code_patch.h"
#include "tests/softgpu/redirect/image.h"

namespace chokepoint::softgpu {

// Makes the replaced runtime unable to run at all: its internal functions trap. Its constructors
// are made empty, as the loader is about to call them.
void Seal(const Image& image, const dl_phdr_info* info,
          const std::vector<RuntimeFunction>& functions, CodePatch* patch);

}  // namespace chokepoint::softgpu
