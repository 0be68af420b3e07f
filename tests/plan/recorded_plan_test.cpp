// Plans written out: routes of single records, and what differs between two plans.
#include "plan/recorded_plan.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/plan_compare.hpp"
#include "plan/random_cluster.hpp"
#include "plan/table8.hpp"

namespace railwave::plan {
namespace {

using testing::HasSubstr;

RecordedPlan planned(const Topology& topology, const RailCounts& counts, Path path,
                     Windows windows = {}) {
  return record(*DispatchPlan::create(topology, counts, {path, std::move(windows)}));
}

/// Four nodes of two ranks with two rails, 4 records a home rail 0 and 1 a home rail 1 per pair.
RailCounts uneven_counts() {
  RailCounts counts(4, 2);
  for (NodeId s(0); s.value < 4; ++s.value) {
    for (NodeId d(0); d.value < 4; ++d.value) {
      if (s == d) continue;
      counts.set(s, RailId(0), d, 4);
      counts.set(s, RailId(1), d, 1);
    }
  }
  return counts;
}

Topology four_nodes() { return *Topology::uniform(4, 2, 2); }

RC_GTEST_PROP(RecordedPlanProperty, EveryRecordTakesTheRouteOfTheDefinitions, ()) {
  const auto cluster = *reference::any_cluster({4, 5, 12, true});
  const Topology topology = topology_of(cluster);
  for (const Path path : kAllPaths) {
    const RecordedPlan plan = planned(topology, counts_of(cluster), path);
    for (const RecordedSlice& slice : plan.slices) {
      const int s = slice.pair.source.value;
      const int d = slice.pair.destination.value;
      const auto placed =
          balances(path) ? reference::balanced(cluster, s, d) : reference::at_home(cluster, s, d);
      std::int64_t moved = 0;
      for (const auto& [home, index, rail, slot] : placed) {
        const auto route = route_of(plan, slice.pair, RailId(home), index);
        RC_ASSERT(route.has_value());
        RC_ASSERT(route->egress.value == rail);
        RC_ASSERT(route->slot == slot);
        RC_ASSERT(route->moved == (home != rail));
        RC_ASSERT(route->ingress.value == reference::chi(cluster, s, d, rail));
        RC_ASSERT(topology.node_of(route->sender).value == s);
        RC_ASSERT(topology.node_of(route->receiver).value == d);
        RC_ASSERT(route->load == reference::load(placed, rail));
        const auto& window = plan.windows[route->window];
        RC_ASSERT(std::find(window.begin(), window.end(), slice.pair) != window.end());
        moved += home != rail ? 1 : 0;
      }
      RC_ASSERT(moved_records(slice) == moved);
    }
  }
}

// 3 ranks on 1 rail against 2 ranks: slot j is sent by driver j mod 3 and received by (j mod 3) mod
// 2.
TEST(RecordedPlan, DriversTakeTurns) {
  const Topology topology = *Topology::create({{3, 2}, 1, {}, {}, {}, {}});
  RailCounts counts(2, 1);
  counts.set(NodeId(0), RailId(0), NodeId(1), 6);
  const RecordedPlan plan = planned(topology, counts, Path::Native);
  std::vector<std::pair<int, int>> ends;
  for (int index = 0; index < 4; ++index) {
    const auto route = route_of(plan, {NodeId(0), NodeId(1)}, RailId(0), index);
    ASSERT_TRUE(route);
    ends.emplace_back(route->sender.value, route->receiver.value);
  }
  EXPECT_EQ(ends, (std::vector<std::pair<int, int>>{{0, 3}, {1, 4}, {2, 3}, {0, 3}}));
}

TEST(RecordedPlan, BirkhoffStagesShareASlicesSlots) {
  RailCounts counts(3, 1);
  counts.set(NodeId(0), RailId(0), NodeId(1), 5);
  counts.set(NodeId(0), RailId(0), NodeId(2), 2);
  counts.set(NodeId(1), RailId(0), NodeId(2), 5);
  counts.set(NodeId(2), RailId(0), NodeId(0), 3);
  const RecordedPlan plan = planned(*Topology::uniform(3, 1, 1), counts, Path::Birkhoff);
  for (const RecordedSlice& slice : plan.slices) {
    std::int64_t index = 0;
    for (const RecordedSend& send : slice.sends) {
      for (std::int64_t i = 0; i < send.loads[0]; ++i, ++index) {
        const auto route = route_of(plan, slice.pair, RailId(0), index);
        ASSERT_TRUE(route);
        EXPECT_EQ(route->window, send.window);
      }
    }
    EXPECT_EQ(index, counts.slice(slice.pair.source, slice.pair.destination));
  }
}

TEST(RecordedPlan, WhatIsNotThereHasNoRoute) {
  const RecordedPlan plan = planned(four_nodes(), uneven_counts(), Path::Joint);
  const auto sentence = [&](NodePair pair, int home, std::int64_t index) {
    return route_of(plan, pair, RailId(home), index).error().message;
  };
  const NodePair pair{NodeId(0), NodeId(1)};
  EXPECT_THAT(sentence({NodeId(1), NodeId(1)}, 0, 0), HasSubstr("slice (1, 1): the plan has no"));
  EXPECT_THAT(sentence(pair, 2, 0), HasSubstr("rail 2 is not below 2"));
  EXPECT_THAT(sentence(pair, 0, 4), HasSubstr("record 4 of home rail 0: there are 4"));
  EXPECT_THAT(sentence(pair, 0, -1), HasSubstr("record -1"));
  RecordedPlan torn = plan;
  torn.slices[0].segments.erase(torn.slices[0].segments.begin());
  EXPECT_THAT(route_of(torn, pair, RailId(0), 0).error().message,
              HasSubstr("gives this record no"));
  torn = plan;
  torn.slices[0].sends.clear();
  EXPECT_THAT(route_of(torn, pair, RailId(0), 0).error().message, HasSubstr("no window sends"));
}

TEST(PlanCompare, APlanDoesNotDifferFromItself) {
  for (const Path path : kAllPaths) {
    const RecordedPlan plan = planned(four_nodes(), uneven_counts(), path, table8::extreme());
    EXPECT_EQ(compare(plan, plan), PlanDifference{});
    RecordedPlan overlapping = plan;
    overlapping.slices[0].segments[0].count += 3;
    EXPECT_EQ(compare(overlapping, overlapping), PlanDifference{});
  }
}

// 5 records a pair on two rails: 3 and 2, so home rail 0 gives one or two of its four away.
TEST(PlanCompare, RailOnlyMovesWhatNativeKeepsAndKeepsTheWindows) {
  const RecordedPlan native =
      planned(four_nodes(), uneven_counts(), Path::Native, table8::extreme());
  const RecordedPlan balanced =
      planned(four_nodes(), uneven_counts(), Path::RailOnly, table8::extreme());
  const PlanDifference difference = compare(native, balanced);
  EXPECT_TRUE(difference.other_path);
  EXPECT_FALSE(difference.other_topology || difference.other_counts || difference.other_windows);
  ASSERT_EQ(difference.slices.size(), 12U);
  std::int64_t moved = 0;
  for (const RecordedSlice& slice : balanced.slices) moved += moved_records(slice);
  EXPECT_EQ(difference.elsewhere, moved);
  EXPECT_GE(moved, 12);
  EXPECT_LE(moved, 24);
  EXPECT_TRUE(difference.slices[0].other_loads);
  EXPECT_FALSE(difference.slices[0].other_windows);
}

TEST(PlanCompare, WavesAreOtherWindows) {
  const RecordedPlan native =
      planned(four_nodes(), uneven_counts(), Path::Native, table8::extreme());
  const RecordedPlan waves = planned(four_nodes(), uneven_counts(), Path::PermutationOnly);
  const PlanDifference difference = compare(native, waves);
  EXPECT_TRUE(difference.other_windows);
  EXPECT_EQ(difference.elsewhere, 0);
  for (const SliceDifference& slice : difference.slices) {
    EXPECT_TRUE(slice.other_windows);
    EXPECT_FALSE(slice.other_loads);
  }
}

TEST(PlanCompare, TheOrderOfPairsInAWindowIsNoDifference) {
  const RecordedPlan plan = planned(four_nodes(), uneven_counts(), Path::Joint);
  RecordedPlan turned = plan;
  for (Window& window : turned.windows) std::reverse(window.begin(), window.end());
  EXPECT_EQ(compare(plan, turned), PlanDifference{});
}

/// Two nodes' pairs meet in four windows; the pair (0, 1) sends in two of them.
RecordedPlan two_portions() {
  RailCounts counts(3, 2);
  counts.set(NodeId(0), RailId(0), NodeId(1), 35);
  counts.set(NodeId(0), RailId(1), NodeId(1), 35);
  counts.set(NodeId(2), RailId(0), NodeId(0), 4);
  RecordedPlan plan{*Topology::uniform(3, 2, 2), counts, Path::Birkhoff};
  plan.windows = {{{NodeId(0), NodeId(1)}}, {{NodeId(0), NodeId(1)}, {NodeId(2), NodeId(0)}}};
  plan.slices.push_back({{NodeId(0), NodeId(1)},
                         {{0, {34, 34}}, {1, {1, 1}}},
                         {{RailId(0), 0, RailId(0), 0, 35}, {RailId(1), 0, RailId(1), 0, 35}}});
  plan.slices.push_back({{NodeId(2), NodeId(0)}, {{1, {4, 0}}}, {{RailId(0), 0, RailId(0), 0, 4}}});
  return plan;
}

void expect_only_other_windows(const RecordedPlan& a, const RecordedPlan& b, std::size_t slices) {
  for (const auto& difference : {compare(a, b), compare(b, a)}) {
    EXPECT_FALSE(difference.same_traffic());
    ASSERT_EQ(difference.slices.size(), slices);
    EXPECT_EQ(difference.slices[0], (SliceDifference{{NodeId(0), NodeId(1)}, 0, false, true}));
    EXPECT_EQ(difference.elsewhere, 0);
  }
}

TEST(PlanCompare, OtherPortionsOfTheSameWindowsDiffer) {
  const RecordedPlan plan = two_portions();
  RecordedPlan swapped = plan;
  std::swap(swapped.slices[0].sends[0].loads, swapped.slices[0].sends[1].loads);
  expect_only_other_windows(plan, swapped, 1);
  // As many records in each window, but of other rails.
  RecordedPlan turned = plan;
  turned.slices[0].sends[0].loads = {33, 35};
  turned.slices[0].sends[1].loads = {2, 0};
  expect_only_other_windows(plan, turned, 1);
}

TEST(PlanCompare, OtherPairsInAWindowDiffer) {
  const RecordedPlan plan = two_portions();
  RecordedPlan other = plan;
  std::swap(other.windows[0], other.windows[1]);
  other.slices[1].sends[0].window = 0;
  expect_only_other_windows(plan, other, 2);
}

/// Record 0 of the rail's 35 goes last, so in the other window.
TEST(PlanCompare, OtherSlotsDifferWhereTheWindowDoes) {
  const RecordedPlan plan = two_portions();
  RecordedPlan last = plan;
  last.slices[0].segments = {{RailId(0), 0, RailId(0), 34, 1},
                             {RailId(0), 1, RailId(0), 0, 34},
                             {RailId(1), 0, RailId(1), 0, 35}};
  expect_only_other_windows(plan, last, 1);
  RecordedPlan second = plan;
  second.slices[0].segments = {{RailId(0), 0, RailId(0), 1, 1},
                               {RailId(0), 1, RailId(0), 0, 1},
                               {RailId(0), 2, RailId(0), 2, 33},
                               {RailId(1), 0, RailId(1), 0, 35}};
  EXPECT_EQ(compare(plan, second), PlanDifference{});
}

TEST(PlanCompare, OtherPhasesAndOtherClustersAreNamed) {
  const RecordedPlan plan = planned(four_nodes(), uneven_counts(), Path::Joint);
  RailCounts less = uneven_counts();
  less.set(NodeId(3), RailId(1), NodeId(0), 0);
  const PlanDifference fewer = compare(plan, planned(four_nodes(), less, Path::Joint));
  EXPECT_TRUE(fewer.other_counts);
  ASSERT_FALSE(fewer.slices.empty());
  EXPECT_EQ(fewer.slices.back().pair, (NodePair{NodeId(3), NodeId(2)}));
  RailCounts none(4, 2);
  EXPECT_EQ(compare(plan, planned(four_nodes(), none, Path::Joint)).slices.size(), 12U);

  const Topology other =
      *Topology::create({{2, 2, 2, 2}, 2, {{0, 0}, {0, 1}, {0, 1}, {0, 1}}, {}, {}, {}});
  EXPECT_TRUE(compare(plan, planned(other, uneven_counts(), Path::Joint)).other_topology);
  const PlanDifference smaller =
      compare(plan, planned(*Topology::uniform(3, 2, 2), RailCounts(3, 2), Path::Joint));
  EXPECT_TRUE(smaller.other_topology);
  EXPECT_TRUE(smaller.slices.empty());
}

}  // namespace
}  // namespace railwave::plan
