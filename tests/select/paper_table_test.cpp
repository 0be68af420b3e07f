// The shipped table is the paper's Table 4, and gives its answers (App. A.3).
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "select/cost_table_file.hpp"
#include "select/selector.hpp"
#include "tables.hpp"

namespace railwave::select {
namespace {

constexpr const char* kFile = RAILWAVE_TABLES "/paper-h800.json";

CostTable paper() {
  const auto table = read_cost_table(kFile);
  EXPECT_TRUE(table) << to_string(table.error());
  return table.value_or(empty_table());
}

TEST(PaperTable, IsTable4WithTheScalesOfAppendixA3) {
  CostTable expected = empty_table();
  expected.anchors = {
      anchor("7", "1", "1", Path::PermutationOnly), anchor("7", "1", "3", Path::PermutationOnly),
      anchor("14", "1", "1", Path::PermutationOnly), anchor("28", "1", "1", Path::Native)};
  CostTable table = paper();
  EXPECT_THAT(table.where, ::testing::HasSubstr("H800"));
  EXPECT_THAT(table.anchors[1].note, ::testing::HasSubstr("about 3"));
  table.where = expected.where;
  table.how = expected.how;
  table.anchors[1].note.clear();
  EXPECT_EQ(table, expected);
}

TEST(PaperTable, IsWrittenAsTheWriterWrites) {
  std::ifstream file(kFile, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(to_json(paper()).value(), text);
}

TEST(PaperTable, AnswersOfTable4) {
  const auto selector = selector_of(paper());
  constexpr Ratio kEven{1, 1};
  constexpr Ratio kLow{1, 1};
  constexpr Ratio kHigh{3, 1};
  struct Case {
    std::int64_t quarter_mib;
    Ratio concentration;
    Selection answer;
  };
  constexpr Selection kJoint{Path::Joint, Cause::NoAnchor, -1};
  for (const auto& [quarters, concentration, answer] : {
           Case{35, kLow, {Path::PermutationOnly, Cause::NearestAnchor, 0}},  // 8.75 MiB
           Case{35, kHigh, {Path::PermutationOnly, Cause::NearestAnchor, 1}},
           Case{70, kLow, {Path::PermutationOnly, Cause::NearestAnchor, 2}},  // 17.5 MiB
           Case{70, kHigh, kJoint},
           Case{140, kLow, {Path::Native, Cause::NearestAnchor, 3}},  // 35 MiB
           Case{140, kHigh, kJoint},
       }) {
    const Ratio payload{quarters * kMiB / 4, 1};
    EXPECT_EQ(selector->select(phase(payload, kEven, concentration)), answer)
        << quarters << "/4 MiB, concentration " << concentration.num;
    // A byte in a thousand more is beyond the last anchor's edge.
    EXPECT_EQ(selector->select(phase({payload.num * 1000 + 1, 1000}, kEven, concentration)),
              kJoint);
    // "0.14 in rail skew": the edge itself, and beyond.
    EXPECT_EQ(selector->select(phase(payload, {114, 100}, concentration)), answer);
    EXPECT_EQ(selector->select(phase(payload, {1'140'001, 1'000'000}, concentration)), kJoint);
  }
}

TEST(PaperTable, OutsideOfAllNeighbourhoodsIsJoint) {
  const auto selector = selector_of(paper());
  for (const std::int64_t mib : {1, 5, 10, 20, 21, 56, 1000}) {
    EXPECT_EQ(selector->select(phase({mib * kMiB, 1}, {1, 1}, {1, 1})).path, Path::Joint) << mib;
  }
  EXPECT_EQ(selector->select(phase({7 * kMiB, 1}, {1, 1}, {2, 1})).path, Path::Joint);
  EXPECT_EQ(selector->select(phase({7 * kMiB, 1}, {8, 3}, {1, 1})).path, Path::Joint);
}

}  // namespace
}  // namespace railwave::select
