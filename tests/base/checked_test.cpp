// 64-bit arithmetic that knows when it overflows.
#include "base/checked.hpp"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace railwave {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

TEST(Checked, Edges) {
  EXPECT_EQ(checked_add(kMost - 1, 1), kMost);
  EXPECT_EQ(checked_add(kMost, 1), std::nullopt);
  EXPECT_EQ(checked_add(kLeast, -1), std::nullopt);
  EXPECT_EQ(checked_add(kLeast, kMost), -1);
  EXPECT_EQ(checked_mul(149'797, 14'336), 2'147'489'792);
  EXPECT_EQ(checked_mul(std::int64_t{1} << 32, std::int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checked_mul(kLeast, -1), std::nullopt);
  EXPECT_EQ(checked_mul(kMost, 0), 0);
}

RC_GTEST_PROP(CheckedProperty, AgreesWith128Bits, (std::int64_t a, std::int64_t b)) {
  const auto shift = *rc::gen::inRange(0, 62);
  const auto wide = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << shift);
  const auto fits = [](__int128 value) { return value >= kLeast && value <= kMost; };
  const __int128 sum = static_cast<__int128>(wide) + b;
  const __int128 product = static_cast<__int128>(wide) * b;
  RC_ASSERT(checked_add(wide, b).has_value() == fits(sum));
  RC_ASSERT(checked_mul(wide, b).has_value() == fits(product));
  if (fits(sum)) RC_ASSERT(*checked_add(wide, b) == static_cast<std::int64_t>(sum));
  if (fits(product)) RC_ASSERT(*checked_mul(wide, b) == static_cast<std::int64_t>(product));
}

TEST(Checked, CeilingAndRoundingUp) {
  EXPECT_EQ(ceil_div(0, 7), 0);
  EXPECT_EQ(ceil_div(14, 7), 2);
  EXPECT_EQ(ceil_div(15, 7), 3);
  EXPECT_EQ(ceil_div(kMost, 1), kMost);
  EXPECT_EQ(ceil_div(kMost, 2), kMost / 2 + 1);
  EXPECT_EQ(round_up(0, 64), 0);
  EXPECT_EQ(round_up(1, 64), 64);
  EXPECT_EQ(round_up(128, 64), 128);
}

TEST(CheckedDeathTest, ABrokenInvariantNamesItsValues) {
  const int records = 3;
  EXPECT_DEATH(RAILWAVE_CHECK(records == 4, "records %d", records),
               "broken invariant records == 4 at .*checked_test.cpp:[0-9]+ \\(records 3\\)");
  EXPECT_DEATH(RAILWAVE_CHECK(records == 4), "broken invariant records == 4");
}

TEST(Checked, AnInvariantThatHoldsCostsNothing) {
  int evaluated = 0;
  RAILWAVE_CHECK(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

}  // namespace
}  // namespace railwave
