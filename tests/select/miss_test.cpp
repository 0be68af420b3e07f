// By how much anchors are missed, in figures that can be told from the edge.
#include "select/miss.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tables.hpp"

namespace railwave::select {
namespace {

using ::testing::HasSubstr;

/// 0.5 MiB, rho 1.1, kappa 1; factor 1.25, shapes within 0.06 and 0.04.
CostTable one_anchor() {
  CostTable table = empty_table(4);
  table.anchors = {anchor("0.5", "1.1", "1", Path::RailOnly)};
  return table;
}

void expect_miss(const Miss& miss, const char* off, const char* allowed, const char* beyond) {
  EXPECT_EQ(miss.off, off);
  EXPECT_EQ(miss.allowed, allowed);
  EXPECT_EQ(miss.beyond, beyond);
}

TEST(Miss, AMillionthBeyondTheEdgeIsSeen) {
  const CostTable table = one_anchor();
  const Anchor& at = table.anchors[0];
  const auto skew = [&](Ratio rho) {
    return rail_skew_miss(table, phase({kMiB, 2}, rho, {1, 1}), at);
  };
  expect_miss(skew({1'160'001, 1'000'000}), "0.060001", "0.06", "0.000001");
  expect_miss(skew({1'039'999, 1'000'000}), "0.060001", "0.06", "0.000001");
  expect_miss(skew({3, 2}), "0.4", "0.06", "0.34");
  // 1.16 + 1 / 3e15: off by 0.06 and sixteen places.
  expect_miss(skew({3'480'000'000'000'001, 3'000'000'000'000'000}), "0.0600000000000003", "0.06",
              "0.0000000000000003333");
  expect_miss(concentration_miss(table, phase({kMiB, 2}, {1, 1}, {13'123'457, 10}), at), "1312345",
              "0.04", "1312345");
}

TEST(Miss, PayloadsMissByAPartOfTheEdge) {
  const CostTable table = one_anchor();
  const Anchor& at = table.anchors[0];
  const auto payload = [&](Ratio bytes) {
    return payload_miss(table, phase(bytes, {1, 1}, {1, 1}), at);
  };
  // 0.625 MiB are 655,360 bytes, 0.4 MiB 419,430.4.
  expect_miss(payload({655'361, 1}), "1.250002", "1.25", "0.0001526");
  expect_miss(payload({419'430, 1}), "1.250001", "1.25", "0.00009537");
  expect_miss(payload({kMiB, 1}), "2", "1.25", "60");
}

TEST(Miss, TheSentenceHasBothFigures) {
  const auto selector = selector_of(one_anchor());
  const auto skewed =
      selector->explain(phase({655'360, 1}, {1'160'001, 1'000'000}, {1, 1}), 1).sentence;
  EXPECT_THAT(skewed, HasSubstr(": rail skew is off by 0.060001, at most 0.06 is eligible"));
  const auto small = selector->explain(phase({419'430, 1}, {11, 10}, {1, 1}), 1).sentence;
  EXPECT_THAT(small, HasSubstr(": payload is 1.250001 times smaller, at most 1.25 times is"));
}

}  // namespace
}  // namespace railwave::select
