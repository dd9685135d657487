// Runs NCCL's device kernels on the CPU: what the rest of the software GPU sees of the emulator.
// It must not depend on the fake CUDA runtime, so that it can be tested alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace chokepoint::softgpu::emu {

// Whether a kernel of this (possibly mangled) name is one that can be run.
bool KnowsKernel(const std::string& name);

// Runs a kernel to its end, on the calling thread unless SOFTGPU_EMU_THREADS says otherwise. It
// blocks for as long as peers and proxies need: each stream must have a thread of its own. `args`
// must not change meanwhile.
void RunKernel(const std::string& name, const void* args, size_t args_bytes, unsigned grid);

// Version code (e.g. 22809) of the NCCL library whose layouts are used: $SOFTGPU_NCCL_VERSION, else
// what the loaded library says.
int NcclVersion();
// Whether that version's layouts are known. A version that was set by hand always is: it gets the
// nearest ones.
bool NcclVersionIsUsable();

// The name of a device function ("AllReduce Sum f32 RING LL"), empty if the id is out of range.
std::string FunctionName(int function_id);
int FunctionCount();

}  // namespace chokepoint::softgpu::emu
