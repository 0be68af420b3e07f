#include "base/number_format.hpp"

namespace railwave {
namespace {

/// Shifts right, rounding to nearest with ties to even. REQUIRES: 1 <= shift <= 31.
std::uint32_t shift_round_even(std::uint32_t value, std::uint32_t shift) {
  const std::uint32_t kept = value >> shift;
  const std::uint32_t half = 1U << (shift - 1);
  const std::uint32_t rest = value & ((1U << shift) - 1);
  return kept + ((rest > half || (rest == half && (kept & 1U) != 0)) ? 1U : 0U);
}

}  // namespace

float fp16_to_fp32(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0x1fU) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (fraction << 13));
}

std::uint16_t fp32_to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return kFp16NaN;
  if (magnitude >= 0x47800000U) return static_cast<std::uint16_t>(sign | 0x7c00U);
  const std::uint32_t exponent = magnitude >> 23;
  if (exponent >= 113) {  // normal in fp16
    return static_cast<std::uint16_t>(sign | (shift_round_even(magnitude, 13) - (112U << 10)));
  }
  if (exponent < 102) return static_cast<std::uint16_t>(sign);  // below half the least subnormal
  const std::uint32_t significand = (magnitude & 0x7fffffU) | 0x800000U;
  return static_cast<std::uint16_t>(sign | shift_round_even(significand, 126U - exponent));
}

}  // namespace railwave
