// Worked examples of RailBalance.
#include "plan/rail_balance.hpp"

#include <memory_resource>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace railwave::plan {
namespace {

using Loads = std::pmr::vector<std::int64_t>;

constexpr NodePair kSlice{NodeId(0), NodeId(1)};

Topology two_nodes(int rails, std::vector<bool> live_at_destination) {
  Topology::Options options;
  options.ranks_per_node = {4, 3};
  options.rails = rails;
  options.live = {std::vector<bool>(static_cast<std::size_t>(rails), true),
                  std::move(live_at_destination)};
  return Topology::create(options).value();
}

RailCounts slice_counts(const Loads& by_rail) {
  RailCounts counts(2, static_cast<int>(by_rail.size()));
  for (std::size_t r = 0; r < by_rail.size(); ++r) {
    counts.set(NodeId(0), RailId(r), NodeId(1), by_rail[r]);
  }
  return counts;
}

std::int64_t moved(const SliceAssignment& slice) {
  std::int64_t sum = 0;
  for (const Segment& segment : slice.by_home) {
    if (segment.home != segment.rail) sum += segment.count;
  }
  return sum;
}

Segment segment(int home, std::int64_t first, int rail, std::int64_t slot, std::int64_t count) {
  return {RailId(home), first, RailId(rail), slot, count};
}

/// Case D14 and the worked example of DESIGN 5.1: rail 2 is missing at the destination.
class OneRailMissing : public ::testing::Test {
 protected:
  Topology topology_ = two_nodes(4, {true, true, false, true});
  RailCounts counts_ = slice_counts({10, 20, 30, 40});
};

TEST_F(OneRailMissing, QuotasFollowTheStart) {
  EXPECT_EQ(slice_quotas(topology_, counts_, kSlice, 0), (Loads{34, 33, 0, 33}));
  EXPECT_EQ(slice_quotas(topology_, counts_, kSlice, 1), (Loads{33, 34, 0, 33}));
  EXPECT_EQ(slice_quotas(topology_, counts_, kSlice, 2), (Loads{33, 33, 0, 34}));
}

TEST_F(OneRailMissing, SurplusMeetsDeficitInOrder) {
  const auto slice = balance_slice(topology_, counts_, kSlice, 0);
  const std::pmr::vector<Segment> by_home{segment(0, 0, 0, 0, 10),  segment(1, 0, 1, 0, 20),
                                          segment(2, 0, 0, 10, 24), segment(2, 24, 1, 20, 6),
                                          segment(3, 0, 3, 0, 33),  segment(3, 33, 1, 26, 7)};
  const std::pmr::vector<Segment> by_rail{by_home[0], by_home[2], by_home[1],
                                          by_home[3], by_home[5], by_home[4]};
  EXPECT_EQ(slice.by_home, by_home);
  EXPECT_EQ(slice.by_rail, by_rail);
  EXPECT_EQ(slice.load, (Loads{34, 33, 0, 33}));
}

TEST_F(OneRailMissing, RecordsMovedByStart) {
  EXPECT_EQ(moved(balance_slice(topology_, counts_, kSlice, 0)), 37);
  EXPECT_EQ(moved(balance_slice(topology_, counts_, kSlice, 1)), 37);
  EXPECT_EQ(moved(balance_slice(topology_, counts_, kSlice, 2)), 36);
}

TEST_F(OneRailMissing, HomeRailPathsMoveTheStrandedOnly) {
  const auto slice = keep_home_rails(topology_, counts_, kSlice, 1);
  EXPECT_EQ(moved(slice), 30);
  EXPECT_EQ(slice.load, (Loads{20, 30, 0, 50}));
  // The first three stranded records go to rails 1, 3, 0, behind what is at home there.
  EXPECT_EQ(slice.by_home[2], segment(2, 0, 1, 20, 1));
  EXPECT_EQ(slice.by_home[3], segment(2, 1, 3, 40, 1));
  EXPECT_EQ(slice.by_home[4], segment(2, 2, 0, 10, 1));
}

TEST(RailBalance, OneEligibleRailTakesAllInFewSegments) {
  const Topology topology = two_nodes(3, {false, true, false});
  const RailCounts counts = slice_counts({100000, 5, 100000});
  for (const auto& slice :
       {keep_home_rails(topology, counts, kSlice, 0), balance_slice(topology, counts, kSlice, 0)}) {
    EXPECT_EQ(slice.load, (Loads{0, 200005, 0}));
    EXPECT_EQ(slice.by_rail,
              (std::pmr::vector<Segment>{segment(1, 0, 1, 0, 5), segment(0, 0, 1, 5, 100000),
                                         segment(2, 0, 1, 100005, 100000)}));
  }
}

TEST(RailBalance, EmptySliceHasNoSegment) {
  const Topology topology = two_nodes(2, {true, true});
  const auto slice = balance_slice(topology, slice_counts({0, 0}), kSlice, 1);
  EXPECT_TRUE(slice.by_home.empty());
  EXPECT_TRUE(slice.by_rail.empty());
  EXPECT_EQ(slice.load, (Loads{0, 0}));
}

TEST(RailBalance, SourcesStartAtDifferentRails) {
  const Topology topology = Topology::uniform(4, 4, 4).value();
  const RailCounts none(4, 4);
  EXPECT_EQ(remainder_starts(topology, none, NodeId(0)), (std::pmr::vector<int>{-1, 0, 0, 0}));
  EXPECT_EQ(remainder_starts(topology, none, NodeId(3)), (std::pmr::vector<int>{3, 3, 3, -1}));
}

TEST(RailBalance, StartsAddUpRemainders) {
  const Topology topology = Topology::uniform(4, 4, 4).value();
  RailCounts counts(4, 4);
  counts.set(NodeId(1), RailId(0), NodeId(0), 7);  // remainder 3
  counts.set(NodeId(1), RailId(2), NodeId(2), 6);  // remainder 2
  EXPECT_EQ(remainder_starts(topology, counts, NodeId(1)), (std::pmr::vector<int>{1, -1, 0, 2}));
}

TEST(RailBalance, HugeCountsStayExact) {
  const Topology topology = two_nodes(3, {true, true, true});
  const std::int64_t most = std::int64_t{3'000'000'000'000'000'000};
  const auto slice = balance_slice(topology, slice_counts({most + 2, 0, most}), kSlice, 0);
  EXPECT_EQ(std::accumulate(slice.load.begin(), slice.load.end(), std::int64_t{0}), 2 * most + 2);
  EXPECT_EQ(slice.load, (Loads{most / 3 * 2 + 1, most / 3 * 2 + 1, most / 3 * 2}));
}

}  // namespace
}  // namespace railwave::plan
