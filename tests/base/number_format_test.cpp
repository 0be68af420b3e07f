// bf16, fp16 and fp8: every bit pattern, every rounding boundary, and rounding by definition.
#include "base/number_format.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "base/format_reference.hpp"

namespace railwave {
namespace {

using reference::Format;
using reference::rounded;
using reference::unlimited;
using reference::value_of;

bool same(double a, double b) { return a == b && std::signbit(a) == std::signbit(b); }

struct Conversion {
  const char* name;
  Format format;
  float (*widen)(std::uint32_t);
  std::uint32_t (*narrow)(float);
};
const Conversion kConversions[] = {
    {"fp16", reference::kFp16,
     [](std::uint32_t bits) { return fp16_to_fp32(static_cast<std::uint16_t>(bits)); },
     [](float value) -> std::uint32_t { return fp32_to_fp16(value); }},
    {"bf16", reference::kBf16,
     [](std::uint32_t bits) { return bf16_to_fp32(static_cast<std::uint16_t>(bits)); },
     [](float value) -> std::uint32_t { return fp32_to_bf16(value); }},
    {"fp8_e4m3", reference::kFp8E4M3,
     [](std::uint32_t bits) { return fp8_e4m3_to_fp32(static_cast<std::uint8_t>(bits)); },
     [](float value) -> std::uint32_t { return fp32_to_fp8_e4m3(value); }}};

class NumberFormat : public ::testing::TestWithParam<Conversion> {};
INSTANTIATE_TEST_SUITE_P(All, NumberFormat, ::testing::ValuesIn(kConversions),
                         [](const auto& one) { return one.param.name; });

TEST_P(NumberFormat, EveryPatternHasItsValue) {
  const auto& [name, format, widen, narrow] = GetParam();
  for (std::uint32_t bits = 0; bits < 1U << format.bits; ++bits) {
    const double expected = value_of(bits, format);
    const float found = widen(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found)) << std::hex << bits;
    } else {
      ASSERT_TRUE(same(found, expected)) << std::hex << bits << " " << found;
    }
  }
}

TEST_P(NumberFormat, EveryPatternSurvivesTheRoundTrip) {
  const auto& [name, format, widen, narrow] = GetParam();
  for (std::uint32_t bits = 0; bits < 1U << format.bits; ++bits) {
    const std::uint32_t expected = std::isnan(value_of(bits, format)) ? format.nan : bits;
    ASSERT_EQ(narrow(widen(bits)), expected) << std::hex << bits;
  }
}

/// Between any two neighbours: half-way goes to the even one, just beside it to the nearer one.
TEST_P(NumberFormat, EveryHalfwayPoint) {
  const auto& [name, format, widen, narrow] = GetParam();
  const std::uint32_t special = reference::first_special(format);
  for (const std::uint32_t sign : {0U, reference::sign_bit(format)}) {
    for (std::uint32_t low = 0; low < special; ++low) {
      const double middle = (unlimited(low, format) + unlimited(low + 1, format)) / 2;
      const auto half = static_cast<float>(sign != 0 ? -middle : middle);
      ASSERT_EQ(std::fabs(static_cast<double>(half)), middle);
      const std::uint32_t high =
          low + 1 == special && !format.has_infinity ? format.nan : (low + 1) | sign;
      ASSERT_EQ(narrow(half), low % 2 == 0 ? low | sign : high) << std::hex << low;
      ASSERT_EQ(narrow(std::nextafterf(half, 0.0F)), low | sign) << std::hex << low;
      ASSERT_EQ(narrow(std::nextafterf(half, std::copysign(HUGE_VALF, half))), high)
          << std::hex << low;
    }
  }
}

void expect_by_definition(const Conversion& conversion, float value) {
  const std::uint32_t found = conversion.narrow(value);
  const double expected = rounded(value, conversion.format);
  if (std::isnan(expected)) {
    ASSERT_EQ(found, conversion.format.nan) << value;
  } else {
    ASSERT_TRUE(same(value_of(found, conversion.format), expected)) << value;
  }
}

/// A prime stride meets about a million fp32 patterns of every exponent.
TEST_P(NumberFormat, RoundsByDefinition) {
  for (std::uint64_t bits = 0; bits <= 0xffffffffU; bits += 4099) {
    expect_by_definition(GetParam(), std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
}

/// Where the format has its values, which for fp8 are few of fp32's exponents.
TEST_P(NumberFormat, RoundsByDefinitionWhereItsValuesLie) {
  const Format& format = GetParam().format;
  std::mt19937 rng(7);
  std::uniform_real_distribution<float> significand(1, 2);
  std::uniform_int_distribution<int> exponent(format.least_exponent - format.fraction_bits - 2,
                                              std::min(std::ilogb(format.largest) + 1, 127));
  for (int i = 0; i < 1'000'000; ++i) {
    const float value = std::ldexp(significand(rng), exponent(rng));
    expect_by_definition(GetParam(), i % 2 == 0 ? value : -value);
  }
}

TEST_P(NumberFormat, EveryNaNIsTheQuietOne) {
  const auto& [name, format, widen, narrow] = GetParam();
  for (const std::uint32_t bits : {0x7f800001U, 0x7fc00000U, 0x7fffffffU, 0xff800001U, 0xffc00000U,
                                   0xffffffffU, 0x7f801000U, 0xffff0000U}) {
    EXPECT_EQ(narrow(std::bit_cast<float>(bits)), format.nan) << std::hex << bits;
  }
}

/// From the table of OCP OFP8, revision 1.0.
TEST(NumberFormatFp8E4M3, Edges) {
  EXPECT_EQ(fp8_e4m3_to_fp32(0x7e), 448.0F);
  EXPECT_EQ(fp8_e4m3_to_fp32(0x01), 0x1p-9F);
  EXPECT_EQ(fp8_e4m3_to_fp32(0x07), 0x1.cp-7F);
  EXPECT_EQ(fp8_e4m3_to_fp32(0x08), 0x1p-6F);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(fp8_e4m3_to_fp32(0xff)), kFp32NaN);
  EXPECT_EQ(fp32_to_fp8_e4m3(464.0F), 0x7e) << "a tie, to even";
  EXPECT_EQ(fp32_to_fp8_e4m3(464.00003F), 0x7f);
  EXPECT_EQ(fp32_to_fp8_e4m3(-465.0F), 0x7f);
  EXPECT_EQ(fp32_to_fp8_e4m3(-HUGE_VALF), 0x7f);
  EXPECT_EQ(fp32_to_fp8_e4m3(0x1p-10F), 0x00) << "half the least subnormal: a tie, to even";
  EXPECT_EQ(fp32_to_fp8_e4m3(-0x1.000002p-10F), 0x81);
  EXPECT_EQ(fp32_to_fp8_e4m3(-0.0F), 0x80);
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
