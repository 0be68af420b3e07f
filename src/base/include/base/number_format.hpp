// bf16, fp16 and fp8 e4m3 as bit patterns, and their conversions to and from fp32. Without
// branches, so that loops over them vectorise (base/row_format.hpp); no intermediate value is an
// fp32 subnormal that matters, so a host that flushes subnormals to zero gets the same bits.
#pragma once

#include <bit>
#include <cstdint>

namespace railwave {

/// The quiet NaNs in which every NaN result is stored (DESIGN section 4).
constexpr std::uint16_t kBf16NaN = 0x7fc0;
constexpr std::uint16_t kFp16NaN = 0x7e00;
constexpr std::uint8_t kFp8E4M3NaN = 0x7f;
constexpr std::uint32_t kFp32NaN = 0x7fc00000;

namespace number_format {

/// `yes` or `no`. With masks: compilers do not turn a branch around float arithmetic into a select.
constexpr std::uint32_t select(bool condition, std::uint32_t yes, std::uint32_t no) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

/// Magnitudes have no sign bit; signed comparisons are one instruction, unsigned ones are three.
constexpr bool at_least(std::uint32_t magnitude, std::uint32_t limit) {
  return static_cast<std::int32_t>(magnitude) >= static_cast<std::int32_t>(limit);
}

/// A format with `fraction` fraction bits and exponent bias `bias`; fp32 has 23 and 127.
/// Source: IEEE 754-2019 section 3.4; the additions of a power of two are well-known exact tricks.
template <std::uint32_t fraction, std::uint32_t bias>
struct Small {
  static constexpr std::uint32_t kDropped = 23 - fraction;
  static constexpr std::uint32_t kRebias = (127 - bias) << 23;
  /// The least normal number, 2^(1 - bias), as fp32 bits.
  static constexpr std::uint32_t kLeastNormal = (128 - bias) << 23;
  /// As fp32 bits the power of two whose unit in the last place is the least subnormal.
  static constexpr std::uint32_t kRounder = (128 - bias + kDropped) << 23;

  /// fp32 bits of a finite magnitude. Subnormal: 2^(1-bias) + value, less the 2^(1-bias): exact.
  static constexpr std::uint32_t widen(std::uint32_t magnitude) {
    const std::uint32_t aligned = magnitude << kDropped;
    const float subnormal =
        std::bit_cast<float>(aligned + kLeastNormal) - std::bit_cast<float>(kLeastNormal);
    return select(aligned < (1U << 23), std::bit_cast<std::uint32_t>(subnormal), aligned + kRebias);
  }

  /// The nearest pattern, ties to even, as if exponents had no upper limit. `magnitude`: fp32 bits
  /// of a finite value. Subnormal results are rounded by the addition itself.
  static constexpr std::uint32_t narrow(std::uint32_t magnitude) {
    const std::uint32_t odd = (magnitude >> kDropped) & 1U;
    const std::uint32_t normal =
        (magnitude - kRebias + ((1U << (kDropped - 1)) - 1) + odd) >> kDropped;
    const float shifted = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kRounder);
    return select(at_least(magnitude, kLeastNormal), normal,
                  std::bit_cast<std::uint32_t>(shifted) - kRounder);
  }
};

using Fp16 = Small<10, 15>;
using Fp8E4M3 = Small<3, 7>;

}  // namespace number_format

constexpr float bf16_to_fp32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Round to nearest, ties to even; any NaN becomes kBf16NaN.
constexpr std::uint16_t fp32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const bool is_nan = number_format::at_least(bits & 0x7fffffffU, 0x7f800001U);
  return static_cast<std::uint16_t>(number_format::select(is_nan, kBf16NaN, rounded));
}

/// The value itself, or kFp32NaN for any NaN.
constexpr float canonical_fp32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = number_format::at_least(bits & 0x7fffffffU, 0x7f800001U);
  return std::bit_cast<float>(number_format::select(is_nan, kFp32NaN, bits));
}

/// Exact; a NaN keeps its sign and payload and is quiet, as the F16C instructions make it.
constexpr float fp16_to_fp32(std::uint16_t bits) {
  using number_format::at_least;
  using number_format::select;
  const std::uint32_t magnitude = bits & 0x7fffU;
  const std::uint32_t quiet = select(at_least(magnitude, 0x7c01U), 0x400000U, 0);
  const std::uint32_t special = 0x7f800000U | quiet | (magnitude << 13);
  const std::uint32_t wide =
      select(at_least(magnitude, 0x7c00U), special, number_format::Fp16::widen(magnitude));
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0x8000U) << 16 | wide);
}

/// Round to nearest, ties to even, subnormals kept, overflow to infinity; any NaN: kFp16NaN.
constexpr std::uint16_t fp32_to_fp16(float value) {
  using number_format::at_least;
  using number_format::select;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t finite =
      select(at_least(magnitude, 0x47800000U), 0x7c00U, number_format::Fp16::narrow(magnitude));
  const std::uint32_t rounded = ((bits >> 16) & 0x8000U) | finite;
  return static_cast<std::uint16_t>(select(at_least(magnitude, 0x7f800001U), kFp16NaN, rounded));
}

/// fp8 e4m3 as in OCP OFP8 ("E4M3FN" of torch and DeepEP): no infinities, NaN is 0x7f and 0xff, the
/// largest value is 448, the least 2^-9. Exact; both NaNs become kFp32NaN.
constexpr float fp8_e4m3_to_fp32(std::uint8_t bits) {
  const std::uint32_t magnitude = bits & 0x7fU;
  const std::uint32_t wide =
      static_cast<std::uint32_t>(bits & 0x80U) << 24 | number_format::Fp8E4M3::widen(magnitude);
  return std::bit_cast<float>(number_format::select(magnitude == 0x7fU, kFp32NaN, wide));
}

/// Round to nearest, ties to even, subnormals kept. What rounds beyond 448 (above 464, infinities
/// too) is NaN as in a cast by torch, not saturated: an overflow must show, and scales exist to
/// prevent it. Every NaN is kFp8E4M3NaN (torch keeps its sign: 0xff).
constexpr std::uint8_t fp32_to_fp8_e4m3(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t rounded = ((bits >> 24) & 0x80U) | number_format::Fp8E4M3::narrow(magnitude);
  const bool too_large = number_format::at_least(magnitude, 0x43e80001U);  // above 464
  return static_cast<std::uint8_t>(number_format::select(too_large, kFp8E4M3NaN, rounded));
}

}  // namespace railwave
