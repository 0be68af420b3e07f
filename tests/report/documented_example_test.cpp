// The worked example of docs/formats/replay_result.md is a result, and its figures are right.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "report/replay_json.hpp"

namespace railwave::report {
namespace {

/// The page's block of four-space indented lines that starts with '{'.
std::string example() {
  std::ifstream page(RAILWAVE_FORMAT_PAGES "/replay_result.md");
  std::string out;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("    {") || (!out.empty() && line.starts_with("    "))) out += line + '\n';
  }
  return out;
}

TEST(DocumentedExampleTest, ReadsAndSummarisesToItsOwnFigures) {
  const auto results = from_json(example());
  ASSERT_TRUE(results) << to_string(results.error());
  ASSERT_EQ(results->size(), 1U);
  auto again = results->front();
  ASSERT_TRUE(summarise(again));
  EXPECT_EQ(again, results->front());
  EXPECT_TRUE(verdict(again));
}

}  // namespace
}  // namespace railwave::report
