// Puts parameters where a device would see them, with sizes from the kernel's mangled name.
// It must not guess the size of a type that it does not know.
#include "tests/softgpu/cuda/kernel_parameters.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace chokepoint::softgpu {
namespace {

// The text between a function's outermost last parentheses: "f<g(int)>(A, B)" -> "A, B".
bool ParameterList(const std::string& demangled, std::string* out) {
  size_t close = demangled.rfind(')');
  if (close == std::string::npos) return false;
  int depth = 0;
  for (size_t i = close + 1; i-- > 0;) {
    if (demangled[i] == ')') depth++;
    if (demangled[i] == '(' && --depth == 0) {
      *out = demangled.substr(i + 1, close - i - 1);
      return true;
    }
  }
  return false;
}

// 0 if the type is none of those that NCCL's kernels have.
size_t TypeSize(const std::string& type) {
  auto has = [&](const char* word) { return type.find(word) != std::string::npos; };
  unsigned long bytes = 0;
  if (has("*") || has("long")) return 8;
  if (sscanf(type.c_str(), " ncclDevKernelArgsStorage<%lu", &bytes) == 1) return bytes;
  if (has("int")) return 4;
  if (has("bool") || has("char")) return 1;
  return 0;
}

bool ParameterSizes(const std::string& kernel_name, std::vector<size_t>* sizes) {
  size_t start = kernel_name.find("_Z");  // kernels of static functions have a prefix in front
  if (start == std::string::npos) return false;
  int status = 0;
  char* text = abi::__cxa_demangle(kernel_name.c_str() + start, nullptr, nullptr, &status);
  if (!text) return false;
  std::string list, one;
  bool found = ParameterList(text, &list);
  free(text);
  if (!found) return false;
  int depth = 0;
  for (char c : list + ",") {
    if (c == '<' || c == '(') depth++;
    if (c == '>' || c == ')') depth--;
    if (c != ',' || depth) {
      one += c;
      continue;
    }
    sizes->push_back(TypeSize(one));
    if (!sizes->back()) return false;
    one.clear();
  }
  return true;
}

}  // namespace

Error PackedParameters(void** extra, std::vector<char>* out) {
  const char* buffer = nullptr;
  size_t size = 0;
  for (void** e = extra; *e != kLaunchParamEnd; e += 2) {
    if (*e == kLaunchParamBufferPointer) {
      buffer = static_cast<const char*>(e[1]);
    } else if (*e == kLaunchParamBufferSize) {
      size = *static_cast<const size_t*>(e[1]);
    } else {
      return kInvalidValue;
    }
  }
  if (!buffer) return kInvalidValue;
  out->assign(buffer, buffer + size);
  return kSuccess;
}

Error PackParameters(const std::string& kernel_name, void** parameters, std::vector<char>* out) {
  std::vector<size_t> sizes;
  if (!parameters || !ParameterSizes(kernel_name, &sizes)) return kNotSupported;
  for (size_t i = 0; i < sizes.size(); i++) {
    size_t align = sizes[i] > 8 ? 16 : sizes[i];
    size_t at = (out->size() + align - 1) / align * align;
    out->resize(at + sizes[i]);
    memcpy(out->data() + at, parameters[i], sizes[i]);
  }
  return kSuccess;
}

}  // namespace chokepoint::softgpu
