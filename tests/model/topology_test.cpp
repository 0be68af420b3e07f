// The cluster's shape: numbering, home rails, drivers, chi, eligibility.
#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <railwave/topology.hpp>

namespace railwave {
namespace {

std::vector<int> values(std::span<const RankId> ids) {
  std::vector<int> out;
  for (const RankId id : ids) out.push_back(id.value);
  return out;
}

std::vector<int> values(std::span<const RailId> ids) {
  std::vector<int> out;
  for (const RailId id : ids) out.push_back(id.value);
  return out;
}

TEST(Topology, RanksAreNumberedNodeByNode) {
  Topology::Options options;
  options.ranks_per_node = {2, 3, 1};
  options.rails = 2;
  const Topology topology = Topology::create(options).value();
  EXPECT_EQ(topology.nodes(), 3);
  EXPECT_EQ(topology.ranks(), 6);
  EXPECT_EQ(topology.ranks_at(NodeId(1)), 3);
  EXPECT_EQ(topology.first_rank(NodeId(2)), RankId(5));
  EXPECT_EQ(topology.rank_at(NodeId(1), 2), RankId(4));
  EXPECT_EQ(topology.node_of(RankId(4)), NodeId(1));
  EXPECT_EQ(topology.local_of(RankId(4)), 2);
  EXPECT_EQ(topology.node_of(RankId(5)), NodeId(2));
}

TEST(Topology, DefaultHomeRailsSpreadRanksOverRails) {
  const Topology more_ranks = Topology::uniform(1, 6, 4).value();
  std::vector<int> home;
  for (int r = 0; r < 6; ++r) home.push_back(more_ranks.home_rail(RankId(r)).value);
  EXPECT_EQ(home, (std::vector<int>{0, 0, 1, 2, 2, 3}));
  const Topology more_rails = Topology::uniform(1, 3, 8).value();
  home.clear();
  for (int r = 0; r < 3; ++r) home.push_back(more_rails.home_rail(RankId(r)).value);
  EXPECT_EQ(home, (std::vector<int>{0, 2, 5}));
}

TEST(Topology, DriversAreTheHomeRanksElseOneInProportion) {
  const Topology more_ranks = Topology::uniform(2, 6, 4).value();
  EXPECT_EQ(values(more_ranks.drivers(NodeId(1), RailId(0))), (std::vector<int>{6, 7}));
  EXPECT_EQ(values(more_ranks.drivers(NodeId(1), RailId(3))), (std::vector<int>{11}));
  const Topology more_rails = Topology::uniform(1, 3, 8).value();  // home rails 0, 2, 5
  const std::vector<int> expected{0, 0, 1, 1, 1, 2, 2, 2};
  for (int r = 0; r < 8; ++r) {
    EXPECT_EQ(values(more_rails.drivers(NodeId(0), RailId(r))),
              std::vector<int>{expected[static_cast<std::size_t>(r)]});
  }
}

TEST(Topology, OneOfEverything) {
  const Topology topology = Topology::uniform(1, 1, 1).value();
  EXPECT_EQ(topology.ranks(), 1);
  EXPECT_EQ(values(topology.drivers(NodeId(0), RailId(0))), std::vector<int>{0});
  EXPECT_EQ(values(topology.eligible(NodeId(0), NodeId(0))), std::vector<int>{0});
}

TEST(Topology, ChiGoingBackIsTheInverse) {
  Topology::Options options;
  options.ranks_per_node = {1, 1, 1};
  options.rails = 3;
  options.ingress.assign(3, std::vector<std::vector<int>>(3, {0, 1, 2}));
  options.ingress[0][1] = {1, 2, 0};
  options.ingress[1][0] = {};  // only s < d is read
  const Topology topology = Topology::create(options).value();
  EXPECT_EQ(topology.ingress(NodeId(0), NodeId(1), RailId(0)), RailId(1));
  EXPECT_EQ(topology.ingress(NodeId(0), NodeId(1), RailId(2)), RailId(0));
  EXPECT_EQ(topology.ingress(NodeId(1), NodeId(0), RailId(1)), RailId(0));
  EXPECT_EQ(topology.ingress(NodeId(1), NodeId(0), RailId(0)), RailId(2));
  EXPECT_EQ(topology.ingress(NodeId(2), NodeId(0), RailId(2)), RailId(2));
}

/// Case D14: node 1 lacks rail 2.
TEST(Topology, AMissingRailIsNotEligible) {
  Topology::Options options;
  options.ranks_per_node = {4, 3};
  options.rails = 4;
  options.live = {{true, true, true, true}, {true, true, false, true}};
  const Topology topology = Topology::create(options).value();
  EXPECT_EQ(values(topology.eligible(NodeId(0), NodeId(1))), (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(values(topology.eligible(NodeId(1), NodeId(0))), (std::vector<int>{0, 1, 3}));
  EXPECT_TRUE(topology.live(NodeId(0), RailId(2)));
  EXPECT_FALSE(topology.live(NodeId(1), RailId(2)));
}

TEST(Topology, EligibleIsNamedByEgressRail) {
  Topology::Options options;
  options.ranks_per_node = {1, 1};
  options.rails = 3;
  options.live = {{true, true, true}, {false, true, true}};
  options.ingress.assign(2, std::vector<std::vector<int>>(2, {1, 2, 0}));
  const Topology topology = Topology::create(options).value();
  EXPECT_EQ(values(topology.eligible(NodeId(0), NodeId(1))), (std::vector<int>{0, 1}));
  EXPECT_EQ(values(topology.eligible(NodeId(1), NodeId(0))), (std::vector<int>{1, 2}));
}

std::vector<int> any_permutation(int size) {
  std::vector<int> out(static_cast<std::size_t>(size));
  std::iota(out.begin(), out.end(), 0);
  for (std::size_t i = out.size(); i > 1; --i) {
    std::swap(out[i - 1], out[*rc::gen::inRange<std::size_t>(0, i)]);
  }
  return out;
}

Topology::Options any_options() {
  Topology::Options options;
  const int nodes = *rc::gen::inRange(1, 6);
  options.rails = *rc::gen::inRange(1, 9);
  for (int node = 0; node < nodes; ++node) {
    const int ranks = *rc::gen::inRange(1, 12);
    options.ranks_per_node.push_back(ranks);
    options.home_rail.push_back(*rc::gen::container<std::vector<int>>(
        static_cast<std::size_t>(ranks), rc::gen::inRange(0, options.rails)));
  }
  options.ingress.resize(static_cast<std::size_t>(nodes));
  for (auto& row : options.ingress) {
    for (int d = 0; d < nodes; ++d) row.push_back(any_permutation(options.rails));
  }
  return options;
}

RC_GTEST_PROP(TopologyProperty, EveryRailHasItsDrivers, ()) {
  const auto options = any_options();
  const Topology topology = Topology::create(options).value();
  for (std::size_t node = 0; node < options.ranks_per_node.size(); ++node) {
    for (int rail = 0; rail < options.rails; ++rail) {
      std::vector<int> expected;
      for (int local = 0; local < options.ranks_per_node[node]; ++local) {
        if (options.home_rail[node][static_cast<std::size_t>(local)] == rail) {
          expected.push_back(topology.first_rank(NodeId(node)).value + local);
        }
      }
      if (expected.empty()) {
        expected.push_back(topology.first_rank(NodeId(node)).value +
                           rail * options.ranks_per_node[node] / options.rails);
      }
      RC_ASSERT(values(topology.drivers(NodeId(node), RailId(rail))) == expected);
    }
  }
}

RC_GTEST_PROP(TopologyProperty, ThereAndBackIsTheSameRail, ()) {
  const Topology topology = Topology::create(any_options()).value();
  for (NodeId s(0); s.value < topology.nodes(); ++s.value) {
    for (NodeId d(0); d.value < topology.nodes(); ++d.value) {
      for (RailId r(0); r.value < topology.rails(); ++r.value) {
        RC_ASSERT(topology.ingress(d, s, topology.ingress(s, d, r)) == r);
      }
    }
  }
}

RC_GTEST_PROP(TopologyProperty, RanksAndNodesAgree, ()) {
  const Topology topology = Topology::create(any_options()).value();
  for (RankId rank(0); rank.value < topology.ranks(); ++rank.value) {
    const NodeId node = topology.node_of(rank);
    RC_ASSERT(topology.rank_at(node, topology.local_of(rank)) == rank);
    RC_ASSERT(topology.local_of(rank) < topology.ranks_at(node));
  }
}

}  // namespace
}  // namespace railwave
