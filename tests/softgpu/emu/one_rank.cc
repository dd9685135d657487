// oneRankReduce<FuncPreMulSum<T>>(void* destination, void* source, size_t elements, uint64_t
// argument, bool is_pointer): the type is read from the mangled name. It must not touch
// connections: there are none.
#include "tests/softgpu/emu/one_rank.h"

#include <cstring>

#include "tests/softgpu/emu/arithmetic.h"
#include "tests/softgpu/emu/emulator_settings.h"
#include "tests/softgpu/emu/function_table.h"
#include "tests/softgpu/emu/layout.h"

namespace chokepoint::softgpu::emu {
namespace {

constexpr size_t kArgsBytes = 33;

struct MangledType {
  const char* text;
  int type;
};
constexpr MangledType kMangledTypes[] = {
    {"FuncPreMulSumI13__nv_bfloat16", kBF16},
    {"FuncPreMulSumI6__half", kF16},
    {"FuncPreMulSumI13__nv_fp8_e4m3", kF8E4M3},
    {"FuncPreMulSumI13__nv_fp8_e5m2", kF8E5M2},
    {"FuncPreMulSumIa", kI8},
    {"FuncPreMulSumIh", kU8},
    {"FuncPreMulSumIi", kI32},
    {"FuncPreMulSumIj", kU32},
    {"FuncPreMulSumIl", kI64},
    {"FuncPreMulSumIm", kU64},
    {"FuncPreMulSumIf", kF32},
    {"FuncPreMulSumId", kF64},
};

}  // namespace

bool IsOneRankKernel(const std::string& name) {
  return name.find("oneRankReduce") != std::string::npos;
}

void RunOneRankKernel(const std::string& name, const void* args, size_t args_bytes) {
  if (args_bytes < kArgsBytes) return ReportNotRun("parameter buffer too small for " + name);
  for (const MangledType& mangled : kMangledTypes) {
    if (name.find(mangled.text) == std::string::npos) continue;
    void* const destination = ReadAt<void*>(args, 0);
    void* const source = ReadAt<void*>(args, 8);
    Operation operation{kPreMulSum, mangled.type, ReadAt<uint64_t>(args, 24),
                        BytesOf(mangled.type)};
    if (ReadAt<bool>(args, 32)) {
      const void* const pointer = reinterpret_cast<void*>(operation.argument);
      operation.argument = 0;
      memcpy(&operation.argument, pointer, static_cast<size_t>(operation.element_bytes));
    }
    ReduceCopy(operation, {.pre = true,
                           .post = true,
                           .sources = 1,
                           .source = &source,
                           .destinations = 1,
                           .destination = &destination,
                           .elements = ReadAt<int64_t>(args, 16)});
    return;
  }
  ReportNotRun("unknown type in kernel " + name);
}

}  // namespace chokepoint::softgpu::emu
