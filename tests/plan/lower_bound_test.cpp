// Bounds on the paper's schedules and on small clusters worked out by hand.
#include "plan/lower_bound.hpp"

#include <gtest/gtest.h>

#include "plan/table8.hpp"

namespace railwave::plan {
namespace {

constexpr int kRails = 8;
/// Records by home rail of one pair: 800 in all, 266 on the hottest rail, so rho = 2.66.
constexpr std::array<std::int64_t, kRails> kSkewed{266, 170, 100, 90, 66, 52, 30, 26};

RailCounts skewed_counts(const Windows& windows) {
  RailCounts counts(4, kRails);
  for (const Window& window : windows) {
    for (const auto& [s, d] : window) {
      for (RailId r(0); r.value < kRails; ++r.value) counts.set(s, r, d, kSkewed[r.index()]);
    }
  }
  return counts;
}

DispatchPlan plan_of(Path path, const Windows& windows) {
  return DispatchPlan::create(Topology::uniform(4, kRails, kRails).value(), skewed_counts(windows),
                              {path, windows})
      .value();
}

/// DESIGN 5.6: with rail skew 2.66 native over joint is 2.66, 4.43 and about 7.09.
TEST(PathBound, NativeOverJointOnThePapersSchedules) {
  EXPECT_EQ(barrier_path_bound_records(plan_of(Path::Joint, table8::ring())), 100);
  EXPECT_EQ(barrier_path_bound_records(plan_of(Path::Native, table8::ring())), 266);
  EXPECT_EQ(barrier_path_bound_records(plan_of(Path::Joint, table8::moderate())), 300);
  EXPECT_EQ(barrier_path_bound_records(plan_of(Path::Native, table8::moderate())), 5 * 266);
  EXPECT_EQ(barrier_path_bound_records(plan_of(Path::Joint, table8::extreme())), 300);
  EXPECT_EQ(barrier_path_bound_records(plan_of(Path::Native, table8::extreme())), 8 * 266);
}

/// DESIGN 5.3: free-running, Extreme takes 2.0 instead of 2.67 units of three even windows.
TEST(PathBound, FreeRunningExtreme) {
  EXPECT_EQ(barrier_path_bound_records(plan_of(Path::RailOnly, table8::extreme())), 800);
  EXPECT_EQ(free_path_bound_records(plan_of(Path::RailOnly, table8::extreme())), 600);
  EXPECT_EQ(free_path_bound_records(plan_of(Path::Joint, table8::extreme())), 300);
}

TEST(PathBound, DescriptorsOfThePapersSchedules) {
  const auto describe_windows = [](const Windows& windows) {
    return describe(skewed_counts(windows), windows, 14336, 32).value();
  };
  const auto ring = describe_windows(table8::ring());
  EXPECT_EQ(ring.rail_skew, (Ratio{133, 50}));
  EXPECT_EQ(ring.receiver_concentration, (Ratio{1, 1}));
  EXPECT_EQ(ring.fan_in, 1);
  const auto moderate = describe_windows(table8::moderate());
  EXPECT_EQ(moderate.rail_skew, (Ratio{133, 50}));
  EXPECT_EQ(moderate.receiver_concentration, (Ratio{2, 1}));
  EXPECT_EQ(moderate.fan_in, 2);
  const auto extreme = describe_windows(table8::extreme());
  EXPECT_EQ(extreme.receiver_concentration, (Ratio{3, 1}));
  EXPECT_EQ(extreme.fan_in, 3);
}

RailCounts one_rail(int nodes, const std::vector<std::array<int, 3>>& demand) {
  RailCounts counts(nodes, 1);
  for (const auto& [s, d, records] : demand) counts.set(NodeId(s), RailId(0), NodeId(d), records);
  return counts;
}

/// Uneven waves: a long pair holds back only the pairs that share an end with it.
TEST(PathBound, FreeWavesWaitOnlyForTheirOwnEnds) {
  const Topology topology = Topology::uniform(3, 1, 1).value();
  // Wave 1: 0>1 1>2 2>0; wave 2: 0>2 1>0 2>1.
  const RailCounts counts =
      one_rail(3, {{0, 1, 10}, {1, 2, 1}, {2, 0, 2}, {0, 2, 1}, {1, 0, 9}, {2, 1, 1}});
  const auto plan = DispatchPlan::create(topology, counts, {Path::Joint, {}}).value();
  EXPECT_EQ(barrier_path_bound_records(plan), 19);
  // 1>0 starts at 2 and ends at 11; 2>1 and 0>2 start at 10 and end at 11.
  EXPECT_EQ(free_path_bound_records(plan), 11);
}

TEST(PathBound, OneWindowIsTheLargestLoadEitherWay) {
  const Topology topology = Topology::uniform(3, 1, 1).value();
  const RailCounts counts = one_rail(3, {{0, 1, 5}, {2, 1, 6}, {1, 0, 3}, {1, 2, 4}});
  const auto plan = DispatchPlan::create(topology, counts, {Path::Native, {}}).value();
  EXPECT_EQ(barrier_path_bound_records(plan), 11);
  EXPECT_EQ(free_path_bound_records(plan), 11);
}

/// Egress rails 0 and 1 of different senders meet on one ingress rail.
TEST(PathBound, ReceiversAreCountedByIngressRail) {
  Topology::Options options;
  options.ranks_per_node = {1, 1, 1};
  options.rails = 2;
  options.ingress.assign(3, {{0, 1}, {0, 1}, {0, 1}});
  options.ingress[1][2] = {1, 0};
  const Topology topology = Topology::create(options).value();
  RailCounts counts(3, 2);
  counts.set(NodeId(0), RailId(1), NodeId(2), 7);
  counts.set(NodeId(1), RailId(0), NodeId(2), 8);
  const auto plan = DispatchPlan::create(topology, counts, {Path::Native, {}}).value();
  EXPECT_EQ(barrier_path_bound_records(plan), 15);
}

TEST(Bound, LargestNodeOverTheRails) {
  const Topology topology = Topology::uniform(3, 4, 4).value();
  RailCounts counts(3, 4);
  counts.set(NodeId(0), RailId(0), NodeId(1), 5);
  counts.set(NodeId(0), RailId(3), NodeId(2), 4);
  EXPECT_EQ(bound_records(topology, counts), (Ratio{9, 4}));
  counts.set(NodeId(1), RailId(3), NodeId(2), 6);
  EXPECT_EQ(bound_records(topology, counts), (Ratio{5, 2}));  // node 2 receives 10
  EXPECT_EQ(bound_records(topology, RailCounts(3, 4)), (Ratio{0, 1}));
}

/// Node 1 has only rail 0: what goes there is bound by that rail alone.
TEST(Bound, AFewRailsCanBeTheWorst) {
  Topology::Options options;
  options.ranks_per_node = {4, 4, 4};
  options.rails = 4;
  options.live = {{true, true, true, true}, {true, false, false, false}, {true, true, true, true}};
  const Topology topology = Topology::create(options).value();
  RailCounts counts(3, 4);
  counts.set(NodeId(0), RailId(2), NodeId(1), 30);
  counts.set(NodeId(0), RailId(2), NodeId(2), 50);
  EXPECT_EQ(bound_records(topology, counts), (Ratio{30, 1}));
  counts.set(NodeId(0), RailId(2), NodeId(2), 130);
  EXPECT_EQ(bound_records(topology, counts), (Ratio{40, 1}));
}

/// Nodes 0 and 1 have different rails, but both are plugged into rail 0 of node 2.
TEST(Bound, IncomingIsCountedByIngressRail) {
  Topology::Options options;
  options.ranks_per_node = {1, 1, 1};
  options.rails = 2;
  options.live = {{true, false}, {false, true}, {true, true}};
  options.ingress.assign(3, std::vector<std::vector<int>>(3, {1, 0}));
  options.ingress[0][2] = {0, 1};
  RailCounts counts(3, 2);
  counts.set(NodeId(0), RailId(0), NodeId(2), 30);
  counts.set(NodeId(1), RailId(1), NodeId(2), 40);
  EXPECT_EQ(bound_records(Topology::create(options).value(), counts), (Ratio{70, 1}));
}

/// Node k >= 1 has rails 0 and k only: 63 different sets, whose unions nobody could go through.
TEST(Bound, ManyDifferentSetsOfRails) {
  constexpr int kNodes = 64;
  Topology::Options options;
  options.ranks_per_node.assign(kNodes, 1);
  options.rails = kNodes;
  options.live.assign(kNodes, std::vector<bool>(kNodes, false));
  options.live[0].assign(kNodes, true);
  RailCounts counts(kNodes, kNodes);
  for (int k = 1; k < kNodes; ++k) {
    options.live[static_cast<std::size_t>(k)][0] = true;
    options.live[static_cast<std::size_t>(k)][static_cast<std::size_t>(k)] = true;
    counts.set(NodeId(0), RailId(0), NodeId(k), k);
  }
  // The j largest share rail 0: 63 + ... + (64 - j) over j + 1 rails, for the best j.
  Ratio best{63, 2};
  std::int64_t sum = 0;
  for (std::int64_t j = 1; j < kNodes; ++j) {
    sum += kNodes - j;
    if (sum * best.den > best.num * (j + 1)) best = {sum, j + 1};
  }
  const Ratio found = bound_records(Topology::create(options).value(), counts);
  EXPECT_EQ(found.num * best.den, best.num * found.den);
  EXPECT_GT(best.den, 5);
}

/// Each of 64 nodes has rail 0 and a third of the others: all 126 sets of a node differ.
TEST(Bound, RailsDownAtRandomEverywhere) {
  constexpr std::size_t kNodes = 64;
  constexpr std::size_t kPlanes = 96;
  std::uint64_t state = 1;
  const auto below = [&](std::uint64_t most) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int>((state >> 33) % most);
  };
  Topology::Options options;
  options.ranks_per_node.assign(kNodes, 1);
  options.rails = kPlanes;
  options.live.assign(kNodes, std::vector<bool>(kPlanes, false));
  RailCounts counts(kNodes, kPlanes);
  for (std::size_t node = 0; node < kNodes; ++node) {
    for (std::size_t r = 0; r < kPlanes; ++r) options.live[node][r] = r == 0 || below(3) == 0;
    for (std::size_t other = 0; other < kNodes; ++other) {
      if (other != node) counts.set(NodeId(node), RailId(0), NodeId(other), 1 + below(1000));
    }
  }
  const Topology topology = Topology::create(options).value();
  const double found = bound_records(topology, counts).value();
  const auto plan = DispatchPlan::create(topology, counts, {Path::RailOnly, {}}).value();
  EXPECT_LE(found, static_cast<double>(barrier_path_bound_records(plan)));
  for (NodeId s(0); s.value < static_cast<int>(kNodes); ++s.value) {
    double sent = 0;
    for (NodeId d(0); d.value < static_cast<int>(kNodes); ++d.value) {
      const auto records = static_cast<double>(counts.slice(s, d));
      if (s == d) continue;
      sent += records;
      EXPECT_GE(found, records / static_cast<double>(topology.eligible(s, d).size()));
    }
    EXPECT_GE(found, sent / kPlanes);
  }
}

/// Products of records and weights beyond 64 bits.
TEST(Bound, HugeRecordsAndWeightsAreExact) {
  constexpr std::int64_t kMost = std::int64_t{1} << 59;
  Topology::Options options;
  options.ranks_per_node.assign(4, 1);
  options.rails = 4;
  options.live = {{true, true, true, true},
                  {true, true, false, false},
                  {true, false, true, false},
                  {true, false, false, true}};
  options.weights.assign(4, {kMost, 1, 1, kMost});
  RailCounts counts(4, 4);
  counts.set(NodeId(0), RailId(0), NodeId(1), kMost);
  counts.set(NodeId(0), RailId(0), NodeId(2), kMost);
  counts.set(NodeId(0), RailId(0), NodeId(3), kMost - 1);
  // Rails 0, 1 and 2 carry 2^60 at 2^59 + 2; with rail 3 it is 1.5 times 2^60 at 2^60 + 2.
  EXPECT_EQ(bound_records(Topology::create(options).value(), counts),
            (Ratio{kMost, kMost / 2 + 1}));
}

TEST(Bound, SecondsLessTheBurst) {
  EXPECT_DOUBLE_EQ(bound_seconds({5, 2}, 1000, 1e4, 0), 0.25);
  EXPECT_DOUBLE_EQ(bound_seconds({5, 2}, 1000, 1e4, 500), 0.2);
  EXPECT_DOUBLE_EQ(bound_seconds({5, 2}, 1000, 1e4, 12000), 0.0);
  EXPECT_DOUBLE_EQ(bound_seconds({0, 1}, 1000, 1e4, 0), 0.0);
}

/// Case D13: 4 x 205 records of 14,336 bytes over four rails of 50 Mbit/s, then over three.
TEST(Bound, SecondsOfAThreeRailPhase) {
  Topology::Options options;
  options.ranks_per_node = {4, 4};
  options.rails = 4;
  options.live = {{true, true, false, true}, {true, true, true, true}};
  RailCounts counts(2, 4);
  for (int r = 0; r < 4; ++r) counts.set(NodeId(0), RailId(r), NodeId(1), 205);
  const Topology three = Topology::create(options).value();
  EXPECT_NEAR(bound_seconds(bound_records(three, counts), 14336, 6.25e6, 0), 0.63, 0.005);
  const Topology four = Topology::uniform(2, 4, 4).value();
  EXPECT_DOUBLE_EQ(bound_seconds(bound_records(four, counts), 14336, 6.25e6, 0),
                   11755520.0 / 4 / 6.25e6);
}

}  // namespace
}  // namespace railwave::plan
