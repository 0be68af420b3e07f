// Sizes and rates as people write them.
#include "base/units.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace railwave {
namespace {

std::int64_t bytes(std::string_view text) { return parse_size(text, "buffer").value_or(-1); }
std::int64_t bits(std::string_view text) { return parse_rate(text, "rate").value_or(-1); }

TEST(Units, SizesArePowersOf1024) {
  EXPECT_EQ(bytes("9000"), 9000);
  EXPECT_EQ(bytes("9000b"), 9000);
  EXPECT_EQ(bytes("64kb"), 65536);
  EXPECT_EQ(bytes("12KB"), 12288);
  EXPECT_EQ(bytes("1.5mb"), 1572864);
  EXPECT_EQ(bytes("3gb"), std::int64_t{3} << 30);
  EXPECT_EQ(bytes("0"), 0);
  EXPECT_EQ(bytes("7kib"), bytes("7kb"));
  EXPECT_EQ(bytes("7MiB"), bytes("7mb"));
  EXPECT_EQ(bytes("7gib"), bytes("7gb"));
}

TEST(Units, RatesArePowersOf1000) {
  EXPECT_EQ(bits("50mbit"), 50'000'000);
  EXPECT_EQ(bits("1gbit"), 1'000'000'000);
  EXPECT_EQ(bits("400Gbit"), 400'000'000'000);
  EXPECT_EQ(bits("800kbit"), 800'000);
  EXPECT_EQ(bits("2.5gbit"), 2'500'000'000);
  EXPECT_EQ(bits("1200bit"), 1200);
}

TEST(Units, WhatIsNotUnderstood) {
  for (const auto* text : {"", "kb", "-1", "-1kb", "1 kb", "1kbit", "64k", "1e30", "nan", "inf",
                           "infb", "0x10", "1kb ", " 1kb", "1,5mb", "9300000000gb"}) {
    const auto parsed = parse_size(text, "switch_buffer");
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(parsed.error().field, "switch_buffer");
    EXPECT_THAT(parsed.error().message, ::testing::HasSubstr("'" + std::string(text) + "'"));
  }
  for (const auto* text : {"", "50", "50mb", "mbit", "-5mbit", "50 mbit"}) {
    EXPECT_FALSE(parse_rate(text, "rail_rate")) << text;
  }
}

RC_GTEST_PROP(UnitsProperty, WholeSizesAreExact, ()) {
  const auto count = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 22);
  RC_ASSERT(bytes(std::to_string(count)) == count);
  RC_ASSERT(bytes(std::to_string(count) + "kb") == count << 10);
  RC_ASSERT(bytes(std::to_string(count) + "mb") == count << 20);
  RC_ASSERT(bytes(std::to_string(count) + "gb") == count << 30);
  RC_ASSERT(bits(std::to_string(count) + "kbit") == count * 1000);
}

TEST(Units, Written) {
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(1024), "1.00 KiB");
  EXPECT_EQ(format_size(65536), "64.00 KiB");
  EXPECT_EQ(format_size(std::int64_t{56} << 20), "56.00 MiB");
  EXPECT_EQ(format_size(4'414'242'944), "4.11 GiB");
  EXPECT_EQ(format_rate(50'000'000), "50.00 Mbit/s");
  EXPECT_EQ(format_rate(999), "999 bit/s");
  EXPECT_EQ(format_rate(400'000'000'000), "400.00 Gbit/s");
  EXPECT_EQ(format_seconds(0.00123), "1.230 ms");
  EXPECT_EQ(format_seconds(0.0000125), "12.5 us");
  EXPECT_EQ(format_seconds(2.5), "2.500 s");
}

}  // namespace
}  // namespace railwave
