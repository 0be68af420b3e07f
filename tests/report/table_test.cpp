#include "report/table.hpp"

#include <gtest/gtest.h>

namespace railwave::report {
namespace {

TEST(TableTest, AlignsUnderHeaderLinesThatStartWithAHash) {
  Table table({{"path", "", Align::Left}, {"time", "ms"}, {"#wrong"}});
  table.add_row({"native", "1234.50", "0"});
  table.add_row({"joint", "9.25", "12"});
  EXPECT_EQ(table.text(),
            "# path       time  #wrong\n"
            "#            (ms)\n"
            "  native  1234.50       0\n"
            "  joint      9.25      12\n");
}

TEST(TableTest, NoUnitsNoUnitsLine) { EXPECT_EQ(Table({{"a"}, {"bc"}}).text(), "# a  bc\n"); }

TEST(TableTest, CommentsEveryLine) { EXPECT_EQ(comment("a\nb"), "# a\n# b\n"); }

}  // namespace
}  // namespace railwave::report
