// Records by source node, home rail and destination node.
#include "model/rail_counts.hpp"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace railwave {
namespace {

TEST(RailCounts, FromRanksAddsUpHomeRails) {
  Topology::Options options;
  options.ranks_per_node = {3, 1};
  options.rails = 2;
  options.home_rail = {{1, 0, 1}, {0}};
  const Topology topology = Topology::create(options).value();
  const std::vector<std::int64_t> records{9, 5, 8, 3, 7, 4, 6, 2};  // [P, N]
  const RailCounts counts = RailCounts::from_ranks(topology, records);
  EXPECT_EQ(counts.at(NodeId(0), RailId(1), NodeId(1)), 9);
  EXPECT_EQ(counts.at(NodeId(0), RailId(0), NodeId(1)), 3);
  EXPECT_EQ(counts.at(NodeId(1), RailId(0), NodeId(0)), 6);
  EXPECT_EQ(counts.at(NodeId(0), RailId(1), NodeId(0)), 0);  // the own node's rows
  EXPECT_EQ(counts.slice(NodeId(0), NodeId(1)), 12);
  EXPECT_EQ(counts.slice(NodeId(0), NodeId(0)), 0);
  EXPECT_EQ(counts.total(), 18);
}

TEST(RailCounts, OwnNodeIsNeverASlice) {
  RailCounts counts(2, 1);
  counts.set(NodeId(1), RailId(0), NodeId(1), 5);
  EXPECT_EQ(counts.slice(NodeId(1), NodeId(1)), 0);
  EXPECT_EQ(counts.total(), 0);
}

RC_GTEST_PROP(RailCountsProperty, SlicesOfRanksAddUp, ()) {
  const int nodes = *rc::gen::inRange(1, 5);
  const int ranks_per_node = *rc::gen::inRange(1, 6);
  const int rails = *rc::gen::inRange(1, 6);
  const Topology topology = Topology::uniform(nodes, ranks_per_node, rails).value();
  const auto records = *rc::gen::container<std::vector<std::int64_t>>(
      static_cast<std::size_t>(topology.ranks() * nodes),
      rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000));
  const RailCounts counts = RailCounts::from_ranks(topology, records);
  const RailCounts back = counts.transposed();
  std::int64_t total = 0;
  for (int s = 0; s < nodes; ++s) {
    for (int d = 0; d < nodes; ++d) {
      std::int64_t expected = 0;
      for (int local = 0; s != d && local < ranks_per_node; ++local) {
        expected += records[static_cast<std::size_t>((s * ranks_per_node + local) * nodes + d)];
      }
      RC_ASSERT(counts.slice(NodeId(s), NodeId(d)) == expected);
      RC_ASSERT(back.slice(NodeId(d), NodeId(s)) == expected);
      total += expected;
    }
  }
  RC_ASSERT(counts.total() == total);
  RC_ASSERT(back.total() == total);
}

RC_GTEST_PROP(RailCountsProperty, SlicesAreAllSlicesOfASource, ()) {
  const int nodes = *rc::gen::inRange(1, 30);
  const int rails = *rc::gen::inRange(1, 10);
  const std::int64_t most = *rc::gen::element(std::int64_t{9}, std::int64_t{1} << 40);
  RailCounts counts(nodes, rails);
  const NodeId s(*rc::gen::inRange(0, nodes));
  for (RailId r(0); r.value < rails; ++r.value) {
    for (NodeId d(0); d.value < nodes; ++d.value) {
      counts.set(s, r, d, *rc::gen::inRange<std::int64_t>(0, most));
    }
  }
  const auto slices = counts.slices(s);
  RC_ASSERT(static_cast<int>(slices.size()) == nodes);
  for (NodeId d(0); d.value < nodes; ++d.value) {
    RC_ASSERT(slices[d.index()] == counts.slice(s, d));
  }
}

TEST(RailCounts, TransposedKeepsTheRail) {
  RailCounts counts(3, 2);
  counts.set(NodeId(0), RailId(1), NodeId(2), 7);
  EXPECT_EQ(counts.transposed().at(NodeId(2), RailId(1), NodeId(0)), 7);
}

TEST(RailCountsDeathTest, SumsThatOverflowAreABrokenInvariant) {
  RailCounts counts(2, 2);
  counts.set(NodeId(0), RailId(0), NodeId(1), std::numeric_limits<std::int64_t>::max());
  counts.set(NodeId(0), RailId(1), NodeId(1), 1);
  EXPECT_DEATH((void)counts.slice(NodeId(0), NodeId(1)), "broken invariant");
  EXPECT_DEATH((void)counts.slices(NodeId(0)), "broken invariant");
}

TEST(RailCountsDeathTest, WrongNumberOfCounts) {
  const Topology topology = Topology::uniform(2, 2, 1).value();
  const std::vector<std::int64_t> three(3, 0);
  EXPECT_DEATH((void)RailCounts::from_ranks(topology, three), "3 counts for 4 ranks and 2 nodes");
}

}  // namespace
}  // namespace railwave
