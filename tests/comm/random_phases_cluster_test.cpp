// Random phases on emulated clusters against the reference, bit for bit: real processes, rails over
// UCX, chi by bridges.
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "comm/cases/on_cluster.hpp"
#include "group/phase_check.hpp"
#include "testbed/emulated_cluster.hpp"

namespace {

namespace testbed = railwave::testbed;
using railwave::Topology;

/// Small enough that the processes of a phase start quickly on two cores.
phases::Shape draw(std::uint64_t seed) { return phases::draw(seed, 6, 4, phases::Wires::Bridges); }

testbed::ClusterSpec spec_of(const phases::Shape& shape) {
  testbed::ClusterSpec spec;
  spec.ranks_per_node = shape.cluster.ranks_per_node;
  spec.rails = shape.cluster.rails;
  spec.home_rail = shape.cluster.home_rail;
  spec.live = shape.cluster.live;
  spec.bridges = shape.bridges;
  spec.rate = 2'000'000'000;  // the answers count here, not the time
  spec.rail_rate = shape.cluster.weights;
  for (auto& node : spec.rail_rate) {
    for (auto& rate : node) rate *= spec.rate;
  }
  return spec;
}

/// On a rank: all four paths on one group; the bits must be the same on all of them.
void run_phase(cases::Rank& rank, const std::vector<std::string>& words) {
  const phases::Shape shape = draw(std::stoull(words[0]));
  ASSERT_EQ(rank.topology.fingerprint(), Topology::create(shape.cluster)->fingerprint());
  auto group = rank.make(phases::placement_of(shape), phases::options_of(shape, rank.self));
  ASSERT_TRUE(group) << to_string(group.error());
  cases::on_all_paths(rank, [&](railwave::Path path, cases::Bits& bits) {
    rank.doing(fmt::format("a phase on {}", to_string(path)));
    std::uint64_t hash = 0;
    const auto wrong = phases::check(*group, rank.self, shape, path, &hash);
    ASSERT_FALSE(wrong) << *wrong;
    bits.add(std::as_bytes(std::span(&hash, 1)));
  });
  if (testing::Test::HasFailure()) return;
  rank.doing("two phases at once");
  const auto wrong = phases::check_together(*group, rank.self, shape,
                                            {railwave::Path::Joint, railwave::Path::Native});
  ASSERT_FALSE(wrong) << "together, " << *wrong;
}

int phase_count() {
  const char* asked = std::getenv("RAILWAVE_RANDOM_PHASES");
  return asked != nullptr ? std::atoi(asked) : 100;
}

TEST(RandomPhasesOnClusters, AgreeWithTheReference) {
  const char* only = std::getenv("RAILWAVE_RANDOM_SEED");  // to look at one failure
  const int first = only != nullptr ? std::atoi(only) : 1;
  const int last = only != nullptr ? first : phase_count();
  for (int seed = first; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("RAILWAVE_RANDOM_SEED={}", seed));
    const phases::Shape shape = draw(static_cast<std::uint64_t>(seed));
    RAILWAVE_START_CLUSTER(cluster, spec_of(shape));
    cases::run_on_cluster(cluster, {"phase", {std::to_string(seed)}});
  }
}

TEST(RandomPhasesOnClusters, DrawsHaveBridgesAndMissingRails) {
  int bridged = 0;
  int missing = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const phases::Shape shape = draw(seed);
    bridged += shape.bridges.empty() ? 0 : 1;
    missing += shape.cluster.live.empty() ? 0 : 1;
  }
  EXPECT_GE(bridged, 20);
  EXPECT_GE(missing, 15);
}

}  // namespace

int main(int argc, char** argv) {
  return cases::run_tests_or_rank(argc, argv, {{"phase", run_phase}});
}
