// What is no cluster, and what makes two clusters the same.
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <railwave/topology.hpp>

namespace railwave {
namespace {

using ::testing::HasSubstr;

class TopologyOptions : public ::testing::Test {
 protected:
  TopologyOptions() {
    options_.ranks_per_node = {2, 2};
    options_.rails = 2;
  }
  Error rejected() {
    const auto topology = Topology::create(options_);
    EXPECT_FALSE(topology);
    return topology ? Error{} : topology.error();
  }
  void expect_invalid(const char* field, const char* part) {
    const Error error = rejected();
    EXPECT_EQ(error.code, ErrorCode::InvalidArgument);
    EXPECT_EQ(error.field, field);
    EXPECT_THAT(error.message, HasSubstr(part));
  }
  Topology::Options options_;
};

TEST_F(TopologyOptions, NoNode) {
  options_.ranks_per_node = {};
  expect_invalid("ranks_per_node", "no node");
  EXPECT_EQ(Topology::uniform(0, 1, 1).error().field, "nodes");
  EXPECT_EQ(Topology::uniform(-3, 1, 1).error().field, "nodes");
}

TEST_F(TopologyOptions, EmptyNode) {
  options_.ranks_per_node = {2, 0};
  expect_invalid("ranks_per_node", "node 1 has 0");
}

TEST_F(TopologyOptions, MoreRanksThanAnIdHolds) {
  options_.ranks_per_node = {2'000'000'000, 2'000'000'000};
  expect_invalid("ranks_per_node", "4000000000");
}

TEST_F(TopologyOptions, NoRail) {
  options_.rails = 0;
  expect_invalid("rails", "0 rails");
}

TEST_F(TopologyOptions, HomeRailOutOfRange) {
  options_.home_rail = {{0, 1}, {0, 2}};
  expect_invalid("home_rail", "node 1, local rank 1: rail 2");
  options_.home_rail = {{-1, 1}, {0, 1}};
  expect_invalid("home_rail", "node 0, local rank 0: rail -1");
}

TEST_F(TopologyOptions, HomeRailOfAnotherShape) {
  options_.home_rail = {{0, 1}};
  expect_invalid("home_rail", "1 nodes given");
  options_.home_rail = {{0, 1}, {0}};
  expect_invalid("home_rail", "node 1 has 1 entries");
}

TEST_F(TopologyOptions, LiveOfAnotherShape) {
  options_.live = {{true, true}};
  expect_invalid("live", "1 nodes given");
  options_.live = {{true, true}, {true, true, true}};
  expect_invalid("live", "node 1 has 3 entries");
}

TEST_F(TopologyOptions, ChiIsNoBijection) {
  options_.ingress.assign(2, {{0, 1}, {0, 1}});
  options_.ingress[0][1] = {1, 1};
  expect_invalid("ingress", "nodes 0 to 1: rail 1 is met twice");
  options_.ingress[0][1] = {0, 2};
  expect_invalid("ingress", "rail 2 is outside");
  options_.ingress[0][1] = {0};
  expect_invalid("ingress", "1 entries");
}

TEST_F(TopologyOptions, ChiOfAnotherShape) {
  options_.ingress.assign(1, {{0, 1}, {0, 1}});
  expect_invalid("ingress", "1 sources given");
  options_.ingress = {{{0, 1}}, {}};
  expect_invalid("ingress", "source 0 has 1 destinations");
}

TEST_F(TopologyOptions, WeightsOfAnotherShape) {
  options_.weights = {{1, 1}};
  expect_invalid("weights", "1 nodes given");
  options_.weights = {{1, 1}, {1, 1, 1}};
  expect_invalid("weights", "node 1 has 3 entries");
}

TEST_F(TopologyOptions, WeightsOutOfRange) {
  options_.weights = {{1, 1}, {0, 1}};
  expect_invalid("weights", "node 1, rail 0: weight 0");
  options_.weights = {{1, -5}, {1, 1}};
  expect_invalid("weights", "node 0, rail 1: weight -5");
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  options_.weights = {{1, 1}, {kMost, 1}};
  expect_invalid("weights", "node 1: the sum");
}

TEST_F(TopologyOptions, WeightsAreReducedToTheirRatios) {
  options_.weights = {{6'250'000, 6'250'000}, {6'250'000, 3'125'000}};
  const Topology topology = Topology::create(options_).value();
  EXPECT_EQ(topology.weight(NodeId(0), RailId(1)), 2);
  EXPECT_EQ(topology.weight(NodeId(1), RailId(1)), 1);
  EXPECT_EQ(topology.weight_unit(), 3'125'000);
  // The slower of the two ends.
  EXPECT_EQ(topology.weight(NodePair{NodeId(0), NodeId(1)}, RailId(0)), 2);
  EXPECT_EQ(topology.weight(NodePair{NodeId(0), NodeId(1)}, RailId(1)), 1);
  EXPECT_TRUE(topology.has_uneven_rails(NodeId(0)));
  options_.weights = {{4, 4}, {2, 2}};
  EXPECT_FALSE(Topology::create(options_)->has_uneven_rails(NodeId(0)));
}

TEST_F(TopologyOptions, ASliceMeetsTheWeightOfItsIngressRail) {
  options_.weights = {{3, 3}, {1, 2}};
  options_.ingress.assign(2, {{1, 0}, {1, 0}});
  const Topology topology = Topology::create(options_).value();
  EXPECT_EQ(topology.weight(NodePair{NodeId(0), NodeId(1)}, RailId(0)), 2);
  EXPECT_EQ(topology.weight(NodePair{NodeId(1), NodeId(0)}, RailId(0)), 1);
}

TEST_F(TopologyOptions, ARailThatIsDownMakesNoRailsUneven) {
  options_.weights = {{1, 1}, {1, 7}};
  EXPECT_FALSE(Topology::create(options_)->has_uneven_rails(NodeId(0)));
  options_.weights = {{9, 7}, {1, 7}};
  EXPECT_TRUE(Topology::create(options_)->has_uneven_rails(NodeId(0)));
  options_.live = {{true, true}, {true, false}};
  EXPECT_FALSE(Topology::create(options_)->has_uneven_rails(NodeId(0)));
}

TEST_F(TopologyOptions, EqualWeightsAreNone) {
  options_.weights = {{50, 50}, {50, 50}};
  const Topology topology = Topology::create(options_).value();
  EXPECT_EQ(topology.weight(NodeId(1), RailId(1)), 1);
  EXPECT_EQ(topology.weight_unit(), 50);
  EXPECT_EQ(topology.fingerprint(), Topology::uniform(2, 2, 2)->fingerprint());
}

TEST_F(TopologyOptions, NoCommonRailIsLinkDown) {
  options_.live = {{true, false}, {false, true}};
  const Error error = rejected();
  EXPECT_EQ(error.code, ErrorCode::LinkDown);
  EXPECT_THAT(error.message, HasSubstr("nodes 0 and 1"));
  // Plugged crosswise, the two live rails do meet.
  options_.ingress.assign(2, {{1, 0}, {1, 0}});
  EXPECT_TRUE(Topology::create(options_));
}

TEST_F(TopologyOptions, ALoneNodeNeedsNoLiveRail) {
  options_.ranks_per_node = {2};
  options_.live = {{false, false}};
  EXPECT_TRUE(Topology::create(options_));
}

TEST_F(TopologyOptions, SpelledOutDefaultsAreTheSameShape) {
  const std::uint64_t implicit = Topology::create(options_)->fingerprint();
  options_.home_rail = {{0, 1}, {0, 1}};
  options_.live = {{true, true}, {true, true}};
  options_.ingress.assign(2, {{0, 1}, {0, 1}});
  EXPECT_EQ(Topology::create(options_)->fingerprint(), implicit);
  EXPECT_EQ(Topology::uniform(2, 2, 2)->fingerprint(), implicit);
}

TEST_F(TopologyOptions, EveryOptionChangesTheFingerprint) {
  const std::uint64_t before = Topology::create(options_)->fingerprint();
  const auto changed = [&](const std::function<void(Topology::Options&)>& change) {
    Topology::Options options = options_;
    change(options);
    return Topology::create(options)->fingerprint();
  };
  EXPECT_NE(before, changed([](auto& o) { o.rails = 3; }));
  EXPECT_NE(before, changed([](auto& o) { o.ranks_per_node = {1, 3}; }));
  EXPECT_NE(before, changed([](auto& o) { o.ranks_per_node = {2, 2, 2}; }));
  EXPECT_NE(before, changed([](auto& o) { o.home_rail = {{0, 1}, {1, 0}}; }));
  EXPECT_NE(before, changed([](auto& o) { o.live = {{true, true}, {true, false}}; }));
  EXPECT_NE(before, changed([](auto& o) { o.ingress.assign(2, {{1, 0}, {1, 0}}); }));
  const auto heavy = changed([](auto& o) { o.weights = {{1, 1}, {1, 2}}; });
  EXPECT_NE(before, heavy);
  EXPECT_NE(heavy, changed([](auto& o) { o.weights = {{1, 2}, {1, 1}}; }));
}

/// The hash travels between machines, so its input is fixed: XXH3 of the words N, R, the nodes'
/// first ranks and P, home rails, live rails (here neither chi nor weights), each as 8
/// little-endian bytes.
TEST(TopologyFingerprint, IsFixed) {
  EXPECT_EQ(Topology::uniform(4, 8, 8)->fingerprint(), 4763542823502156859U);
}

}  // namespace
}  // namespace railwave
