// The integer logarithm and its fast estimate against the C library's.
#include "log2_fixed.hpp"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace railwave::select {
namespace {

constexpr std::uint64_t kOne = std::uint64_t{1} << 62;

TEST(Log2OfMantissa, KnowsPowersAndRoundsDown) {
  EXPECT_EQ(log2_of_mantissa(kOne), 0);
  EXPECT_EQ(log2_of_mantissa(kOne + kOne / 4), 1'382'670'639);  // floor(2^32 * log2(1.25))
  EXPECT_EQ(log2_of_mantissa(kOne + kOne / 2), 2'512'394'809);  // floor(2^32 * log2(1.5))
  EXPECT_EQ(log2_of_mantissa(2 * kOne - 1), (std::int64_t{1} << 32) - 1);
}

RC_GTEST_PROP(Log2OfMantissaProperties, IsTheLogarithm, ()) {
  const auto mantissa = *rc::gen::inRange<std::uint64_t>(kOne, 2 * kOne);
  const long double exact =
      std::log2(static_cast<long double>(mantissa) / static_cast<long double>(kOne)) * 0x1p32L;
  RC_ASSERT(std::fabs(static_cast<long double>(log2_of_mantissa(mantissa)) - exact) <= 2);
}

RC_GTEST_PROP(Log2EstimateProperties, IsWithin4UnitsOfTheLogarithm, ()) {
  const auto bits = [](int most) { return *rc::gen::inRange(0, most); };
  const auto spread = [&](int most) {
    const auto high = std::uint64_t{1} << bits(most);
    return high + *rc::gen::inRange<std::uint64_t>(0, high);
  };
  const std::uint64_t den = spread(62);
  const UWide num = static_cast<UWide>(spread(62)) << bits(8);
  RC_PRE(num / den < kOne);
  const long double exact =
      std::log2(static_cast<long double>(num) / static_cast<long double>(den)) * 0x1p32L;
  // A long double has 11 bits less left for the fraction of a large logarithm.
  RC_ASSERT(std::fabs(static_cast<long double>(log2_estimate(num, den)) - exact) <= 4.5L);
}

}  // namespace
}  // namespace railwave::select
