#include "tests/softgpu/emu/reduce.h"
#include "tests/softgpu/emu/functab.h"
#include <string.h>
#include <math.h>
#include <algorithm>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
namespace emu {
namespace {
// ---- small floats as structs with conversions to float
inline float bitsToF(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
inline uint32_t fToBits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }

// Minifloat <-> float, round to nearest even. E exponent bits, M mantissa bits.
template <int E, int M, bool FiniteOnly /* e4m3fn */>
struct Mini {
  static constexpr int bias = (1 << (E - 1)) - 1;
  static float toF(uint32_t b) {
    uint32_t s = (b >> (E + M)) & 1, e = (b >> M) & ((1 << E) - 1), m = b & ((1 << M) - 1);
    float r;
    if (e == (1u << E) - 1 && !FiniteOnly) r = m ? NAN : INFINITY;
    else if (FiniteOnly && e == (1u << E) - 1 && m == (1u << M) - 1) r = NAN;
    else if (e == 0) r = ldexpf((float)m, 1 - bias - M);
    else r = ldexpf((float)(m | (1u << M)), (int)e - bias - M);
    return s ? -r : r;
  }
  static uint32_t fromF(float f, bool saturate) {
    uint32_t s = fToBits(f) >> 31;
    uint32_t sign = s << (E + M);
    const uint32_t maxExp = (1u << E) - 1;
    const uint32_t inf = maxExp << M;
    const uint32_t nan = FiniteOnly ? (inf | ((1u << M) - 1)) : (inf | (1u << (M - 1)));
    const uint32_t maxFinite = FiniteOnly ? nan - 1 : inf - 1;
    if (f != f) return sign | nan;
    f = fabsf(f);
    if (isinf(f)) return sign | (saturate ? maxFinite : FiniteOnly ? nan : inf);
    int e; frexpf(f, &e); e -= 1;  // f = 1.x * 2^e
    if (f == 0) return sign;
    int q = std::max(e, 1 - bias) - M;  // weight of the last kept bit
    float scaled = ldexpf(f, -q);       // exact
    uint32_t n = (uint32_t)nearbyintf(scaled);
    uint32_t bits;
    if (e < 1 - bias) bits = n;  // subnormal; a carry into the exponent is right by itself
    else bits = ((uint32_t)(e + bias) << M) + (n - (1u << M));
    if (bits > maxFinite) bits = saturate ? maxFinite : FiniteOnly ? nan : inf;
    return sign | bits;
  }
};
struct F16 { uint16_t b; };
struct BF16 { uint16_t b; };
struct E4M3 { uint8_t b; };
struct E5M2 { uint8_t b; };
inline float halfToF(uint16_t h) {
  uint32_t s = (uint32_t)(h & 0x8000) << 16, e = (h >> 10) & 31, m = h & 0x3ff;
  if (e == 31) return bitsToF(s | 0x7f800000 | (m << 13));
  if (e) return bitsToF(s | ((e + 112) << 23) | (m << 13));
  float r = (float)m * 5.9604644775390625e-8f;
  return bitsToF(s | fToBits(r));
}
inline uint16_t fToHalf(float f) {
  uint32_t u = fToBits(f), s = (u >> 16) & 0x8000, a = u & 0x7fffffff;
  if (a > 0x7f800000) return s | 0x7fff;
  if (a >= 0x47800000) return s | 0x7c00;             // >= 65536 (or inf)
  if (a < 0x38800000) {                                // below 2^-14
    float r = bitsToF(a) * 16777216.0f;                // units of 2^-24
    return s | (uint16_t)nearbyintf(r);
  }
  uint32_t r = a + 0xfff + ((a >> 13) & 1);
  return s | (uint16_t)((r - 0x38000000) >> 13);       // may round up to inf
}
inline float ld(F16 x) { return halfToF(x.b); }
inline float ld(BF16 x) { return bitsToF((uint32_t)x.b << 16); }
inline float ld(E4M3 x) { return Mini<4, 3, true>::toF(x.b); }
inline float ld(E5M2 x) { return Mini<5, 2, false>::toF(x.b); }
inline void st(F16& d, float f) { d.b = fToHalf(f); }
inline void st(BF16& d, float f) {
  uint32_t u = fToBits(f);
  d.b = (f != f) ? 0x7fff : (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
// The device code adds fp8 in half precision, then saturates.
inline void st(E4M3& d, float f) { d.b = Mini<4, 3, true>::fromF(halfToF(fToHalf(f)), true); }
inline void st(E5M2& d, float f) { d.b = Mini<5, 2, false>::fromF(halfToF(fToHalf(f)), true); }

template <class T> inline T get(const void* p, size_t i) { T t; memcpy(&t, (const char*)p + i * sizeof(T), sizeof(T)); return t; }
template <class T> inline void put(void* p, size_t i, T t) { memcpy((char*)p + i * sizeof(T), &t, sizeof(T)); }

template <class T> struct Small { static constexpr bool v = false; };
template <> struct Small<F16> { static constexpr bool v = true; };
template <> struct Small<BF16> { static constexpr bool v = true; };
template <> struct Small<E4M3> { static constexpr bool v = true; };
template <> struct Small<E5M2> { static constexpr bool v = true; };
template <class T> struct IsInt { static constexpr bool v = std::is_integral<T>::value; };

template <class T, class F>
inline void zip(void* acc, const void* x, size_t n, F f) {
  if constexpr (Small<T>::v) {
    for (size_t i = 0; i < n; i++) { T r; st(r, f(ld(get<T>(acc, i)), ld(get<T>(x, i)))); put<T>(acc, i, r); }
  } else {
    for (size_t i = 0; i < n; i++) put<T>(acc, i, (T)f(get<T>(acc, i), get<T>(x, i)));
  }
}

template <class T>
void combine(const Op& op, void* acc, const void* x, size_t n) {
  switch (op.redop) {
    case kSum: case kPreMulSum: case kSumPostDiv: zip<T>(acc, x, n, [](auto a, auto b) { return a + b; }); return;
    case kProd: zip<T>(acc, x, n, [](auto a, auto b) { return a * b; }); return;
    case kMinMax:
      if constexpr (IsInt<T>::v) {
        T mask = (T)op.arg;
        zip<T>(acc, x, n, [mask](T a, T b) -> T { return (T)(a ^ mask) < (T)(b ^ mask) ? a : b; });
      } else if (op.arg & 1) zip<T>(acc, x, n, [](auto a, auto b) { return std::fmax(a, b); });
      else zip<T>(acc, x, n, [](auto a, auto b) { return std::fmin(a, b); });
      return;
    default: return;  // copy: keep acc
  }
}

template <class T>
void preOp(const Op& op, void* x, size_t n) {
  if (op.redop != kPreMulSum) return;
  T s; memcpy(&s, &op.arg, sizeof(T));
  if constexpr (Small<T>::v) {
    float fs = ld(s);
    for (size_t i = 0; i < n; i++) { T r; st(r, ld(get<T>(x, i)) * fs); put<T>(x, i, r); }
  } else {
    for (size_t i = 0; i < n; i++) put<T>(x, i, (T)(get<T>(x, i) * s));
  }
}

template <class T>
void postOp(const Op& op, void* x, size_t n) {
  if (op.redop != kSumPostDiv) return;
  if constexpr (IsInt<T>::v) {
    using ST = typename std::make_signed<T>::type;
    uint32_t div = (uint32_t)(op.arg >> 1);
    if (!div) return;
    if (op.arg & 1) for (size_t i = 0; i < n; i++) put<ST>(x, i, (ST)((int64_t)get<ST>(x, i) / (int64_t)div));
    else for (size_t i = 0; i < n; i++) put<T>(x, i, (T)(get<T>(x, i) / div));
  }
}

template <class T>
void run(const Op& op, bool pre, bool post, int ns, void* const* srcs, int nd, void* const* dsts, size_t n) {
  alignas(64) char acc[8192];
  const size_t tile = sizeof(acc) / sizeof(T);
  for (size_t i = 0; i < n; i += tile) {
    size_t k = std::min(tile, n - i), off = i * sizeof(T);
    memcpy(acc, (char*)srcs[0] + off, k * sizeof(T));
    if (pre) preOp<T>(op, acc, k);
    for (int s = 1; s < ns; s++) combine<T>(op, acc, (char*)srcs[s] + off, k);
    if (post) postOp<T>(op, acc, k);
    for (int d = 0; d < nd; d++) memcpy((char*)dsts[d] + off, acc, k * sizeof(T));
  }
}
}  // namespace

void reduceCopy(const Op& op, bool pre, bool post, int ns, void* const* srcs, int nd, void* const* dsts, size_t n) {
  if (n == 0 || nd == 0 || ns == 0) return;
  pre = pre && op.redop == kPreMulSum;
  post = post && op.redop == kSumPostDiv;
  if (ns == 1 && !pre && !post) {
    size_t bytes = n * op.es;
    // Only exact aliasing happens (in place); go through a tile if a destination is the source.
    for (int d = 0; d < nd; d++) if (dsts[d] != srcs[0]) memmove(dsts[d], srcs[0], bytes);
    return;
  }
  switch (op.type) {  // signed integers run as unsigned, like on the device
    case kI8: case kU8: run<uint8_t>(op, pre, post, ns, srcs, nd, dsts, n); break;
    case kI32: case kU32: run<uint32_t>(op, pre, post, ns, srcs, nd, dsts, n); break;
    case kI64: case kU64: run<uint64_t>(op, pre, post, ns, srcs, nd, dsts, n); break;
    case kF16: run<F16>(op, pre, post, ns, srcs, nd, dsts, n); break;
    case kF32: run<float>(op, pre, post, ns, srcs, nd, dsts, n); break;
    case kF64: run<double>(op, pre, post, ns, srcs, nd, dsts, n); break;
    case kBF16: run<BF16>(op, pre, post, ns, srcs, nd, dsts, n); break;
    case kF8E4M3: run<E4M3>(op, pre, post, ns, srcs, nd, dsts, n); break;
    case kF8E5M2: run<E5M2>(op, pre, post, ns, srcs, nd, dsts, n); break;
  }
}
}  // namespace emu
