// Random phases over loopback against the reference, bit for bit.
#include <atomic>
#include <cstdlib>

#include <gtest/gtest.h>

#include "group/phase_check.hpp"
#include "group/thread_world.hpp"

namespace {

using railwave::Path;
using railwave::RankId;
using railwave::Topology;

int phase_count() {
  const char* asked = std::getenv("RAILWAVE_RANDOM_PHASES");
  return asked != nullptr ? std::atoi(asked) : RAILWAVE_RANDOM_PHASES_BY_DEFAULT;
}

/// All four paths and a planner of others on one group, then three of them under way at once; the
/// bits must be the same.
void run_shape(const phases::Shape& shape, Path other, const world::Options& options = {}) {
  const auto topology = Topology::create(shape.cluster);
  ASSERT_TRUE(topology) << to_string(topology.error());
  world::run(
      *topology, [&](RankId) { return phases::placement_of(shape); },
      [&](RankId self) { return phases::options_of(shape, self); },
      [&](RankId self, auto& group) {
        ASSERT_TRUE(group) << to_string(group.error());
        std::uint64_t first = 0;
        std::vector<Path> paths(railwave::kAllPaths.begin(), railwave::kAllPaths.end());
        paths.push_back(other);
        for (const Path path : paths) {
          std::uint64_t hash = 0;
          const auto wrong = phases::check(*group, self, shape, path, &hash);
          ASSERT_FALSE(wrong) << *wrong;
          if (path == Path::Native) first = hash;
          EXPECT_EQ(hash, first) << "path " << to_string(path);
        }
        std::vector<std::uint64_t> hashes;
        const auto wrong = phases::check_together(*group, self, shape,
                                                  {Path::Joint, other, Path::Native}, &hashes);
        ASSERT_FALSE(wrong) << "together, " << *wrong;
        for (const std::uint64_t hash : hashes) EXPECT_EQ(hash, first) << "together";
      },
      options);
}

TEST(RandomPhases, AgreeWithTheReference) {
  const int count = phase_count();
  int empty = 0;
  int uneven = 0;
  int several = 0;
  int missing = 0;
  const char* only = std::getenv("RAILWAVE_RANDOM_SEED");  // to look at one failure
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    if (only != nullptr && std::atoi(only) != i + 1) continue;
    const phases::Shape shape = phases::draw(static_cast<std::uint64_t>(i) + 1);
    const auto topology = Topology::create(shape.cluster);
    ASSERT_TRUE(topology);
    bool has_empty = false;
    for (const auto& idx : shape.model.idx) has_empty |= idx.empty();
    empty += has_empty;
    bool differs = false;
    bool shared = false;
    for (int n = 0; n < topology->nodes(); ++n) {
      differs |= topology->ranks_at(railwave::NodeId(n)) != topology->rails();
      for (int r = 0; r < topology->rails(); ++r) {
        shared |= topology->drivers(railwave::NodeId(n), railwave::RailId(r)).size() > 1;
      }
    }
    uneven += differs;
    several += shared;
    missing += !shape.cluster.live.empty();
    run_shape(shape, railwave::kBaselinePaths[static_cast<std::size_t>(i) % 4]);
  }
  if (only != nullptr) return;
  EXPECT_GE(empty * 100, count * 30);
  EXPECT_GE(uneven * 100, count * 30);
  EXPECT_GE(several * 100, count * 20);
  EXPECT_GE(missing * 100, count * 20);
}

TEST(RandomPhases, AgreeWhenFramesAreLateAndOutOfOrder) {
  world::Options options;
  options.faults.max_delay = std::chrono::milliseconds(2);
  options.faults.reorder = true;
  options.faults.duplicate = 0.1;
  for (int i = 0; i < 12 && !testing::Test::HasFailure(); ++i) {
    options.faults.seed = static_cast<std::uint64_t>(i) * 1000;
    run_shape(phases::draw(5000 + static_cast<std::uint64_t>(i), 4, 3), Path::Birkhoff, options);
  }
}

TEST(RandomPhases, EightNodesWithTwoSendSlots) {
  phases::Shape shape = phases::draw(77);
  shape.cluster = {};
  shape.cluster.ranks_per_node.assign(8, 2);
  shape.cluster.rails = 2;
  shape.windows.clear();
  shape.model = {};
  shape.owner.clear();
  shape.experts = 32;
  shape.model.top_k = 4;
  shape.model.hidden = 40;
  for (int p = 0; p < 16; ++p) {
    shape.model.node_of_rank.push_back(p / 2);
    shape.model.owner.push_back(p);
    shape.model.idx.emplace_back();
    for (int i = 0; i < 50 * 4; ++i) {
      shape.model.idx.back().push_back(
          static_cast<std::int64_t>(phases::mix(static_cast<std::uint64_t>(p * 1000 + i)) % 32));
    }
  }
  for (int e = 16; e < 32; ++e) shape.model.owner.push_back(0);
  for (int e = 0; e < 32; ++e) shape.model.owner[static_cast<std::size_t>(e)] = e / 2;
  for (const std::uint64_t policy : {3U, 4U, 2U}) {
    shape.seed = policy * 3 + 1;  // send_slots 2
    run_shape(shape, Path::Birkhoff);
  }
}

}  // namespace
