// Rails of different speeds, worked out by hand.
#include <gtest/gtest.h>

#include "plan/capacity.hpp"
#include "plan/dispatch_plan.hpp"
#include "plan/lower_bound.hpp"
#include "plan/rail_balance.hpp"
#include "plan/spray.hpp"

namespace railwave::plan {
namespace {

using Loads = std::pmr::vector<std::int64_t>;

NodePair pair(int s, int d) { return {NodeId(s), NodeId(d)}; }

/// Rails of 50, 50, 25 and 50 Mbit/s, in bytes/s.
const std::vector<std::int64_t> kSlowThird{6'250'000, 6'250'000, 3'125'000, 6'250'000};

Topology::Options slow_third(int nodes) {
  Topology::Options options;
  options.ranks_per_node.assign(static_cast<std::size_t>(nodes), 4);
  options.rails = 4;
  options.weights.assign(static_cast<std::size_t>(nodes), kSlowThird);
  return options;
}

/// 10 records are 2.86, 2.86, 1.43 and 2.86: three are left over, and rail 2 is the least behind.
/// The next 10: rail 2 is the furthest behind, then 3 and 0 by the start, which is 2.
TEST(Weighted, LeftOversGoToTheRailsFurthestBehind) {
  const Topology topology = Topology::create(slow_third(3)).value();
  RailCounts counts(3, 4);
  counts.set(NodeId(0), RailId(0), NodeId(1), 10);
  counts.set(NodeId(0), RailId(1), NodeId(2), 10);
  const auto plan = DispatchPlan::create(topology, counts, {Path::Joint, {}}).value();
  EXPECT_EQ(plan.rail_loads(pair(0, 1)), (Loads{3, 3, 1, 3}));
  EXPECT_EQ(plan.rail_loads(pair(0, 2)), (Loads{3, 2, 2, 3}));
  EXPECT_EQ(plan.slice(pair(0, 2)).load, (Loads{3, 2, 2, 3}));
  EXPECT_EQ(slice_quotas(topology, counts, pair(0, 2), 2), (Loads{3, 2, 2, 3}));
}

/// Three nodes of three rails with these weights; node 0 has records for the other two.
DispatchPlan plan_of_three(std::vector<std::vector<std::int64_t>> weights, std::int64_t to_1,
                           std::int64_t to_2) {
  Topology::Options options;
  options.ranks_per_node = {3, 3, 3};
  options.rails = 3;
  options.weights = std::move(weights);
  RailCounts counts(3, 3);
  counts.set(NodeId(0), RailId(0), NodeId(1), to_1);
  counts.set(NodeId(0), RailId(0), NodeId(2), to_2);
  return DispatchPlan::create(Topology::create(options).value(), counts, {Path::Joint, {}}).value();
}

/// 4 at weights 2, 1, 3 are 4/3, 2/3 and 2: the record left over goes to rail 1. 5 more are 5/3,
/// 5/6 and 5/2, so that the rails are 1, 1/2 and 1/2 behind: of the two left over one goes to rail
/// 0, and the other one, from the start, which is 1, to rail 1.
TEST(Weighted, TiesOfThirdsAreTies) {
  const auto plan = plan_of_three({{2, 1, 3}, {3, 3, 3}, {2, 2, 3}}, 4, 5);
  EXPECT_EQ(plan.rail_loads(pair(0, 1)), (Loads{1, 1, 2}));
  EXPECT_EQ(plan.rail_loads(pair(0, 2)), (Loads{2, 1, 2}));
}

/// 2 at weights 2, 1, 1 are 1, 1/2, 1/2; 2 more at 1, 1, 2 are 1/2, 1/2, 1. Rail 2 is then 1/2
/// behind like rail 0 and first from the start, but its share is whole: it has nothing left over.
TEST(Weighted, AWholeShareIsNotRounded) {
  const auto plan = plan_of_three({{2, 1, 3}, {2, 3, 1}, {1, 3, 2}}, 2, 2);
  EXPECT_EQ(plan.rail_loads(pair(0, 1)), (Loads{1, 1, 0}));
  EXPECT_EQ(plan.rail_loads(pair(0, 2)), (Loads{1, 0, 1}));
}

/// The same shares by weights without a common multiple of 95 bits.
TEST(Weighted, TiesOfLongFractionsAreTies) {
  constexpr std::int64_t kFirst = (std::int64_t{1} << 58) + 1;
  constexpr std::int64_t kSecond = (std::int64_t{1} << 58) - 1;
  const auto plan = plan_of_three({{3 * kFirst, 3 * kFirst, 3 * kFirst},
                                   {2 * kFirst, kFirst, 3 * kFirst},
                                   {2 * kSecond, kSecond, 3 * kSecond}},
                                  4, 5);
  EXPECT_EQ(plan.rail_loads(pair(0, 1)), (Loads{1, 1, 2}));
  EXPECT_EQ(plan.rail_loads(pair(0, 2)), (Loads{2, 1, 2}));
}

TEST(Weighted, TheSlowerEndCounts) {
  auto options = slow_third(2);
  options.weights[0] = {2, 2, 2, 2};
  options.weights[1] = {2, 2, 1, 2};
  RailCounts counts(2, 4);
  counts.set(NodeId(0), RailId(3), NodeId(1), 70);
  counts.set(NodeId(1), RailId(3), NodeId(0), 700);
  const auto plan =
      DispatchPlan::create(Topology::create(options).value(), counts, {Path::RailOnly, {}}).value();
  EXPECT_EQ(plan.rail_loads(pair(0, 1)), (Loads{20, 20, 10, 20}));
  EXPECT_EQ(plan.rail_loads(pair(1, 0)), (Loads{200, 200, 100, 200}));
}

/// Without rail 3 at node 1 the shares are 2, 2 and 1 of 5.
TEST(Weighted, MissingRailsHaveNoShare) {
  auto options = slow_third(2);
  options.live = {{true, true, true, true}, {true, true, true, false}};
  RailCounts counts(2, 4);
  counts.set(NodeId(0), RailId(3), NodeId(1), 50);
  const auto plan =
      DispatchPlan::create(Topology::create(options).value(), counts, {Path::Joint, {}}).value();
  EXPECT_EQ(plan.rail_loads(pair(0, 1)), (Loads{20, 20, 10, 0}));
}

TEST(Weighted, HugeCountsAndWeightsStayExact) {
  auto options = slow_third(2);
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  options.weights = {{kMost, kMost - 1, 1, 1}, {kMost, kMost, kMost, kMost}};
  RailCounts counts(2, 4);
  counts.set(NodeId(0), RailId(3), NodeId(1), 4 * kMost + 3);
  const auto loads =
      DispatchPlan::create(Topology::create(options).value(), counts, {})->rail_loads(pair(0, 1));
  // W = 2^61 + 1 and B = 2 W + 1: twice the weights, and one record for the largest.
  EXPECT_EQ(loads[0] + loads[1] + loads[2] + loads[3], 4 * kMost + 3);
  EXPECT_EQ(loads[2], 2);
  EXPECT_EQ(loads[3], 2);
  EXPECT_EQ(loads[0], 2 * kMost + 1);
  EXPECT_EQ(loads[1], 2 * kMost - 2);
}

TEST(Weighted, BoundIsOverTheWeights) {
  const Topology topology = Topology::create(slow_third(3)).value();
  RailCounts counts(3, 4);
  counts.set(NodeId(0), RailId(0), NodeId(1), 40);
  counts.set(NodeId(2), RailId(0), NodeId(1), 30);
  EXPECT_EQ(bound_records(topology, counts), (Ratio{10, 1}));  // 70 over weight 7
  // 14,336 bytes a row at 7 x 25 Mbit/s.
  EXPECT_DOUBLE_EQ(bound_seconds(bound_records(topology, counts), 14336,
                                 static_cast<double>(topology.weight_unit()), 0),
                   70 * 14336 / 21'875'000.0);
}

/// Each node has a fast rail, but they do not meet: both rails carry weight 1 between them.
TEST(Weighted, ASliceAloneCanBeTheBound) {
  auto options = slow_third(2);
  options.rails = 2;
  options.weights = {{1, 3}, {3, 1}};
  RailCounts counts(2, 2);
  counts.set(NodeId(0), RailId(0), NodeId(1), 12);
  const Topology topology = Topology::create(options).value();
  EXPECT_EQ(bound_records(topology, counts), (Ratio{6, 1}));
  const auto plan = DispatchPlan::create(topology, counts, {Path::Joint, {}}).value();
  EXPECT_DOUBLE_EQ(barrier_path_bound(plan), 6);
  EXPECT_DOUBLE_EQ(free_path_bound(plan), 6);
}

TEST(Weighted, PathBoundsDivideLoads) {
  const Topology topology = Topology::create(slow_third(3)).value();
  RailCounts counts(3, 4);
  counts.set(NodeId(0), RailId(2), NodeId(1), 8);  // 8 on weight 1
  counts.set(NodeId(0), RailId(0), NodeId(2), 8);  // 4 on weight 2
  counts.set(NodeId(1), RailId(0), NodeId(2), 6);  // 3
  const auto native = DispatchPlan::create(topology, counts, {Path::Native, {}}).value();
  EXPECT_DOUBLE_EQ(barrier_path_bound(native), 8);
  EXPECT_EQ(barrier_path_bound_records(native), 14);
  const auto waves = DispatchPlan::create(topology, counts, {Path::PermutationOnly, {}}).value();
  EXPECT_DOUBLE_EQ(barrier_path_bound(waves), 8 + 4);
  EXPECT_DOUBLE_EQ(free_path_bound(waves), 8);  // wave 2 goes by another rail
}

/// 16 chunks of 7, dealt so that all rails are through at the same time; the last ones are cut
/// where a rail has its share of 32.
TEST(Weighted, SprayCountsTime) {
  const Topology topology = Topology::create(slow_third(2)).value();
  RailCounts counts(2, 4);
  for (int r = 0; r < 4; ++r) counts.set(NodeId(0), RailId(r), NodeId(1), 28);
  EXPECT_EQ(spray(topology, counts, NodeId(0))[1].load, (Loads{32, 32, 16, 32}));
}

TEST(Weighted, CapacityFollowsTheWeights) {
  const Topology topology = Topology::create(slow_third(2)).value();
  // 4 ranks x 70 records: 80, 80, 40, 80 balanced; 70 at home.
  EXPECT_EQ(worst_case_records(topology, pair(0, 1), RailId(0), 70), 80);
  EXPECT_EQ(worst_case_records(topology, pair(0, 1), RailId(2), 70), 70);
  // 4 records: 1.14 is rounded up.
  EXPECT_EQ(worst_case_records(topology, pair(0, 1), RailId(3), 1), 2);
}

}  // namespace
}  // namespace railwave::plan
