// The planners of others, worked out by hand.
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "plan/birkhoff.hpp"
#include "plan/dispatch_plan.hpp"
#include "plan/lower_bound.hpp"
#include "plan/only_window.hpp"
#include "plan/pairwise.hpp"
#include "plan/spray.hpp"

namespace railwave::plan {
namespace {

using Loads = std::pmr::vector<std::int64_t>;

NodePair pair(int s, int d) { return {NodeId(s), NodeId(d)}; }

/// All records of a pair on home rail 0.
RailCounts on_rail_0(const std::vector<Loads>& demand, int rails) {
  RailCounts counts(static_cast<int>(demand.size()), rails);
  for (std::size_t s = 0; s < demand.size(); ++s) {
    for (std::size_t d = 0; d < demand.size(); ++d) {
      counts.set(NodeId(s), RailId(0), NodeId(d), demand[s][d]);
    }
  }
  return counts;
}

TEST(Paths, NamesAreReadBack) {
  int number = 0;
  for (const auto& paths : {kAllPaths, kBaselinePaths}) {
    for (const Path path : paths) {
      EXPECT_EQ(static_cast<int>(path), number++);
      EXPECT_EQ(path_from_string(to_string(path)), path);
    }
  }
  EXPECT_EQ(number, 8);
  EXPECT_EQ(to_string(Path::Birkhoff), "birkhoff");
  EXPECT_EQ(to_string(Path::Spray), "spray");
  EXPECT_EQ(path_from_string("pull"), std::nullopt);
}

TEST(Pairwise, PowersOfTwoExchangeByXor) {
  const Windows expected{{pair(0, 1), pair(1, 0), pair(2, 3), pair(3, 2)},
                         {pair(0, 2), pair(1, 3), pair(2, 0), pair(3, 1)},
                         {pair(0, 3), pair(1, 2), pair(2, 1), pair(3, 0)}};
  EXPECT_EQ(pairwise_rounds(4), expected);
}

TEST(Pairwise, OddNodesLeaveOneIdle) {
  // The circle of 4 places: 1+2, 2+1; 0+1 with 2 idle; 0+2 with 1 idle.
  const Windows expected{
      {pair(1, 2), pair(2, 1)}, {pair(0, 1), pair(1, 0)}, {pair(0, 2), pair(2, 0)}};
  EXPECT_EQ(pairwise_rounds(3), expected);
}

TEST(Pairwise, SixNodesTakeFiveRounds) {
  const Windows rounds = pairwise_rounds(6);
  ASSERT_EQ(rounds.size(), 5U);
  const Window first{pair(0, 5), pair(1, 4), pair(2, 3), pair(3, 2), pair(4, 1), pair(5, 0)};
  EXPECT_EQ(rounds[0], first);
}

TEST(Pairwise, TwoNodesAndOne) {
  EXPECT_EQ(pairwise_rounds(2), (Windows{{pair(0, 1), pair(1, 0)}}));
  EXPECT_TRUE(pairwise_rounds(1).empty());
}

TEST(Birkhoff, ACycleIsOneStage) {
  const auto stages = birkhoff_stages(on_rail_0({{0, 7, 0}, {0, 0, 7}, {7, 0, 0}}, 1));
  ASSERT_EQ(stages.size(), 1U);
  EXPECT_EQ(stages[0].length, 7);
  const std::vector<StagePart> parts{{pair(0, 1), 7}, {pair(1, 2), 7}, {pair(2, 0), 7}};
  EXPECT_EQ(stages[0].parts, parts);
}

/// Two cycles of 5 and 2 over the same nodes: the only decomposition, the longer one first.
TEST(Birkhoff, TheLongestStageComesFirst) {
  const auto stages = birkhoff_stages(on_rail_0({{0, 2, 5}, {5, 0, 2}, {2, 5, 0}}, 1));
  ASSERT_EQ(stages.size(), 2U);
  const std::vector<StagePart> longer{{pair(0, 2), 5}, {pair(1, 0), 5}, {pair(2, 1), 5}};
  const std::vector<StagePart> shorter{{pair(0, 1), 2}, {pair(1, 2), 2}, {pair(2, 0), 2}};
  EXPECT_EQ(stages[0].parts, longer);
  EXPECT_EQ(stages[1].parts, shorter);
}

/// All pairs alike: of the six perfect matchings of 0>1 0>2 0>3 ... the first is 0>1 1>0 2>3 3>2.
TEST(Birkhoff, EvenDemandGoesByTheFirstMatchings) {
  const auto stages =
      birkhoff_stages(on_rail_0({{0, 4, 4, 4}, {4, 0, 4, 4}, {4, 4, 0, 4}, {4, 4, 4, 0}}, 1));
  ASSERT_EQ(stages.size(), 3U);
  const std::vector<StagePart> first{
      {pair(0, 1), 4}, {pair(1, 0), 4}, {pair(2, 3), 4}, {pair(3, 2), 4}};
  const std::vector<StagePart> second{
      {pair(0, 2), 4}, {pair(1, 3), 4}, {pair(2, 0), 4}, {pair(3, 1), 4}};
  const std::vector<StagePart> third{
      {pair(0, 3), 4}, {pair(1, 2), 4}, {pair(2, 1), 4}, {pair(3, 0), 4}};
  EXPECT_EQ(stages[0].parts, first);
  EXPECT_EQ(stages[1].parts, second);
  EXPECT_EQ(stages[2].parts, third);
}

/// Three senders of one receiver: no two in one stage, nothing but their records.
TEST(Birkhoff, PaddingCarriesNothing) {
  const auto stages =
      birkhoff_stages(on_rail_0({{0, 0, 0, 4}, {0, 0, 0, 6}, {0, 0, 0, 5}, {0, 0, 0, 0}}, 1));
  std::int64_t length = 0;
  std::vector<Loads> sent(4, Loads(4, 0));
  for (const Stage& stage : stages) {
    ASSERT_EQ(stage.parts.size(), 1U);
    length += stage.length;
    const auto& [p, records] = stage.parts.front();
    sent[p.source.index()][p.destination.index()] += records;
  }
  EXPECT_EQ(length, 15);
  EXPECT_EQ(sent, (std::vector<Loads>{{0, 0, 0, 4}, {0, 0, 0, 6}, {0, 0, 0, 5}, {0, 0, 0, 0}}));
}

TEST(Birkhoff, NothingToSendHasNoStage) {
  EXPECT_TRUE(birkhoff_stages(RailCounts(3, 2)).empty());
  EXPECT_TRUE(birkhoff_stages(RailCounts(1, 2)).empty());
}

TEST(Birkhoff, StagesTakeEvenSharesOfEachRail) {
  // 10 of (8, 7): 5.33 and 4.67, the left-over goes to the larger fraction.
  EXPECT_EQ(split_over_stages({8, 7}, {10, 5}), (std::vector<std::int64_t>{5, 5, 3, 2}));
  EXPECT_EQ(split_over_stages({2, 0, 1}, {1, 1, 1}),
            (std::vector<std::int64_t>{1, 0, 0, 1, 0, 0, 0, 0, 1}));
}

/// All rows and columns of the first demand add up to 12, 6 a rail; of the second 10 go to node 0.
TEST(Birkhoff, APairSendsInSeveralWindows) {
  const Topology topology = Topology::uniform(3, 1, 2).value();
  // Sums are 12 in every row and column, waves take 10 + 12.
  const RailCounts counts = on_rail_0({{0, 10, 2}, {2, 0, 10}, {10, 2, 0}}, 2);
  const auto plan = DispatchPlan::create(topology, counts, {Path::Birkhoff, {}}).value();
  ASSERT_EQ(plan.windows().size(), 2U);
  EXPECT_EQ(barrier_path_bound_records(plan), 6);
  EXPECT_EQ(free_path_bound_records(plan), 6);

  const RailCounts uneven = on_rail_0({{0, 10, 0}, {6, 0, 4}, {4, 0, 0}}, 2);
  const auto cut = DispatchPlan::create(topology, uneven, {Path::Birkhoff, {}}).value();
  Loads sum(2, 0);
  EXPECT_GT(cut.windows_of(pair(0, 1)).size(), 1U);
  for (const std::size_t w : cut.windows_of(pair(0, 1))) {
    const auto loads = cut.rail_loads(pair(0, 1), w);
    for (std::size_t r = 0; r < 2; ++r) sum[r] += loads[r];
  }
  EXPECT_EQ(sum, (Loads{5, 5}));
  EXPECT_EQ(barrier_path_bound_records(cut), 5);
}

TEST(Linear, EverythingAtOnceWhateverIsSubmitted) {
  const Topology topology = Topology::uniform(3, 1, 2).value();
  const RailCounts counts = on_rail_0({{0, 1, 2}, {3, 0, 4}, {0, 5, 0}}, 2);
  const Windows submitted{{pair(0, 1), pair(1, 0)}, {pair(0, 2), pair(1, 2), pair(2, 1)}};
  const auto plan = DispatchPlan::create(topology, counts, {Path::Linear, submitted}).value();
  const Windows all{{pair(0, 1), pair(0, 2), pair(1, 0), pair(1, 2), pair(2, 1)}};
  EXPECT_EQ(plan.windows(), all);
  EXPECT_EQ(plan.rail_loads(pair(1, 2)), (Loads{4, 0}));
  EXPECT_EQ(plan.rail_loads(pair(1, 2), 0), (Loads{4, 0}));
  EXPECT_TRUE(plan.windows_of(pair(2, 0)).empty());
  EXPECT_EQ(plan.rail_loads(pair(2, 0), 0), (Loads{0, 0}));
}

/// 6 records to node 1 and 4 to node 2, all on rail 0 of 2. Chunks by size: 3 and 3 to node 1, then
/// 2 and 2 to node 2; each slice is even in the end because the sizes are.
TEST(Spray, LongestChunkToTheEmptiestRail) {
  const Topology topology = Topology::uniform(3, 1, 2).value();
  RailCounts counts(3, 2);
  counts.set(NodeId(0), RailId(0), NodeId(1), 6);
  counts.set(NodeId(0), RailId(0), NodeId(2), 4);
  const auto slices = spray(topology, counts, NodeId(0));
  EXPECT_EQ(slices[1].load, (Loads{3, 3}));
  const std::pmr::vector<Segment> by_home{{RailId(0), 0, RailId(0), 0, 3},
                                          {RailId(0), 3, RailId(1), 0, 3}};
  EXPECT_EQ(slices[1].by_home, by_home);
  EXPECT_EQ(slices[2].load, (Loads{2, 2}));
}

/// One odd record a slice: RailBalance deals them round, spraying gives each to the emptier rail.
TEST(Spray, TotalsAreEvenOverDestinations) {
  const Topology topology = Topology::uniform(5, 1, 2).value();
  RailCounts counts(5, 2);
  for (int d = 1; d < 5; ++d) counts.set(NodeId(0), RailId(0), NodeId(d), 2 * d + 1);
  Loads total(2, 0);
  for (const auto& slice : spray(topology, counts, NodeId(0))) {
    for (std::size_t r = 0; r < slice.load.size(); ++r) total[r] += slice.load[r];
  }
  EXPECT_EQ(total, (Loads{12, 12}));
}

TEST(Spray, RunsTheSubmittedWindows) {
  const Topology topology = Topology::uniform(3, 1, 2).value();
  const RailCounts counts = on_rail_0({{0, 4, 2}, {0, 0, 4}, {0, 0, 0}}, 2);
  const Windows submitted{{pair(0, 2)}, {pair(1, 2), pair(0, 1)}};
  const auto plan = DispatchPlan::create(topology, counts, {Path::Spray, submitted}).value();
  EXPECT_EQ(plan.windows(), submitted);
  EXPECT_EQ(only_window(plan, pair(0, 1)), 1U);
  EXPECT_EQ(plan.rail_loads(pair(0, 1), 1), (Loads{2, 2}));
  EXPECT_EQ(plan.slice(pair(0, 1)).load, (Loads{2, 2}));
}

}  // namespace
}  // namespace railwave::plan
