// bf16 and fp16 as bit patterns, and their conversions to and from fp32.
#pragma once

#include <bit>
#include <cstdint>

namespace railwave {

/// The quiet NaNs in which every NaN result is stored (DESIGN section 4).
constexpr std::uint16_t kBf16NaN = 0x7fc0;
constexpr std::uint16_t kFp16NaN = 0x7e00;
constexpr std::uint32_t kFp32NaN = 0x7fc00000;

constexpr float bf16_to_fp32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Round to nearest, ties to even; any NaN becomes kBf16NaN.
constexpr std::uint16_t fp32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return kBf16NaN;
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

/// The value itself, or kFp32NaN for any NaN.
constexpr float canonical_fp32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits & 0x7fffffffU) > 0x7f800000U ? std::bit_cast<float>(kFp32NaN) : value;
}

float fp16_to_fp32(std::uint16_t bits);
/// Round to nearest, ties to even, subnormals kept, overflow to infinity; any NaN: kFp16NaN.
std::uint16_t fp32_to_fp16(float value);

}  // namespace railwave
