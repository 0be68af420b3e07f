// bf16 and fp16: every bit pattern, every rounding boundary, and rounding by definition.
#include "base/number_format.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace railwave {
namespace {

/// What defines a binary format: fraction bits, least normal exponent, least exponent too large.
struct Format {
  int fraction_bits;
  int least_exponent;
  int exponent_limit;
};
constexpr Format kFp16{10, -14, 16};
constexpr Format kBf16{7, -126, 128};

/// The value of a bit pattern, by the definition of IEEE formats.
double value_of(std::uint32_t bits, Format format) {
  const std::uint32_t scale = 1U << format.fraction_bits;
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  const std::uint32_t magnitude = bits & 0x7fffU;
  const auto fraction = static_cast<double>(magnitude % scale) / scale;
  const auto biased = static_cast<int>(magnitude / scale);
  if (biased - 1 + format.least_exponent == format.exponent_limit) {
    return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  }
  if (biased == 0) return sign * std::ldexp(fraction, format.least_exponent);
  return sign * std::ldexp(1 + fraction, biased - 1 + format.least_exponent);
}

/// The nearest value of the format, ties to even, by counting units in the last place.
double rounded(double value, Format format) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), format.least_exponent);
  const double unit = std::ldexp(1.0, exponent - format.fraction_bits);
  const double nearest = std::nearbyint(value / unit) * unit;
  if (std::fabs(nearest) < std::ldexp(1.0, format.exponent_limit)) return nearest;
  return std::copysign(HUGE_VAL, value);
}

bool same(double a, double b) { return a == b && std::signbit(a) == std::signbit(b); }

struct Conversion {
  Format format;
  std::uint16_t nan;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(float);
};
const Conversion kConversions[] = {{kFp16, 0x7e00, fp16_to_fp32, fp32_to_fp16},
                                   {kBf16, 0x7fc0, bf16_to_fp32, fp32_to_bf16}};

class NumberFormat : public ::testing::TestWithParam<Conversion> {};
INSTANTIATE_TEST_SUITE_P(All, NumberFormat, ::testing::ValuesIn(kConversions), [](const auto& one) {
  return one.param.nan == kFp16NaN ? "fp16" : "bf16";
});

TEST_P(NumberFormat, EveryPatternHasItsValue) {
  const auto& [format, nan, widen, narrow] = GetParam();
  for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const double expected = value_of(bits, format);
    const float found = widen(static_cast<std::uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found)) << std::hex << bits;
    } else {
      ASSERT_TRUE(same(found, expected)) << std::hex << bits << " " << found;
    }
  }
}

TEST_P(NumberFormat, EveryPatternSurvivesTheRoundTrip) {
  const auto& [format, nan, widen, narrow] = GetParam();
  for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const std::uint16_t expected = std::isnan(value_of(bits, format)) ? nan : pattern;
    ASSERT_EQ(narrow(widen(pattern)), expected) << std::hex << bits;
  }
}

/// Between any two neighbours: half-way goes to the even one, just beside it to the nearer one.
TEST_P(NumberFormat, EveryHalfwayPoint) {
  const auto& [format, nan, widen, narrow] = GetParam();
  const auto infinity = static_cast<std::uint32_t>(
      (format.exponent_limit - format.least_exponent + 1) << format.fraction_bits);
  for (std::uint32_t sign : {0U, 0x8000U}) {
    for (std::uint32_t low = 0; low < infinity; ++low) {
      const double below = value_of(low | sign, format);
      const double above = low + 1 == infinity
                               ? std::copysign(std::ldexp(1.0, format.exponent_limit), below)
                               : value_of((low + 1) | sign, format);
      const auto half = static_cast<float>(below / 2 + above / 2);
      ASSERT_EQ(static_cast<double>(half), below / 2 + above / 2);
      ASSERT_EQ(narrow(half), (low % 2 == 0 ? low : low + 1) | sign) << std::hex << low;
      ASSERT_EQ(narrow(std::nextafterf(half, 0.0F)), low | sign) << std::hex << low;
      ASSERT_EQ(narrow(std::nextafterf(half, std::copysign(HUGE_VALF, half))), (low + 1) | sign)
          << std::hex << low;
    }
  }
}

/// A prime stride meets about a million fp32 patterns of every exponent.
TEST_P(NumberFormat, RoundsByDefinition) {
  const auto& [format, nan, widen, narrow] = GetParam();
  for (std::uint64_t bits = 0; bits <= 0xffffffffU; bits += 4099) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const std::uint16_t found = narrow(value);
    if (std::isnan(value)) {
      ASSERT_EQ(found, nan) << std::hex << bits;
    } else {
      ASSERT_TRUE(same(value_of(found, format), rounded(value, format))) << std::hex << bits;
    }
  }
}

TEST_P(NumberFormat, EveryNaNIsTheQuietOne) {
  const auto& [format, nan, widen, narrow] = GetParam();
  for (const std::uint32_t bits : {0x7f800001U, 0x7fc00000U, 0x7fffffffU, 0xff800001U, 0xffc00000U,
                                   0xffffffffU, 0x7f801000U, 0xffff0000U}) {
    EXPECT_EQ(narrow(std::bit_cast<float>(bits)), nan) << std::hex << bits;
  }
}

TEST(NumberFormatFp16, Edges) {
  EXPECT_EQ(fp32_to_fp16(65504.0F), 0x7bff);
  EXPECT_EQ(fp32_to_fp16(65519.996F), 0x7bff);
  EXPECT_EQ(fp32_to_fp16(65520.0F), 0x7c00);
  EXPECT_EQ(fp32_to_fp16(-1e30F), 0xfc00);
  EXPECT_EQ(fp32_to_fp16(0x1p-24F), 0x0001);
  EXPECT_EQ(fp32_to_fp16(0x1p-25F), 0x0000);  // half the least subnormal: a tie, to even
  EXPECT_EQ(fp32_to_fp16(-0x1.000002p-25F), 0x8001);
  EXPECT_EQ(fp32_to_fp16(-0.0F), 0x8000);
}

TEST(NumberFormatFp32, CanonicalChangesNaNsOnly) {
  for (const std::uint32_t bits : {0x7f800001U, 0xffc00000U, 0xffffffffU, kFp32NaN}) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(canonical_fp32(std::bit_cast<float>(bits))), kFp32NaN);
  }
  for (const std::uint32_t bits : {0U, 0x80000000U, 1U, 0x7f7fffffU, 0x7f800000U, 0xff800000U}) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(canonical_fp32(std::bit_cast<float>(bits))), bits);
  }
}

}  // namespace
}  // namespace railwave
