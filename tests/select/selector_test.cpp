// Ties, one rail, no remote bytes, other clusters, explanations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/descriptors.hpp"
#include "tables.hpp"

namespace railwave::select {
namespace {

using ::testing::HasSubstr;

/// The answer with anchors a, b and with b, a: the anchor's place in the file.
std::vector<int> both_orders(const Anchor& a, const Anchor& b, const Descriptors& x) {
  CostTable table = empty_table();
  table.anchors = {a, b};
  const int first = selector_of(table)->select(x).anchor;
  table.anchors = {b, a};
  return {first, selector_of(table)->select(x).anchor};
}

const std::vector<int> kTie{0, 0};
const std::vector<int> kFirstIsNearer{0, 1};
const std::vector<int> kSecondIsNearer{1, 0};

TEST(Ties, PayloadsAsManyTimesLargerAndSmallerTieAlsoOnTheEdge) {
  const auto low = anchor("4", "1", "1", Path::Native);
  const auto high = anchor("6.25", "1", "1", Path::PermutationOnly);
  EXPECT_EQ(both_orders(low, high, phase({5 * kMiB, 1}, {1, 1}, {1, 1})), kTie);
  const auto seven = anchor("7", "1", "1", Path::Native);
  const auto more = anchor("8.47", "1", "1", Path::PermutationOnly);  // 7 * 1.1 * 1.1
  const Ratio between{77 * kMiB, 10};
  EXPECT_EQ(both_orders(seven, more, phase(between, {1, 1}, {1, 1})), kTie);
  EXPECT_EQ(both_orders(seven, more, phase({between.num - 10, 10}, {1, 1}, {1, 1})),
            kFirstIsNearer);
  EXPECT_EQ(both_orders(seven, more, phase({between.num + 10, 10}, {1, 1}, {1, 1})),
            kSecondIsNearer);
}

TEST(Ties, ShapesOnEitherSideTie) {
  const auto low = anchor("7", "1", "1", Path::Native);
  const auto high = anchor("7", "1", "1.04", Path::RailOnly);
  EXPECT_EQ(both_orders(low, high, phase({7 * kMiB, 1}, {1, 1}, {102, 100})), kTie);
  EXPECT_EQ(both_orders(low, high, phase({7 * kMiB, 1}, {1, 1}, {1'019'999'999, 1'000'000'000})),
            kFirstIsNearer);
  EXPECT_EQ(both_orders(low, high, phase({7 * kMiB, 1}, {1, 1}, {1'020'000'001, 1'000'000'000})),
            kSecondIsNearer);
}

TEST(Ties, ThreeAndFourIsAsFarAsFive) {
  // From (1, 1): 0.021 / 7 = 0.003 and 0.008 / 2 = 0.004, against 0.010 / 2 = 0.005.
  const auto aslant = anchor("7", "1.021", "1.008", Path::Native);
  const auto straight = anchor("7", "1", "1.01", Path::RailOnly);
  EXPECT_EQ(both_orders(aslant, straight, phase({8 * kMiB, 1}, {1, 1}, {1, 1})), kTie);
  const auto nearer = anchor("7", "1", "1.009999", Path::RailOnly);
  EXPECT_EQ(both_orders(aslant, nearer, phase({8 * kMiB, 1}, {1, 1}, {1, 1})), kSecondIsNearer);
}

TEST(Selector, WithoutRemoteBytesThePathIsNative) {
  // One node with four ranks: nothing is sent, the skews are absent.
  const auto topology = Topology::uniform(1, 4, 4).value();
  const auto x = describe(RailCounts(1, 4), {}, 1024, topology.ranks()).value();
  ASSERT_FALSE(x.rail_skew);
  CostTable table = empty_table(4);
  table.cluster = ClusterShape::of(topology);
  const auto explained = selector_of(table)->explain(x, 3);
  EXPECT_EQ(explained.selection, (Selection{Path::Native, Cause::NoRemoteBytes, -1}));
  EXPECT_EQ(explained.sentence, "no byte leaves a node, so native");
}

TEST(Selector, WithOneRailTheSecondCoordinateIsZero) {
  // Two nodes, one rail: R - 1 = 0. All traffic leaves node 0, so its rail is twice the mean.
  const auto topology = Topology::uniform(2, 1, 1).value();
  RailCounts counts(2, 1);
  counts.set(NodeId(0), RailId(0), NodeId(1), 2048);
  const auto x = describe(counts, {}, 1024, topology.ranks()).value();
  EXPECT_EQ(*x.rail_skew, (Ratio{2, 1}));
  for (const char* divisor : {"0", "7"}) {
    CostTable table = empty_table(1);
    table.cluster = ClusterShape::of(topology);
    table.scales.rail_skew_divisor = decimal(divisor);
    table.anchors = {anchor("1", "1", "2", Path::PermutationOnly)};
    const auto selector = selector_of(table);
    EXPECT_EQ(selector->select(x).path, Path::PermutationOnly) << divisor;
    EXPECT_EQ(selector->explain(x, 1).eligible.at(0).distance, 0.0) << divisor;
  }
}

TEST(Selector, TablesOfOneRailAndOfEightCanBeForcedOnEachOther) {
  for (const auto& [made_for, used_on] : {std::pair{1, 8}, std::pair{8, 1}}) {
    CostTable table = empty_table(made_for);
    table.anchors = {anchor("7", "1", "1", Path::Native)};
    const ClusterShape cluster{{8, 8, 8, 8}, used_on};
    const auto forced = make_selector(table, cluster, {Policy::Paper, true});
    ASSERT_TRUE(forced);
    EXPECT_EQ((*forced)->select(phase({7 * kMiB, 1}, {5, 1}, {1, 1})).path, Path::Native);
  }
}

TEST(Selector, RefusesATableOfAnotherCluster) {
  const CostTable table = empty_table();
  for (const ClusterShape& cluster :
       {ClusterShape{{8, 8, 8, 8}, 4}, ClusterShape{{8, 8, 8}, 8}, ClusterShape{{8, 8, 8, 4}, 8}}) {
    const auto refused = make_selector(table, cluster);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(refused.error().field, "cluster");
    EXPECT_THAT(refused.error().message, HasSubstr("made for 4 nodes of 8 ranks, 8 rails"));
    EXPECT_THAT(refused.error().message, HasSubstr("this cluster has " + to_string(cluster)));
  }
  EXPECT_EQ(to_string(ClusterShape{{8, 8, 4}, 1}), "3 nodes of 8, 8, 4 ranks, 1 rail");
}

TEST(Selector, RefusesATableThatDoesNotPassItsCheck) {
  CostTable table = empty_table();
  table.anchors = {anchor("7", "1", "1", Path::Native), anchor("7.0", "1", "1.000", Path::Joint)};
  const auto refused = make_selector(table, table.cluster);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "/anchors/1");
  EXPECT_THAT(refused.error().message, HasSubstr("same point as /anchors/0"));
}

TEST(Selector, AnEmptyTableSaysJoint) {
  const auto explained = selector_of(empty_table())->explain(phase({kMiB, 1}, {1, 1}, {1, 1}), 3);
  EXPECT_EQ(explained.selection.path, Path::Joint);
  EXPECT_EQ(explained.sentence, "the table has no anchor, so joint");
}

TEST(Explanation, SaysWhichAnchorWonAndAtWhatDistance) {
  CostTable table = empty_table();
  table.anchors = {anchor("28", "1", "1", Path::Native), anchor("8", "1.07", "1", Path::RailOnly),
                   anchor("7", "1", "1.01", Path::PermutationOnly)};
  const auto explained = selector_of(table)->explain(phase({7 * kMiB, 1}, {1, 1}, {1, 1}), 3);
  EXPECT_EQ(explained.sentence,
            "anchor 2 (7 MiB, rail skew 1, receiver concentration 1.01: permutation_only) is the "
            "nearest of 2 eligible, at distance 0.0050");
  ASSERT_EQ(explained.eligible.size(), 2U);
  const Neighbour& second = explained.eligible[1];
  EXPECT_EQ(second.anchor, 1);
  EXPECT_NEAR(second.payload.coordinate, 0.1926450779, 1e-9);  // log2(8 / 7)
  EXPECT_NEAR(second.payload.radius, 0.3219280949, 1e-9);      // log2(1.25)
  EXPECT_NEAR(second.rail_skew.coordinate, 0.01, 1e-9);
  EXPECT_NEAR(second.rail_skew.measure, -0.07, 1e-12);
  EXPECT_NEAR(second.distance, 0.19290445, 1e-8);
}

TEST(Explanation, SaysByHowMuchTheNearestRejectedAnchorsMissed) {
  CostTable table = empty_table();
  table.anchors = {anchor("28", "1", "1", Path::Native), anchor("7", "1", "3", Path::Native),
                   anchor("7", "1", "1", Path::PermutationOnly)};
  const auto explained = selector_of(table)->explain(phase({875 * kMiB, 100}, {7, 5}, {1, 1}), 2);
  EXPECT_EQ(explained.selection.path, Path::Joint);
  EXPECT_EQ(explained.sentence,
            "no anchor is eligible, so joint; the nearest, anchor 2 (7 MiB, rail skew 1, receiver "
            "concentration 1: permutation_only), is out of reach: rail skew is off by 0.4, at most "
            "0.14 is eligible");
  ASSERT_EQ(explained.rejected.size(), 2U);
  const Neighbour& nearest = explained.rejected[0];
  EXPECT_TRUE(nearest.payload.inside);
  EXPECT_FALSE(nearest.rail_skew.inside);
  EXPECT_TRUE(nearest.receiver_concentration.inside);
  EXPECT_NEAR(nearest.payload.measure, 1.25, 1e-12);
  EXPECT_NEAR(nearest.rail_skew.coordinate, 0.4 / 7, 1e-9);
  EXPECT_EQ(explained.rejected[1].anchor, 1);
  EXPECT_NEAR(explained.rejected[1].receiver_concentration.measure, -2, 1e-12);
}

}  // namespace
}  // namespace railwave::select
