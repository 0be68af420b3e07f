#include "report/replay_table.hpp"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sample_result.hpp"

namespace railwave::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

/// The lines without '#'.
std::vector<std::string> rows(const std::string& table) {
  std::vector<std::string> out;
  std::istringstream in(table);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with('#')) out.push_back(line);
  }
  return out;
}

TEST(ReplayTableTest, HasARowPerPath) {
  auto r = full_result();
  ASSERT_TRUE(summarise(r));
  const auto lines = rows(to_table(r));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(words(lines[0]), ElementsAre("native", "barrier", "2000.00", "2000.00", "2000.00",
                                           "8.00", "1.33", "1.00", "3", "4096", "12.5-50.0", "0"));
  EXPECT_THAT(words(lines[1]), ElementsAre("joint", "rail-barrier", "500.00", "500.00", "-", "2.00",
                                           "2.00", "4.00", "1", "4096", "12.5-50.0", "0"));
}

TEST(ReplayTableTest, TheHeaderTellsWhereAndWhat) {
  const std::string table = to_table(full_result());
  for (const char* part :
       {"4 nodes x 8 ranks, 8 rails of 50.00 Mbit/s, emulated", "MTU 9000", "2 cores", "cubic",
        "gate         passed", "intent_L26_T8222_K6.u8", "extreme", "sorted bins",
        "sum over 2 layers of each layer's quantile", "#wrong"}) {
    EXPECT_THAT(table, HasSubstr(part));
  }
}

TEST(ReplayTableTest, AbsentFiguresAreDashes) {
  auto r = bare_result();
  ASSERT_TRUE(summarise(r));
  EXPECT_THAT(words(rows(to_table(r))[0]),
              ElementsAre("openmpi", "-", "500.00", "-", "-", "-", "-", "-", "-", "-", "-", "0"));
  r.environment.gate = judge_gate(0.92, 1.0);
  r.cluster.ranks_per_node = {4, 8};
  EXPECT_THAT(to_table(r), HasSubstr("FAILED"));
  EXPECT_THAT(to_table(r), HasSubstr("x 4,8 ranks"));
}

}  // namespace
}  // namespace railwave::report
