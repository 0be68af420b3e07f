#include "testbed/cluster_spec.hpp"

#include <cstdlib>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "testbed/emulation_limits.hpp"

namespace railwave::testbed {
namespace {

using testing::HasSubstr;

Error error_of(std::string_view text) {
  const auto spec = parse_cluster(text, "c.toml");
  EXPECT_FALSE(spec.has_value()) << text;
  return spec ? Error{} : spec.error();
}

ClusterSpec arbitrary_cluster() {
  const auto nodes = *rc::gen::inRange(1, 6);
  const auto rails = *rc::gen::inRange(1, 6);
  auto spec = uniform_cluster(nodes, 1, rails);
  for (auto& ranks : spec.ranks_per_node) ranks = *rc::gen::inRange(1, 9);
  std::vector<int> identity;
  for (int r = 0; r < rails; ++r) identity.push_back(r);
  const auto rows = static_cast<std::size_t>(nodes);
  const auto columns = static_cast<std::size_t>(rails);
  if (*rc::gen::arbitrary<bool>()) {
    for (const int ranks : spec.ranks_per_node) {
      spec.home_rail.push_back(*rc::gen::container<std::vector<int>>(
          static_cast<std::size_t>(ranks), rc::gen::inRange(0, rails)));
    }
  }
  if (*rc::gen::arbitrary<bool>()) {
    for (int n = 0; n < nodes; ++n) {
      auto plugs = identity;
      for (std::size_t i = plugs.size(); i > 1; --i) {
        std::swap(plugs[i - 1], plugs[*rc::gen::inRange<std::size_t>(0, i)]);
      }
      spec.bridges.push_back(plugs);
    }
  }
  if (*rc::gen::arbitrary<bool>()) {
    spec.live = *rc::gen::container<std::vector<std::vector<bool>>>(
        rows, rc::gen::container<std::vector<bool>>(columns, rc::gen::arbitrary<bool>()));
  }
  if (*rc::gen::arbitrary<bool>()) {
    spec.rail_rate = *rc::gen::container<std::vector<std::vector<std::int64_t>>>(
        rows, rc::gen::container<std::vector<std::int64_t>>(
                  columns, rc::gen::inRange<std::int64_t>(100'000, 1'000'000'000)));
  }
  return spec;
}

TEST(ClusterSpec, DefaultsAreTheDesigns) {
  const auto spec = parse_cluster("", "c.toml");
  ASSERT_TRUE(spec.has_value()) << to_string(spec.error());
  EXPECT_EQ(*spec, ClusterSpec{});
  EXPECT_EQ(spec->ranks_per_node, std::vector<int>(4, 8));
  EXPECT_EQ(spec->rails, 8);
  EXPECT_EQ(spec->rate, 50'000'000);
  EXPECT_EQ(spec->buffer, 65536);
  EXPECT_EQ(spec->nic_queue, 4194304);
  EXPECT_EQ(spec->burst, 12288);
  EXPECT_EQ(spec->mtu, 9000);
  EXPECT_EQ(spec->rto_min.count(), 5);
}

TEST(ClusterSpec, ReadsEverySetting) {
  const auto spec = parse_cluster(R"(
nodes = 3
ranks_per_node = [2, 4, 1]
rails = 2
rate = "100mbit"
buffer = "32kb"
nic_queue = "1mb"
burst = "4kb"
mtu = 1500
congestion = "reno"
rto_min = "200ms"
[rail.1]
rate = "40mbit"
[node.1]
home_rail = [1, 1, 0, 0]
bridges = [1, 0]
rate = ["10mbit", "20mbit"]
[node.2]
ranks = 3
missing_rails = [0]
)",
                                  "c.toml");
  ASSERT_TRUE(spec.has_value()) << to_string(spec.error());
  EXPECT_EQ(spec->ranks_per_node, (std::vector<int>{2, 4, 3}));
  EXPECT_EQ(spec->home_rail, (std::vector<std::vector<int>>{{0, 1}, {1, 1, 0, 0}, {0, 0, 1}}));
  EXPECT_EQ(spec->bridges, (std::vector<std::vector<int>>{{0, 1}, {1, 0}, {0, 1}}));
  EXPECT_EQ(spec->live,
            (std::vector<std::vector<bool>>{{true, true}, {true, true}, {false, true}}));
  EXPECT_EQ(spec->rail_rate,
            (std::vector<std::vector<std::int64_t>>{
                {100'000'000, 40'000'000}, {10'000'000, 20'000'000}, {100'000'000, 40'000'000}}));
  EXPECT_EQ(spec->buffer, 32768);
  EXPECT_EQ(spec->nic_queue, 1048576);
  EXPECT_EQ(spec->burst, 4096);
  EXPECT_EQ(spec->mtu, 1500);
  EXPECT_EQ(spec->congestion, "reno");
  EXPECT_EQ(spec->rto_min.count(), 200);
}

TEST(ClusterSpec, ErrorsNameLineAndColumn) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"nodes = [", "c.toml:1:10: "},
      {"rails = 2\nnods = 4\n", "c.toml:2:1: unknown key 'nods'"},
      {"rails = 2\n  nodes = 0\n", "c.toml:2:11: nodes must be"},
      {"rate = \"50\"\n", "c.toml:1:8: '50' is not understood"},
      {"rto_min = \"5\"\n", "c.toml:1:11: '5' is not understood"},
      {"nodes = 2\nranks_per_node = [1, 2, 3]\n", "c.toml:2:18: ranks_per_node must be a list"},
      {"ranks_per_node = \"x\"\n", "c.toml:1:18: ranks_per_node"},
      {"ranks_per_node = [8, 0, 8, 8]\n", "c.toml:1:22: ranks_per_node must be a whole"},
      {"rails = 2\n[node.1]\nbridges = [1, 1]\n", "c.toml:3:11: bridge 1 is named twice"},
      {"rails = 2\n[node.1]\nbridges = [1, 2]\n", "c.toml:3:15: bridges must be a whole"},
      {"[node.4]\nranks = 1\n", "c.toml:1:7: [node.4]"},
      {"[node.x]\nranks = 1\n", "c.toml:1:7: [node.x]"},
      {"[rail.0]\nspeed = 1\n", "c.toml:2:1: unknown key 'speed'"},
      {"rails = 2\n[node.0]\nmissing_rails = [2]\n", "c.toml:3:18: missing_rails must be"},
      {"[node.0]\nranks = 2\nhome_rail = [0]\n", "c.toml:3:13: home_rail must be a list of 2"},
      {"mtu = 9000\nburst = \"9014b\"\n", "c.toml:2:9: 9014 bytes is less than a frame"},
      {"mtu = 20000\n", "c.toml:1:7: 12288 bytes is less than a frame"},
      {"congestion = \"no such\"\n", "c.toml:1:14: 'no such' is no name"},
      {"nodes = 2049\n", "c.toml:1:9: nodes must be a whole number between 1 and 2048"},
      {"rails = 2\nrate = \"999bit\"\n", "c.toml:2:8: 999 bit/s is not between 1.00 kbit/s and "},
      {"rails = 2\n[rail.1]\nrate = \"1bit\"\n", "c.toml:3:8: rail 1: 1 bit/s is not between"},
      {"nodes = 2\nrails = 2\n[node.1]\nrate = [\"50mbit\", \"10001gbit\"]\n",
       "c.toml:4:19: node 1, rail 1: 10001000000000 bit/s is not between"},
      {"rails = 2\n[node.3]\nrate = \"0bit\"\n", "c.toml:3:8: node 3: 0 bit/s is not between"}};
  for (const auto& [text, expected] : cases) {
    const auto error = error_of(text);
    EXPECT_EQ(error.code, ErrorCode::InvalidArgument);
    EXPECT_EQ(error.message.substr(0, expected.size()), expected) << text;
  }
}

