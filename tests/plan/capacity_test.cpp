// Worst-case records of a rail: no path ever exceeds them, and some start reaches them.
#include "plan/capacity.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/dispatch_plan.hpp"
#include "plan/random_cluster.hpp"

namespace railwave::plan {
namespace {

using reference::Cluster;

constexpr NodePair kSlice{NodeId(0), NodeId(1)};

TEST(Capacity, EvenRanksOnEvenRails) {
  const Topology topology = Topology::uniform(2, 8, 8).value();
  EXPECT_EQ(worst_case_records(topology, kSlice, RailId(3), 50176), 50176);
}

TEST(Capacity, RanksAndRailsDiffer) {
  const Topology more_ranks = Topology::uniform(2, 6, 4).value();  // home rails 0 0 1 2 2 3
  EXPECT_EQ(worst_case_records(more_ranks, kSlice, RailId(0), 10), 20);
  EXPECT_EQ(worst_case_records(more_ranks, kSlice, RailId(1), 10), 15);
  const Topology more_rails = Topology::uniform(2, 2, 4).value();  // home rails 0 2
  EXPECT_EQ(worst_case_records(more_rails, kSlice, RailId(1), 7), 4);
  EXPECT_EQ(worst_case_records(more_rails, kSlice, RailId(2), 7), 7);
}

TEST(Capacity, StrandedRanksAndMissingRails) {
  Topology::Options options;
  options.ranks_per_node = {4, 4};
  options.rails = 4;
  options.live = {{true, true, true, true}, {true, true, false, true}};
  const Topology topology = Topology::create(options).value();
  EXPECT_EQ(worst_case_records(topology, kSlice, RailId(0), 10), 14);
  EXPECT_EQ(worst_case_records(topology, kSlice, RailId(2), 10), 0);
  EXPECT_EQ(worst_case_records(topology, kSlice, RailId(0), 0), 0);
}

TEST(Capacity, PastTwoToThe31) {
  const Topology topology = Topology::uniform(2, 8, 1).value();
  EXPECT_EQ(worst_case_records(topology, kSlice, RailId(0), 1'000'000'000), 8'000'000'000);
}

TEST(CapacityDeathTest, OverflowIsABrokenPrecondition) {
  const Topology topology = Topology::uniform(2, 8, 1).value();
  EXPECT_DEATH(worst_case_records(topology, kSlice, RailId(0), std::int64_t{1} << 62),
               "broken invariant");
}

/// Every rank's records per destination node, each at most `most`.
RailCounts any_records(const Topology& topology, std::int64_t most) {
  std::vector<std::int64_t> records(static_cast<std::size_t>(topology.ranks() * topology.nodes()));
  for (auto& cell : records) {
    cell = *rc::gen::oneOf(rc::gen::just(most), rc::gen::inRange<std::int64_t>(0, most + 1));
  }
  return RailCounts::from_ranks(topology, records);
}

template <class F>
void for_each_rail(const Topology& topology, F f) {
  for (NodeId s(0); s.value < topology.nodes(); ++s.value) {
    for (NodeId d(0); d.value < topology.nodes(); ++d.value) {
      if (s == d) continue;
      for (RailId r(0); r.value < topology.rails(); ++r.value) f(NodePair{s, d}, r);
    }
  }
}

RC_GTEST_PROP(CapacityProperty, NoPathExceedsIt, ()) {
  const Topology topology = topology_of(*reference::any_cluster());
  const auto most = *rc::gen::inRange<std::int64_t>(0, 50);
  const RailCounts counts = any_records(topology, most);
  for (const auto& paths : {kAllPaths, kBaselinePaths}) {
    for (const Path path : paths) {
      const auto plan = DispatchPlan::create(topology, counts, {path, {}});
      RC_ASSERT(plan.has_value());
      for_each_rail(topology, [&](NodePair pair, RailId rail) {
        RC_ASSERT(plan->rail_loads(pair)[rail.index()] <=
                  worst_case_records(topology, pair, rail, most));
      });
    }
  }
}

RC_GTEST_PROP(CapacityProperty, SomeStartReachesIt, ()) {
  const Topology topology = topology_of(*reference::any_cluster());
  const auto most = *rc::gen::inRange<std::int64_t>(0, 50);
  const std::vector<std::int64_t> all(static_cast<std::size_t>(topology.ranks() * topology.nodes()),
                                      most);
  const RailCounts counts = RailCounts::from_ranks(topology, all);
  for_each_rail(topology, [&](NodePair pair, RailId rail) {
    std::int64_t reached = 0;
    const auto starts = topology.eligible(pair.source, pair.destination).size();
    for (int start = 0; start < static_cast<int>(starts); ++start) {
      reached = std::max({reached, balance_slice(topology, counts, pair, start).load[rail.index()],
                          keep_home_rails(topology, counts, pair, start).load[rail.index()]});
    }
    RC_ASSERT(reached == worst_case_records(topology, pair, rail, most));
  });
}

}  // namespace
}  // namespace railwave::plan
