// The dispatch plan: which windows run, on which rails, and its errors.
#include "plan/dispatch_plan.hpp"

#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/descriptors.hpp"
#include "plan/lower_bound.hpp"
#include "plan/only_window.hpp"
#include "plan/table8.hpp"
#include "plan/waves.hpp"

namespace railwave::plan {
namespace {

using ::testing::HasSubstr;
using Loads = std::pmr::vector<std::int64_t>;

NodePair pair(int s, int d) { return {NodeId(s), NodeId(d)}; }

TEST(DispatchPlan, WavesLeaveOutWhatHasNoRecords) {
  const Topology topology = Topology::uniform(4, 1, 2).value();
  RailCounts counts(4, 2);
  counts.set(NodeId(0), RailId(0), NodeId(1), 3);
  counts.set(NodeId(2), RailId(1), NodeId(3), 4);
  counts.set(NodeId(3), RailId(1), NodeId(2), 5);
  const auto plan = DispatchPlan::create(topology, counts, {Path::Joint, {}}).value();
  const Windows expected{{pair(0, 1), pair(2, 3)}, {pair(3, 2)}};
  EXPECT_EQ(plan.windows(), expected);
  EXPECT_EQ(only_window(plan, pair(2, 3)), 0U);
  EXPECT_EQ(only_window(plan, pair(3, 2)), 1U);
  EXPECT_EQ(only_window(plan, pair(0, 2)), std::nullopt);
}

TEST(DispatchPlan, SubmittedWindowsKeepTheirOrder) {
  const Topology topology = Topology::uniform(3, 1, 1).value();
  RailCounts counts(3, 1);
  counts.set(NodeId(0), RailId(0), NodeId(1), 1);
  counts.set(NodeId(2), RailId(0), NodeId(1), 1);
  counts.set(NodeId(1), RailId(0), NodeId(2), 1);
  const Windows submitted{{pair(1, 2)}, {pair(1, 0)}, {pair(2, 1), pair(0, 1), pair(0, 2)}};
  const Windows kept{{pair(1, 2)}, {pair(2, 1), pair(0, 1)}};
  for (const Path path : {Path::Native, Path::RailOnly}) {
    const auto plan = DispatchPlan::create(topology, counts, {path, submitted}).value();
    EXPECT_EQ(plan.windows(), kept);
    EXPECT_EQ(plan.path(), path);
  }
  for (const Path path : {Path::PermutationOnly, Path::Joint}) {
    const auto plan = DispatchPlan::create(topology, counts, {path, submitted}).value();
    const Windows waves{{pair(0, 1), pair(1, 2)}, {pair(2, 1)}};
    EXPECT_EQ(plan.windows(), waves);
  }
}

TEST(DispatchPlan, NothingToSendHasNoWindow) {
  const Topology topology = Topology::uniform(3, 2, 2).value();
  for (const Path path : kAllPaths) {
    const auto plan = DispatchPlan::create(topology, RailCounts(3, 2), {path, {}}).value();
    EXPECT_TRUE(plan.windows().empty());
    EXPECT_EQ(plan.rail_loads(pair(0, 1)), (Loads{0, 0}));
  }
}

TEST(DispatchPlan, OneNodeHasNoWindow) {
  const Topology topology = Topology::uniform(1, 4, 4).value();
  const auto plan = DispatchPlan::create(topology, RailCounts(1, 4), {Path::Joint, {}}).value();
  EXPECT_TRUE(plan.windows().empty());
  EXPECT_EQ(barrier_path_bound_records(plan), 0);
}

/// Case D06: every rank sends 200 records to node 2 over two rails.
TEST(DispatchPlan, BalancedPathsSplitOneReceiverEvenly) {
  const Topology topology = Topology::uniform(4, 1, 2).value();
  RailCounts counts(4, 2);
  for (const int s : {0, 1, 3}) counts.set(NodeId(s), RailId(0), NodeId(2), 200);
  for (const int s : {0, 1, 3}) {
    for (const Path path : kAllPaths) {
      const auto plan = DispatchPlan::create(topology, counts, {path, {}}).value();
      const Loads expected = balances(path) ? Loads{100, 100} : Loads{200, 0};
      EXPECT_EQ(plan.rail_loads(pair(s, 2)), expected);
      EXPECT_EQ(plan.slice(pair(s, 2)).load, expected);
    }
  }
  EXPECT_EQ(DispatchPlan::create(topology, counts, {Path::Joint, {}})->windows().size(), 3U);
}

/// Case D08(a): offsets past 2^31 bytes.
TEST(DispatchPlan, BytesPastTwoToThe31AreExact) {
  constexpr std::int64_t kRows = 149'797;
  constexpr std::int64_t kRowBytes = 7168 * 2;
  for (const int rails : {1, 2, 3}) {
    const Topology topology = Topology::uniform(2, 1, rails).value();
    RailCounts counts(2, rails);
    counts.set(NodeId(0), RailId(0), NodeId(1), kRows);
    for (const Path path : kAllPaths) {
      const auto plan = DispatchPlan::create(topology, counts, {path, {}}).value();
      const auto loads = plan.rail_loads(pair(0, 1));
      const auto rows = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
      EXPECT_EQ(rows * kRowBytes, 2'147'489'792);
    }
    const auto native = DispatchPlan::create(topology, counts, {Path::Native, {}}).value();
    const Segment last = native.slice(pair(0, 1)).by_rail.back();
    EXPECT_EQ((last.slot + last.count - 1) * kRowBytes, 2'147'489'792 - kRowBytes);
    EXPECT_EQ(barrier_path_bound_records(native) * kRowBytes, 2'147'489'792);
    EXPECT_EQ(describe(counts, {}, kRowBytes, 1)->payload, (Ratio{2'147'489'792, 1}));
    const Ratio bound = bound_records(topology, counts);
    EXPECT_EQ(bound.num * kRowBytes * rails, 2'147'489'792 * bound.den);
  }
}

class Rejected : public ::testing::Test {
 protected:
  Error error_of(const RailCounts& counts, const Windows& windows = {}) {
    std::vector<Error> errors;
    for (const Path path : kAllPaths) {
      const auto plan = DispatchPlan::create(topology_, counts, {path, windows});
      if (!plan) errors.push_back(plan.error());
    }
    // Whether a plan is accepted does not depend on the path.
    EXPECT_EQ(errors.size(), kAllPaths.size());
    return errors.empty() ? Error{} : errors.front();
  }
  Topology topology_ = Topology::uniform(3, 2, 2).value();
};

TEST_F(Rejected, CountsOfAnotherShape) {
  EXPECT_EQ(error_of(RailCounts(3, 1)).field, "counts");
  EXPECT_EQ(error_of(RailCounts(2, 2)).field, "counts");
}

TEST_F(Rejected, NegativeCounts) {
  RailCounts counts(3, 2);
  counts.set(NodeId(1), RailId(1), NodeId(2), -1);
  const Error error = error_of(counts);
  EXPECT_EQ(error.code, ErrorCode::InvalidArgument);
  EXPECT_EQ(error.field, "counts");
  EXPECT_THAT(error.message, HasSubstr("node 1, rail 1, to node 2: -1 records"));
}

TEST_F(Rejected, CountsWhoseSumOverflows) {
  RailCounts counts(3, 2);
  counts.set(NodeId(0), RailId(0), NodeId(1), std::numeric_limits<std::int64_t>::max());
  counts.set(NodeId(2), RailId(1), NodeId(1), 1);
  EXPECT_EQ(error_of(counts).field, "counts");
}

TEST_F(Rejected, WindowsOnEveryPath) {
  RailCounts counts(3, 2);
  counts.set(NodeId(0), RailId(0), NodeId(1), 1);
  EXPECT_EQ(error_of(counts, {{pair(1, 0)}}).field, "windows");
  EXPECT_EQ(error_of(counts, {{pair(0, 1), pair(0, 1)}}).field, "windows");
}

}  // namespace
}  // namespace railwave::plan