// A table inside a table for every dot: the library's recursion overflowed the stack.
TEST(ClusterSpec, KeysNestedWithoutEndAreRefused) {
  std::string key = "a";
  for (int i = 0; i < 100'000; ++i) key += ".a";
  for (const std::string& text :
       {key + " = 1", "[" + key + "]", "x = '.#'\n[" + key + "]", "x = \"\\\"\"\n" + key + " = 1",
        "x = \"\"\"a\"b\"\"\"\"\n" + key + " = 1", "x = { y = \"\"\"\"\"\", " + key + " = 1 }"}) {
    const auto error = error_of(text);
    EXPECT_EQ(error.code, ErrorCode::InvalidArgument);
    EXPECT_NE(error.message.find("expected at most 4000 dots"), std::string::npos) << error.message;
  }
  EXPECT_EQ(error_of("# .\nx = \".\"\n" + key).message.substr(0, 16), "c.toml:3:8002: e");
}

TEST(ClusterSpec, DotsInStringsAndCommentsAreNoKeys) {
  const std::string dots(10'000, '.');
  const auto spec = parse_cluster("# " + dots + "\nrails = 2 # '" + dots + "\nnodes = 2", "c.toml");
  ASSERT_TRUE(spec.has_value()) << to_string(spec.error());
  EXPECT_EQ(error_of("congestion = \"" + dots + "\"").message.substr(0, 15), "c.toml:1:14: '.");
  EXPECT_EQ(error_of("rate = \"\"\"" + dots + "\n" + dots + "\"\"\"").message.substr(0, 15),
            "c.toml:1:8: '..");
}

TEST(ClusterSpec, ADeviceIsRefused) {
  const auto spec = read_cluster("/dev/zero");
  ASSERT_FALSE(spec.has_value());
  EXPECT_NE(spec.error().message.find("/dev/zero: is not a regular file"), std::string::npos)
      << spec.error().message;
}

TEST(ClusterSpec, AFileThatIsNotThereIsNamed) {
  const auto spec = read_cluster("no/such/cluster.toml");
  ASSERT_FALSE(spec.has_value());
  EXPECT_NE(spec.error().message.find("no/such/cluster.toml"), std::string::npos);
}

// tc rounds 9014 down to 9006 bytes of ticks, less than a frame: the rail would stall.
TEST(ClusterSpec, BurstHoldsAFrameAndOnePerCent) {
  EXPECT_EQ(least_burst(9000), 9014 + 91);
  EXPECT_EQ(least_burst(1500), 1514 + 16);
  ClusterSpec spec;
  spec.burst = least_burst(spec.mtu) - 1;
  ASSERT_FALSE(validate(spec).has_value());
  EXPECT_EQ(validate(spec).error().field, "burst");
  spec.burst = least_burst(spec.mtu);
  EXPECT_TRUE(validate(spec).has_value());
}

TEST(ClusterSpec, ShapesThatDoNotFitAreRefused) {
  const auto field_of = [](auto change) {
    auto spec = uniform_cluster(2, 3, 2);
    change(spec);
    const auto valid = validate(spec);
    return valid ? std::string("accepted") : valid.error().field;
  };
  using Spec = ClusterSpec;
  EXPECT_EQ(field_of([](Spec&) {}), "accepted");
  EXPECT_EQ(field_of([](Spec& s) { s.ranks_per_node.clear(); }), "nodes");
  EXPECT_EQ(field_of([](Spec& s) { s.ranks_per_node.assign(2049, 1); }), "nodes");
  EXPECT_EQ(field_of([](Spec& s) { s.ranks_per_node[1] = 0; }), "ranks_per_node");
  EXPECT_EQ(field_of([](Spec& s) { s.rails = 0; }), "rails");
  EXPECT_EQ(field_of([](Spec& s) { s.home_rail = {{0, 1, 0}}; }), "home_rail");
  EXPECT_EQ(field_of([](Spec& s) { s.home_rail = {{0, 1, 0}, {0, 1}}; }), "home_rail");
  EXPECT_EQ(field_of([](Spec& s) { s.home_rail = {{0, 1, 0}, {0, 1, 2}}; }), "home_rail");
  EXPECT_EQ(field_of([](Spec& s) { s.bridges = {{0, 1}, {0, 0}}; }), "bridges");
  EXPECT_EQ(field_of([](Spec& s) { s.live = {{true, true}}; }), "missing_rails");
  EXPECT_EQ(field_of([](Spec& s) { s.rail_rate = {{1'000'000, 0}, {1, 1}}; }), "rail_rate");
  EXPECT_EQ(field_of([](Spec& s) { s.rate = 10'000'000'000'001; }), "rate");
  EXPECT_EQ(field_of([](Spec& s) { s.buffer = 9000; }), "buffer");
  EXPECT_EQ(field_of([](Spec& s) { s.rto_min = std::chrono::milliseconds(0); }), "rto_min");
}

RC_GTEST_PROP(ClusterSpec, TextGivesBackTheSpec, ()) {
  const auto spec = arbitrary_cluster();
  const auto again = parse_cluster(format_cluster(spec), "again");
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == spec);
}

// Two rails meet exactly when they are plugged into the same bridge; chi(d,s) undoes chi(s,d).
RC_GTEST_PROP(ClusterSpec, IngressLeadsToTheRailOnTheSameBridge, ()) {
  const auto spec = arbitrary_cluster();
  const auto options = topology_options(spec);
  RC_PRE(!spec.bridges.empty());
  for (std::size_t s = 0; s < spec.bridges.size(); ++s) {
    for (std::size_t d = 0; d < spec.bridges.size(); ++d) {
      for (std::size_t r = 0; r < spec.bridges[s].size(); ++r) {
        const auto ingress = static_cast<std::size_t>(options.ingress[s][d][r]);
        RC_ASSERT(spec.bridges[d][ingress] == spec.bridges[s][r]);
        RC_ASSERT(options.ingress[d][s][ingress] == static_cast<int>(r));
      }
    }
  }
}

TEST(ClusterSpec, RailsOnOneBridgeShareASubnet) {
  auto spec = uniform_cluster(2, 1, 2);
  spec.bridges = {{0, 1}, {1, 0}};
  EXPECT_EQ(rail_address(spec, NodeId(0), RailId(0)), (Ipv4{10, 1, 0, 1}));
  EXPECT_EQ(rail_address(spec, NodeId(1), RailId(1)), (Ipv4{10, 1, 0, 2}));
  EXPECT_EQ(rail_address(spec, NodeId(1), RailId(0)), (Ipv4{10, 2, 0, 2}));
}

TEST(ClusterSpec, ComesFromTheEnvironmentOnARank) {
  ::unsetenv("RAILWAVE_CLUSTER");
  EXPECT_FALSE(cluster_from_environment().value().has_value());
  const auto spec = uniform_cluster(3, 2, 5);
  ::setenv("RAILWAVE_CLUSTER", format_cluster(spec).c_str(), 1);
  EXPECT_EQ(cluster_from_environment().value(), spec);
  ::setenv("RAILWAVE_CLUSTER", "nodes = none", 1);
  EXPECT_FALSE(cluster_from_environment().has_value());
  ::unsetenv("RAILWAVE_CLUSTER");
}

TEST(ClusterSpec, RealClustersHaveAFileToo) {
  const auto spec = parse_cluster(
      "nodes = 2048\nrails = 4\nrate = \"400gbit\"\n[rail.1]\nrate = \"10000gbit\"\n"
      "[node.2047]\nrate = \"1kbit\"\n",
      "c.toml");
  ASSERT_TRUE(spec.has_value()) << to_string(spec.error());
  EXPECT_EQ(spec->nodes(), 2048);
  EXPECT_EQ(spec->rate_of(NodeId(0), RailId(0)), 400'000'000'000);
  EXPECT_EQ(spec->rate_of(NodeId(2046), RailId(1)), 10'000'000'000'000);
  EXPECT_EQ(spec->rate_of(NodeId(2047), RailId(1)), 1'000);
  EXPECT_EQ(parse_cluster(format_cluster(*spec), "again"), *spec);
}

// With every optional list the file stays below the limit of its size.
TEST(ClusterSpec, TheLargestClusterCanBeWrittenAndRead) {
  auto spec = uniform_cluster(kMostNodes, kMostRanksPerNode, kMostRails);
  constexpr auto kRails = std::size_t{kMostRails};
  spec.home_rail.assign(kMostNodes, std::vector<int>(kMostRanksPerNode, kMostRails - 1));
  spec.live.assign(kMostNodes, std::vector<bool>(kRails, false));
  spec.rail_rate.assign(kMostNodes, std::vector<std::int64_t>(kRails, kMostRate));
  spec.bridges.assign(kMostNodes, std::vector<int>(kRails));
  for (auto& plugs : spec.bridges) std::iota(plugs.rbegin(), plugs.rend(), 0);
  const auto again = parse_cluster(format_cluster(spec), "again");
  ASSERT_TRUE(again.has_value()) << to_string(again.error());
  EXPECT_EQ(*again, spec);
}

std::string refusal_of(const ClusterSpec& spec) {
  EXPECT_TRUE(validate(spec).has_value());
  const auto fits = check_emulation(spec);
  return fits ? std::string("accepted") : to_string(fits.error());
}

TEST(EmulationLimits, SayWhoseLimitItIsAndWhatToDo) {
  auto spec = uniform_cluster(250, 1, 2);
  spec.rate = 16'000'000'000;
  EXPECT_EQ(refusal_of(spec), "accepted");
  spec.rate = 16'000'000'001;
  EXPECT_THAT(refusal_of(spec), HasSubstr("InvalidArgument{rate}: 16.00 Gbit/s can not be emulated "
                                          "on this machine: a rail has 100.00 kbit/s to 16.00 "
                                          "Gbit/s here; give another rate (railwave plan, "));
  spec = uniform_cluster(251, 1, 2);
  EXPECT_THAT(refusal_of(spec),
              HasSubstr("InvalidArgument{nodes}: 251 nodes can not be emulated on this machine: "
                        "250 are the most; give fewer (railwave plan, describe and select"));
}

TEST(EmulationLimits, NameNodeAndRailAndPassWhatIsMissing) {
  auto spec = uniform_cluster(2, 1, 2);
  spec.rate = 1'000;  // of no rail
  spec.rail_rate = {{100'000, 100'000}, {100'000, 99'999}};
  EXPECT_THAT(refusal_of(spec), HasSubstr("InvalidArgument{rail_rate}: node 1, rail 1: "));
  spec.live = {{true, true}, {true, false}};
  EXPECT_EQ(refusal_of(spec), "accepted");
}

}  // namespace
}  // namespace railwave::testbed
