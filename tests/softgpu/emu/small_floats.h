// The floating point types that C++ does not have, as NCCL's device code computes with them: in
// float, rounded to even. It must not be used where exactness of float32 or float64 matters: those
// are computed natively.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace chokepoint::softgpu::emu {

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
struct Float8E4M3 {
  uint8_t bits;
};
struct Float8E5M2 {
  uint8_t bits;
};

template <class T>
inline constexpr bool kIsSmallFloat = false;
template <>
inline constexpr bool kIsSmallFloat<Half> = true;
template <>
inline constexpr bool kIsSmallFloat<BFloat16> = true;
template <>
inline constexpr bool kIsSmallFloat<Float8E4M3> = true;
template <>
inline constexpr bool kIsSmallFloat<Float8E5M2> = true;

inline float FloatFromBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint32_t BitsOfFloat(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// An 8-bit float. kFiniteOnly: no infinities, a single NaN pattern (e4m3fn).
template <int kExponentBits, int kMantissaBits, bool kFiniteOnly>
struct Float8Format {
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr uint32_t kMaxExponent = (1u << kExponentBits) - 1;
  static constexpr uint32_t kImplicitOne = 1u << kMantissaBits;
  static constexpr uint32_t kMantissaMask = kImplicitOne - 1;
  static constexpr uint32_t kInfinity = kMaxExponent << kMantissaBits;
  static constexpr uint32_t kNan =
      kFiniteOnly ? (kInfinity | kMantissaMask) : (kInfinity | (1u << (kMantissaBits - 1)));
  static constexpr uint32_t kMaxFinite = kFiniteOnly ? kNan - 1 : kInfinity - 1;

  static float ToFloat(uint32_t bits) {
    const bool negative = ((bits >> (kExponentBits + kMantissaBits)) & 1) != 0;
    const uint32_t exponent = (bits >> kMantissaBits) & kMaxExponent;
    const uint32_t mantissa = bits & kMantissaMask;
    float value;
    if (exponent == kMaxExponent && !kFiniteOnly) {
      value = mantissa != 0 ? std::numeric_limits<float>::quiet_NaN()
                            : std::numeric_limits<float>::infinity();
    } else if (kFiniteOnly && (exponent == kMaxExponent) && mantissa == kMantissaMask) {
      value = std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == 0) {
      value = ldexpf(static_cast<float>(mantissa), 1 - kBias - kMantissaBits);
    } else {
      value = ldexpf(static_cast<float>(mantissa | kImplicitOne),
                     static_cast<int>(exponent) - kBias - kMantissaBits);
    }
    return negative ? -value : value;
  }

  // Too large values become the largest finite one.
  static uint8_t FromFloatSaturating(float value) {
    const uint32_t sign = (BitsOfFloat(value) >> 31) << (kExponentBits + kMantissaBits);
    return static_cast<uint8_t>(sign | MagnitudeBits(value));
  }

 private:
  static uint32_t MagnitudeBits(float value) {
    if (std::isnan(value)) return kNan;
    const float magnitude = std::fabs(value);
    if (std::isinf(magnitude)) return kMaxFinite;
    if (magnitude == 0) return 0;
    int exponent = 0;
    frexpf(magnitude, &exponent);
    exponent -= 1;  // magnitude = 1.x * 2^exponent
    const int last_kept_bit = std::max(exponent, 1 - kBias) - kMantissaBits;
    const auto rounded = static_cast<uint32_t>(nearbyintf(ldexpf(magnitude, -last_kept_bit)));
    // Below the normal range a carry into the exponent is right by itself.
    const uint32_t bits =
        exponent < 1 - kBias
            ? rounded
            : (static_cast<uint32_t>(exponent + kBias) << kMantissaBits) + (rounded - kImplicitOne);
    return std::min(bits, kMaxFinite);
  }
};
using E4M3Format = Float8Format<4, 3, true>;
using E5M2Format = Float8Format<5, 2, false>;

inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 31;
  const uint32_t mantissa = half & 0x3ff;
  if (exponent == 31) return FloatFromBits(sign | 0x7f800000 | (mantissa << 13));
  if (exponent != 0) return FloatFromBits(sign | ((exponent + 112) << 23) | (mantissa << 13));
  constexpr float kSmallestHalf = 5.9604644775390625e-8f;
  return FloatFromBits(sign | BitsOfFloat(static_cast<float>(mantissa) * kSmallestHalf));
}

inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = BitsOfFloat(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7fff);   // NaN
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7c00);  // 65536 and more
  if (magnitude < 0x38800000) {                                              // below 2^-14
    const float units = FloatFromBits(magnitude) * 16777216.0f;              // of 2^-24
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(nearbyintf(units)));
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);  // may reach infinity
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

inline float ToFloat(Half x) { return HalfToFloat(x.bits); }
inline float ToFloat(BFloat16 x) { return FloatFromBits(static_cast<uint32_t>(x.bits) << 16); }
inline float ToFloat(Float8E4M3 x) { return E4M3Format::ToFloat(x.bits); }
inline float ToFloat(Float8E5M2 x) { return E5M2Format::ToFloat(x.bits); }

template <class T>
T FromFloat(float value);
template <>
inline Half FromFloat<Half>(float value) {
  return {FloatToHalf(value)};
}
template <>
inline BFloat16 FromFloat<BFloat16>(float value) {
  const uint32_t bits = BitsOfFloat(value);
  if (std::isnan(value)) return {0x7fff};
  return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}
// The device code computes 8-bit floats in half precision, then saturates.
template <>
inline Float8E4M3 FromFloat<Float8E4M3>(float value) {
  return {E4M3Format::FromFloatSaturating(HalfToFloat(FloatToHalf(value)))};
}
template <>
inline Float8E5M2 FromFloat<Float8E5M2>(float value) {
  return {E5M2Format::FromFloatSaturating(HalfToFloat(FloatToHalf(value)))};
}

}  // namespace chokepoint::softgpu::emu
