// What a table may hold.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tables.hpp"

namespace railwave::select {
namespace {

CostTable good() {
  CostTable table = empty_table();
  table.anchors = {anchor("7", "1", "1", Path::Native), anchor("14", "1", "1", Path::Joint)};
  table.anchors[0].times = {{Path::Joint, 10, 0.5, 0.6, 0.7}, {Path::Native, 10, 0.4, 0.4, 0.4}};
  table.rejected = {{{decimal("9"), decimal("2"), decimal("3")}, Path::Native, "noisy", {}}};
  return table;
}

TEST(CostTableCheck, NamesThePlaceOfWhatIsOutOfRange) {
  ASSERT_TRUE(check(good()));
  struct Case {
    const char* pointer;
    void (*spoil)(CostTable&);
  };
  for (const auto& [pointer, spoil] : {
           Case{"/cluster/ranks_per_node", [](CostTable& t) { t.cluster.ranks_per_node = {}; }},
           Case{"/cluster/ranks_per_node/1", [](CostTable& t) { t.cluster.ranks_per_node[1] = 0; }},
           Case{"/cluster/rails", [](CostTable& t) { t.cluster.rails = 0; }},
           Case{"/anchors/1/path", [](CostTable& t) { t.anchors[1].path = Path::Spray; }},
           Case{"/anchors/0/times/linear",
                [](CostTable& t) { t.anchors[0].times[1].path = Path::Linear; }},
           Case{"/rejected/0/candidate",
                [](CostTable& t) { t.rejected[0].candidate = Path::Birkhoff; }},
           Case{"/scales/payload_reference",
                [](CostTable& t) { t.scales.payload_reference = decimal("0"); }},
           Case{"/scales/payload_factor",
                [](CostTable& t) { t.scales.payload_factor = decimal("0.999999"); }},
           Case{"/scales/payload_factor",
                [](CostTable& t) { t.scales.payload_factor = decimal("4.000001"); }},
           Case{"/scales/rail_skew_divisor",
                [](CostTable& t) { t.scales.rail_skew_divisor = decimal("0"); }},
           Case{"/scales/receiver_concentration_divisor",
                [](CostTable& t) { t.scales.receiver_concentration_divisor = decimal("0.0009"); }},
           Case{"/scales/shape_radius",
                [](CostTable& t) { t.scales.shape_radius = decimal("1.000001"); }},
           Case{"/anchors/1/payload",
                [](CostTable& t) { t.anchors[1].at.payload = decimal("0.0"); }},
           Case{"/anchors/1/payload",
                [](CostTable& t) { t.anchors[1].at.payload = decimal("953675"); }},
           Case{"/anchors/1/rail_skew",
                [](CostTable& t) { t.anchors[1].at.rail_skew = decimal("0.99"); }},
           Case{
               "/anchors/0/receiver_concentration",
               [](CostTable& t) { t.anchors[0].at.receiver_concentration = decimal("1000000.1"); }},
           Case{"/anchors/1", [](CostTable& t) { t.anchors[1].at.payload = decimal("7.000"); }},
           Case{"/anchors/0/times/native", [](CostTable& t) { t.anchors[0].times[1].samples = 0; }},
           Case{"/anchors/0/times/native", [](CostTable& t) { t.anchors[0].times[1].p50 = 0.3; }},
           Case{"/anchors/0/times/joint", [](CostTable& t) { t.anchors[0].times[0].p10 = -1; }},
           Case{"/anchors/0/times/joint",
                [](CostTable& t) {
                  t.anchors[0].times[0].p90 = std::numeric_limits<double>::infinity();
                }},
           Case{"/anchors/0/times/joint",
                [](CostTable& t) {
                  t.anchors[0].times[0].p50 = std::numeric_limits<double>::quiet_NaN();
                }},
           Case{"/anchors/0/times/joint",
                [](CostTable& t) { t.anchors[0].times[1].path = Path::Joint; }},
           Case{"/rejected/0/rail_skew",
                [](CostTable& t) { t.rejected[0].at.rail_skew = decimal("0"); }},
       }) {
    CostTable table = good();
    spoil(table);
    const auto checked = check(table);
    ASSERT_FALSE(checked) << pointer;
    EXPECT_EQ(checked.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(checked.error().field, pointer) << checked.error().message;
  }
}

TEST(CostTableCheck, SaysTheRangeAndTheValue) {
  CostTable table = good();
  table.anchors[1].at.rail_skew = decimal("0.99");
  EXPECT_EQ(check(table).error().message, "expected 1 to 1000000, not 0.99");
}

TEST(CostTableCheck, ARailSkewDivisorOfZeroIsForOneRail) {
  CostTable table = empty_table(1);
  EXPECT_EQ(table.scales.rail_skew_divisor.text(), "0");
  EXPECT_TRUE(check(table));
}

TEST(CostTableCheck, LimitsTheNumberOfPoints) {
  CostTable table = empty_table();
  table.rejected.resize(kMostPoints + 1);
  EXPECT_EQ(check(table).error().field, "/rejected");
}

}  // namespace
}  // namespace railwave::select
