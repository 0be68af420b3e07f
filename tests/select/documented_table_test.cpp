// The worked example of docs/formats/cost_table.md is a cost table, and the page's answers are its.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "select/cost_table_file.hpp"
#include "tables.hpp"

namespace railwave::select {
namespace {

/// The page's block of four-space indented lines that starts with '{'.
std::string example() {
  std::ifstream page(RAILWAVE_FORMAT_PAGES "/cost_table.md");
  std::string out;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("    {") || (!out.empty() && line.starts_with("    "))) out += line + '\n';
  }
  return out;
}

TEST(DocumentedTable, GivesThePagesAnswers) {
  const auto table = parse_cost_table(example(), "cost_table.md");
  ASSERT_TRUE(table) << to_string(table.error());
  const auto selector = selector_of(*table);
  // 0.45 MiB, rail skew 1.1, receiver concentration 1.
  const auto near = selector->explain(phase({45 * kMiB, 100}, {11, 10}, {1, 1}), 1);
  EXPECT_EQ(near.selection, (Selection{Path::RailOnly, Cause::NearestAnchor, 0}));
  EXPECT_NEAR(near.eligible.at(0).distance, 0.1520, 5e-5);
  // 0.625 MiB is the edge of payload; a rail skew of 1.1 + 0.06 is that of shape.
  EXPECT_EQ(selector->select(phase({625 * kMiB, 1000}, {116, 100}, {1, 1})).anchor, 0);
  EXPECT_EQ(selector->select(phase({625 * kMiB, 1000}, {1'160'001, 1'000'000}, {1, 1})).path,
            Path::Joint);
  EXPECT_EQ(table->rejected.size(), 1U);
}

}  // namespace
}  // namespace railwave::select
