// B, rho, kappa and phi where their values are known.
#include "model/descriptors.hpp"

#include <limits>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace railwave {
namespace {

NodePair pair(int s, int d) { return {NodeId(s), NodeId(d)}; }

RailCounts even_counts(int nodes, int rails, std::int64_t records) {
  RailCounts counts(nodes, rails);
  for (int s = 0; s < nodes; ++s) {
    for (int r = 0; r < rails; ++r) {
      for (int d = 0; d < nodes; ++d) {
        if (s != d) counts.set(NodeId(s), RailId(r), NodeId(d), records);
      }
    }
  }
  return counts;
}

/// Paper, appendix A.3: 32,768 tokens a node of 8 ranks, 7,168 bf16 elements, are 56 MiB a rank.
TEST(Descriptors, ReferencePayload) {
  RailCounts counts(4, 8);
  for (int s = 0; s < 4; ++s) {
    for (int r = 0; r < 8; ++r) counts.set(NodeId(s), RailId(r), NodeId((s + 1) % 4), 4096);
  }
  const auto found = describe(counts, {}, 7168 * 2, 32).value();
  EXPECT_EQ(found.payload, (Ratio{56 << 20, 1}));
}

TEST(Descriptors, EvenTraffic) {
  const auto found = describe(even_counts(4, 8, 5), {}, 100, 32).value();
  EXPECT_EQ(found.payload, (Ratio{4 * 8 * 3 * 5 * 100 / 32, 1}));
  EXPECT_EQ(found.rail_skew, (Ratio{1, 1}));
  EXPECT_EQ(found.receiver_concentration, (Ratio{1, 1}));
  EXPECT_EQ(found.fan_in, 3);  // concentration is even, fan-in is not
}

/// rho is R when each node uses one rail, and N * R when only one node sends.
TEST(Descriptors, SingleRailExtremes) {
  RailCounts each(4, 8);
  for (int s = 0; s < 4; ++s) each.set(NodeId(s), RailId(s), NodeId((s + 1) % 4), 10);
  EXPECT_EQ(describe(each, {}, 1, 32)->rail_skew, (Ratio{8, 1}));
  RailCounts alone(4, 8);
  alone.set(NodeId(2), RailId(3), NodeId(0), 10);
  EXPECT_EQ(describe(alone, {}, 1, 32)->rail_skew, (Ratio{32, 1}));
}

TEST(Descriptors, RailSkewAddsUpDestinations) {
  RailCounts counts(3, 2);
  counts.set(NodeId(0), RailId(0), NodeId(1), 3);
  counts.set(NodeId(0), RailId(0), NodeId(2), 4);
  counts.set(NodeId(1), RailId(1), NodeId(0), 5);
  EXPECT_EQ(describe(counts, {}, 1, 6)->rail_skew, (Ratio{7, 2}));
}

TEST(Descriptors, OneReceiverIsNodesTimesTheMean) {
  RailCounts counts(4, 2);
  for (const int s : {0, 1, 3}) counts.set(NodeId(s), RailId(0), NodeId(2), 200);
  const auto found = describe(counts, {}, 1024, 4).value();
  EXPECT_EQ(found.payload, (Ratio{600 * 1024 / 4, 1}));
  EXPECT_EQ(found.receiver_concentration, (Ratio{4, 1}));
  EXPECT_EQ(found.fan_in, 3);
}

TEST(Descriptors, WindowsAsSubmittedDecide) {
  const RailCounts counts = even_counts(3, 1, 2);
  const Windows one_by_one{
      {pair(0, 1)}, {pair(1, 2)}, {pair(2, 0), pair(1, 0)}, {pair(0, 2), pair(2, 1)}};
  const auto found = describe(counts, one_by_one, 1, 3).value();
  EXPECT_EQ(found.receiver_concentration, (Ratio{3, 1}));
  EXPECT_EQ(found.fan_in, 2);
  const Windows ring{{pair(0, 1), pair(1, 2), pair(2, 0)}, {pair(0, 2), pair(1, 0), pair(2, 1)}};
  EXPECT_EQ(describe(counts, ring, 1, 3)->receiver_concentration, (Ratio{1, 1}));
  EXPECT_EQ(describe(counts, ring, 1, 3)->fan_in, 1);
}

TEST(Descriptors, PairsWithoutRecordsAreNoSenders) {
  RailCounts counts(3, 1);
  counts.set(NodeId(0), RailId(0), NodeId(2), 1);
  EXPECT_EQ(describe(counts, {{pair(0, 2), pair(1, 2)}}, 1, 3)->fan_in, 1);
}

TEST(Descriptors, NothingRemoteIsAbsent) {
  for (const auto& counts : {RailCounts(1, 1), RailCounts(1, 4), RailCounts(4, 8)}) {
    const auto found = describe(counts, {}, 14336, 4).value();
    EXPECT_EQ(found.payload, (Ratio{0, 1}));
    EXPECT_FALSE(found.rail_skew);
    EXPECT_FALSE(found.receiver_concentration);
    EXPECT_EQ(found.fan_in, 0);
  }
}

TEST(Descriptors, PayloadIsAFraction) {
  RailCounts counts(2, 1);
  counts.set(NodeId(0), RailId(0), NodeId(1), 3);
  EXPECT_EQ(describe(counts, {}, 10, 4)->payload, (Ratio{15, 2}));
  EXPECT_DOUBLE_EQ(describe(counts, {}, 10, 4)->payload.value(), 7.5);
}

TEST(Descriptors, OverflowOfThePayload) {
  RailCounts counts(2, 1);
  counts.set(NodeId(0), RailId(0), NodeId(1), std::numeric_limits<std::int64_t>::max() / 2);
  // 2 ranks: the product passes 64 bits, the quotient does not.
  EXPECT_TRUE(describe(counts, {}, 4, 2));
  const auto overflow = describe(counts, {}, 8, 2);
  ASSERT_FALSE(overflow);
  EXPECT_EQ(overflow.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(overflow.error().field, "row_bytes");
}

TEST(Descriptors, Rejected) {
  EXPECT_EQ(describe(RailCounts(2, 1), {}, 0, 2).error().field, "row_bytes");
  EXPECT_EQ(describe(RailCounts(2, 1), {}, -4, 2).error().field, "row_bytes");
  EXPECT_EQ(describe(RailCounts(2, 1), {}, 4, 0).error().field, "ranks");
}

/// Multiplying all counts changes B alone, and B in proportion.
RC_GTEST_PROP(DescriptorsProperty, SkewsHaveNoScale, ()) {
  const int nodes = *rc::gen::inRange(2, 6);
  const int rails = *rc::gen::inRange(1, 9);
  const auto factor = *rc::gen::inRange<std::int64_t>(1, 1'000'000);
  RailCounts counts(nodes, rails);
  RailCounts scaled(nodes, rails);
  for (int s = 0; s < nodes; ++s) {
    for (int r = 0; r < rails; ++r) {
      for (int d = 0; d < nodes; ++d) {
        if (s == d) continue;
        const auto records = *rc::gen::inRange<std::int64_t>(0, 50);
        counts.set(NodeId(s), RailId(r), NodeId(d), records);
        scaled.set(NodeId(s), RailId(r), NodeId(d), factor * records);
      }
    }
  }
  const auto one = describe(counts, {}, 3, nodes).value();
  const auto many = describe(scaled, {}, 3, nodes).value();
  RC_ASSERT(one.rail_skew == many.rail_skew);
  RC_ASSERT(one.receiver_concentration == many.receiver_concentration);
  RC_ASSERT(one.fan_in == many.fan_in);
  RC_ASSERT(many.payload.num * one.payload.den == factor * one.payload.num * many.payload.den);
  RC_ASSERT(std::gcd(one.payload.num, one.payload.den) == 1);
}

}  // namespace
}  // namespace railwave
