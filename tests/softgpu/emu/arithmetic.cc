// Reductions in tiles: a tile of the first source is combined with the same tile of each other
// source. It must not be changed in its order of operations: results are compared bit for bit.
#include "tests/softgpu/emu/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "tests/softgpu/emu/function_table.h"
#include "tests/softgpu/emu/small_floats.h"

namespace chokepoint::softgpu::emu {
namespace {

constexpr size_t kTileBytes = 8192;

// Element access without assumptions about alignment.
template <class T>
T Load(const void* base, size_t index) {
  T value;
  memcpy(&value, static_cast<const char*>(base) + index * sizeof(T), sizeof(T));
  return value;
}
template <class T>
void Store(void* base, size_t index, T value) {
  memcpy(static_cast<char*>(base) + index * sizeof(T), &value, sizeof(T));
}

// total[i] = combine(total[i], other[i])
template <class T, class Combine>
void Zip(void* total, const void* other, size_t count, Combine combine) {
  for (size_t i = 0; i < count; i++) {
    const T a = Load<T>(total, i);
    const T b = Load<T>(other, i);
    if constexpr (kIsSmallFloat<T>) {
      Store(total, i, FromFloat<T>(combine(ToFloat(a), ToFloat(b))));
    } else {
      Store(total, i, static_cast<T>(combine(a, b)));
    }
  }
}

// Minimum and maximum are one operation: integers are compared with a mask, which inverts the
// order; floats have a bit that says which.
template <class T>
void MinMax(uint64_t argument, void* total, const void* other, size_t count) {
  if constexpr (std::is_integral_v<T>) {
    const T mask = static_cast<T>(argument);
    Zip<T>(total, other, count, [mask](T a, T b) {
      return static_cast<T>(a ^ mask) < static_cast<T>(b ^ mask) ? a : b;
    });
  } else if ((argument & 1) != 0) {
    Zip<T>(total, other, count, [](auto a, auto b) { return std::fmax(a, b); });
  } else {
    Zip<T>(total, other, count, [](auto a, auto b) { return std::fmin(a, b); });
  }
}

template <class T>
void Combine(const Operation& operation, void* total, const void* other, size_t count) {
  switch (operation.reduction) {
    case kSum:
    case kPreMulSum:
    case kSumPostDiv:
      Zip<T>(total, other, count, [](auto a, auto b) { return a + b; });
      return;
    case kProd:
      Zip<T>(total, other, count, [](auto a, auto b) { return a * b; });
      return;
    case kMinMax:
      MinMax<T>(operation.argument, total, other, count);
      return;
    default:
      return;  // a copy keeps what it has
  }
}

template <class T>
void Premultiply(uint64_t argument, void* data, size_t count) {
  T factor;
  memcpy(&factor, &argument, sizeof(T));
  for (size_t i = 0; i < count; i++) {
    const T value = Load<T>(data, i);
    if constexpr (kIsSmallFloat<T>) {
      Store(data, i, FromFloat<T>(ToFloat(value) * ToFloat(factor)));
    } else {
      Store(data, i, static_cast<T>(value * factor));
    }
  }
}

// The argument is the divisor, with a lowest bit that says whether the integers are signed.
template <class T>
void Divide(uint64_t argument, void* data, size_t count) {
  if constexpr (std::is_integral_v<T>) {
    using Signed = std::make_signed_t<T>;
    const auto divisor = static_cast<uint32_t>(argument >> 1);
    const bool is_signed = (argument & 1) != 0;
    if (divisor == 0) return;
    for (size_t i = 0; i < count; i++) {
      if (is_signed) {
        const int64_t quotient = static_cast<int64_t>(Load<Signed>(data, i)) / divisor;
        Store(data, i, static_cast<Signed>(quotient));
      } else {
        Store(data, i, static_cast<T>(Load<T>(data, i) / divisor));
      }
    }
  }
}

template <class T>
void Run(const Operation& operation, const ReduceCopyArgs& args) {
  alignas(64) char tile[kTileBytes];
  constexpr size_t kTileElements = kTileBytes / sizeof(T);
  const auto elements = static_cast<size_t>(args.elements);
  for (size_t first = 0; first < elements; first += kTileElements) {
    const size_t count = std::min(kTileElements, elements - first);
    const size_t offset = first * sizeof(T);
    memcpy(tile, static_cast<char*>(args.source[0]) + offset, count * sizeof(T));
    if (args.pre && operation.reduction == kPreMulSum) {
      Premultiply<T>(operation.argument, tile, count);
    }
    for (int s = 1; s < args.sources; s++) {
      Combine<T>(operation, tile, static_cast<char*>(args.source[s]) + offset, count);
    }
    if (args.post && operation.reduction == kSumPostDiv) {
      Divide<T>(operation.argument, tile, count);
    }
    for (int d = 0; d < args.destinations; d++) {
      memcpy(static_cast<char*>(args.destination[d]) + offset, tile, count * sizeof(T));
    }
  }
}

bool IsPlainCopy(const Operation& operation, const ReduceCopyArgs& args) {
  const bool multiplies = args.pre && operation.reduction == kPreMulSum;
  const bool divides = args.post && operation.reduction == kSumPostDiv;
  return args.sources == 1 && !multiplies && !divides;
}

}  // namespace

void ReduceCopy(const Operation& operation, const ReduceCopyArgs& args) {
  if (args.elements == 0 || args.destinations == 0 || args.sources == 0) return;
  if (IsPlainCopy(operation, args)) {
    const auto bytes = static_cast<size_t>(args.elements * operation.element_bytes);
    for (int d = 0; d < args.destinations; d++) {
      if (args.destination[d] != args.source[0])
        memmove(args.destination[d], args.source[0], bytes);
    }
    return;
  }
  switch (operation.type) {  // signed integers are computed as unsigned, as on the device
    case kI8:
    case kU8:
      return Run<uint8_t>(operation, args);
    case kI32:
    case kU32:
      return Run<uint32_t>(operation, args);
    case kI64:
    case kU64:
      return Run<uint64_t>(operation, args);
    case kF16:
      return Run<Half>(operation, args);
    case kF32:
      return Run<float>(operation, args);
    case kF64:
      return Run<double>(operation, args);
    case kBF16:
      return Run<BFloat16>(operation, args);
    case kF8E4M3:
      return Run<Float8E4M3>(operation, args);
    case kF8E5M2:
      return Run<Float8E5M2>(operation, args);
    default:
      return;
  }
}

}  // namespace chokepoint::softgpu::emu
