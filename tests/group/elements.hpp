// Elements of rows for tests: bits of each type, and values whose sums show their order.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <railwave/dtype.hpp>

#include "group/reference.hpp"

namespace phases {

using reference::Type;

inline railwave::DType dtype_of(Type type) {
  return type == Type::BF16   ? railwave::DType::BF16
         : type == Type::FP16 ? railwave::DType::FP16
                              : railwave::DType::FP32;
}

inline int width_of(Type type) { return type == Type::FP32 ? 4 : 2; }

inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Five small numbers as one.
inline std::uint64_t mix_of(std::uint64_t seed, int a, int b, int c, int h) {
  return mix(seed ^ mix(static_cast<std::uint64_t>(a) << 48 ^ static_cast<std::uint64_t>(b) << 32 ^
                        static_cast<std::uint64_t>(c) << 16 ^ static_cast<std::uint64_t>(h)));
}

/// A finite value of wide range, exact in the type; one in eight is large, so that sums cancel and
/// the order in which they are taken shows. FP16: 11 bits, from 2^-14 on, large is 2^11; else 8
/// bits, large is 2^60.
inline float value_of(Type type, std::uint64_t seed, int a, int b, int c, int h) {
  const std::uint64_t x = mix_of(seed, a, b, c, h);
  const float sign = (x & 0x8000U) != 0 ? -1.0F : 1.0F;
  const bool large = (x >> 32) % 8 == 0;
  const bool half = type == Type::FP16;
  if (large) return std::ldexp(sign, half ? 11 : 60);
  const int bits = half ? 10 : 7;
  const float significand = 1.0F + std::ldexp(static_cast<float>(x & ((1U << bits) - 1)), -bits);
  const int exponent = static_cast<int>((x >> 16) % (half ? 20 : 50)) - (half ? 14 : 27);
  return std::ldexp(sign * significand, exponent);
}

/// The bits of a value that is exact in FP16, from the definition of the format.
inline std::uint16_t fp16_bits(float v) {
  const unsigned sign = std::signbit(v) ? 0x8000U : 0U;
  if (v == 0) return static_cast<std::uint16_t>(sign);
  if (std::isinf(v)) return static_cast<std::uint16_t>(sign | 0x7c00U);
  int exponent = 0;
  const float fraction = std::frexp(std::fabs(v), &exponent);  // [0.5, 1)
  const int field = exponent + 14;
  const float bits = field < 1 ? std::ldexp(std::fabs(v), 24)
                               : static_cast<float>(field) * 1024 + (fraction * 2 - 1) * 1024;
  return static_cast<std::uint16_t>(sign | static_cast<unsigned>(bits));
}

/// Writes element h of a row: a value that is exact in the type.
inline void store(std::byte* row, int h, float v, Type type) {
  std::uint32_t bits;
  std::memcpy(&bits, &v, 4);
  if (type == Type::FP32) {
    std::memcpy(row + 4 * h, &bits, 4);
    return;
  }
  const std::uint16_t half =
      type == Type::FP16 ? fp16_bits(v) : static_cast<std::uint16_t>(bits >> 16);
  std::memcpy(row + 2 * h, &half, 2);
}

}  // namespace phases
