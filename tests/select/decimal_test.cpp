// Decimals are read exactly or not at all.
#include "select/decimal.hpp"

#include <string>

#include <gtest/gtest.h>

namespace railwave::select {
namespace {

TEST(Decimal, ReadsExactly) {
  struct Case {
    const char* text;
    std::int64_t millionths;
    Ratio ratio;
  };
  for (const auto& [text, millionths, ratio] :
       {Case{"0", 0, {0, 1}}, Case{"0.02", 20'000, {1, 50}}, Case{"8.75", 8'750'000, {35, 4}},
        Case{"1.000001", 1'000'001, {1'000'001, 1'000'000}}, Case{"3.0", 3'000'000, {3, 1}},
        Case{"999999999999.999999",
             999'999'999'999'999'999,
             {999'999'999'999'999'999, 1'000'000}}}) {
    const auto read = Decimal::parse(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->millionths(), millionths) << text;
    EXPECT_EQ(read->ratio(), ratio) << text;
    EXPECT_EQ(read->text(), text);
  }
}

TEST(Decimal, RefusesEverythingElse) {
  for (const char* text : {"", " 1", "1 ", "+1", "-1", "1.", ".5", "1e3", "01", "00", "1.2.3",
                           "1,5", "nan", "inf", "0x1", "1.0000001", "1000000000000", "1/3"}) {
    EXPECT_FALSE(Decimal::parse(text)) << text;
  }
  EXPECT_FALSE(Decimal::parse(std::string("1\0", 2)));
  EXPECT_FALSE(Decimal::parse(std::string(1 << 20, '1')));
}

}  // namespace
}  // namespace railwave::select
