// The cases on the emulated cluster: real processes, rails over UCX, shared memory in the node.
// The bits must be those of the same case over loopback.
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "comm/cases/on_cluster.hpp"
#include "comm/cases/on_threads.hpp"
#include "testbed/emulated_cluster.hpp"

namespace cases {
namespace {

namespace testbed = railwave::testbed;

testbed::ClusterSpec spec_of(const Shape& shape) {
  testbed::ClusterSpec spec;
  spec.ranks_per_node = shape.ranks_per_node;
  spec.rails = shape.rails;
  spec.live = shape.live;
  spec.rate = 1'000'000'000;  // the answers count here, not the time
  return spec;
}

/// One cluster for every shape, as long as the tests run.
class OnCluster : public testing::TestWithParam<Case> {
 protected:
  static void TearDownTestSuite() { clusters().clear(); }

  /// The cluster of this shape, or nothing after a skip or failure.
  testbed::Cluster* cluster(const Shape& shape) {
    const auto at = clusters().find(shape.name());
    if (at != clusters().end()) return &at->second;
    start(shape);
    return HasFailure() || IsSkipped() ? nullptr : &clusters().at(shape.name());
  }

 private:
  static std::map<std::string, testbed::Cluster>& clusters() {
    static std::map<std::string, testbed::Cluster> running;
    return running;
  }
  void start(const Shape& shape) {
    RAILWAVE_START_CLUSTER(started, spec_of(shape));
    clusters().emplace(shape.name(), std::move(started));
  }
};

TEST_P(OnCluster, HasTheRightAnswersAndTheBitsOfLoopback) {
  const Case& one = GetParam();
  for (const Shape& shape : one.shapes) {
    SCOPED_TRACE(shape.name());
    auto* const running = cluster(shape);
    if (running == nullptr) return;
    const auto result = run_on_cluster(*running, {"case", {one.name, "0"}});
    if (HasFailure()) return;
    EXPECT_EQ(result.bits, run_on_threads(one, shape.topology()));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, OnCluster, testing::ValuesIn(all_cases()),
                         [](const auto& one) { return one.param.name; });

using SameBits = OnCluster;

// Ranks wait up to 5 ms before each call and take the paths in another order each time.
TEST_P(SameBits, InTwentyRunsWithRandomDelays) {
  const Case& one = GetParam();
  for (const Shape& shape : one.shapes) {
    SCOPED_TRACE(shape.name());
    auto* const running = cluster(shape);
    if (running == nullptr) return;
    const auto expected = run_on_threads(one, shape.topology());
    for (int run = 1; run <= 5 && !HasFailure(); ++run) {  // of each of the four shapes
      EXPECT_EQ(run_on_cluster(*running, {"case", {one.name, std::to_string(run)}}).bits, expected)
          << "run " << run;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SameBits, testing::Values(case_named("d22_same_bits")),
                         [](const auto& one) { return one.param.name; });

void run_case(Rank& rank, const std::vector<std::string>& words) {
  const int run = std::stoi(words[1]);
  rank.paths = paths_of(run);
  std::mt19937_64 rng(static_cast<std::uint64_t>(run) * 64 + rank.self.index());
  if (run != 0) rank.pause = [&rng] { wait_for(std::chrono::microseconds(rng() % 5000)); };
  case_named(words[0]).body(rank);
}

}  // namespace
}  // namespace cases

int main(int argc, char** argv) {
  return cases::run_tests_or_rank(argc, argv, {{"case", cases::run_case}});
}
