// Maps and bars, with and without colours.
#include "report/heat_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railwave::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Loads = std::vector<std::int64_t>;

TEST(HeatMap, HeatIsNothingToLargest) {
  EXPECT_EQ(heat(0, 0), 0);
  EXPECT_EQ(heat(0, 100), 0);
  EXPECT_EQ(heat(1, 1'000'000), 1);
  EXPECT_EQ(heat(50, 100), 5);
  EXPECT_EQ(heat(99, 100), 8);
  EXPECT_EQ(heat(100, 100), 9);
  EXPECT_EQ(heat(INT64_MAX - 1, INT64_MAX), 8);
}

TEST(HeatMap, NumbersAndShades) {
  const Loads cells{0, 100, 50, 1};
  EXPECT_EQ(numbered_map({"demand", cells, 2, 0}, Shades::Characters),
            "# demand\n"
            "#        0     1\n"
            "#   0    0   100 @\n"
            "#   1   50 +   1 .\n");
}

TEST(HeatMap, ShadesInGroups) {
  const Loads cells{0, 9, 1, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(shaded_map({"ranks", cells, 3, 2}, Shades::Characters),
            "# ranks\n"
            "#    0 | @ .|\n"
            "#    1 |    |\n"
            "#\n"
            "#    2 |    |\n"
            "# ' ' is nothing, '@' is 9; between: \".:-=+*#%\"\n");
}

TEST(HeatMap, BarsAreInProportionAndSumToAll) {
  const Loads loads{30, 10, 0};
  const std::string text = bars("rails", {"rail 0", "rail 1", "rail 2"}, loads, Shades::Characters);
  EXPECT_THAT(text, HasSubstr("# rail 0 |" + std::string(40, '#') + "| 75.00 %  30\n"));
  EXPECT_THAT(text, HasSubstr("# rail 1 |" + std::string(13, '#') + std::string(27, ' ') +
                              "| 25.00 %  10\n"));
  EXPECT_THAT(text, HasSubstr("# rail 2 |" + std::string(40, ' ') + "|  0.00 %  0\n"));
  EXPECT_THAT(bars("none", {"rail 0"}, Loads{0}, Shades::Characters), HasSubstr(" 0.00 %"));
}

TEST(HeatMap, OnlyColoursUseEscapes) {
  const Loads cells{0, 100, 50, 1};
  const HeatMap map{"demand", cells, 2, 0};
  for (const auto draw : {numbered_map, shaded_map}) {
    EXPECT_THAT(draw(map, Shades::Characters), Not(HasSubstr("\x1b")));
    EXPECT_THAT(draw(map, Shades::Colours), HasSubstr("\x1b[48;5;"));
  }
  EXPECT_THAT(bars("rails", {"a", "b"}, Loads{1, 2}, Shades::Colours), HasSubstr("\x1b[0m"));
  EXPECT_THAT(bars("rails", {"a", "b"}, Loads{1, 2}, Shades::Characters), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace railwave::report
