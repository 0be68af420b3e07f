// The checker: every planner's plan passes, every planted fault is found.
#include "plan/plan_check.hpp"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/random_cluster.hpp"

namespace railwave::plan {
namespace {

using reference::Cluster;

std::string text(const std::vector<Violation>& found) {
  std::string all;
  for (const Violation& v : found) all += std::string(to_string(v.fault)) + ": " + v.where + "\n";
  return all;
}

bool has(const std::vector<Violation>& found, Fault fault) {
  return std::any_of(found.begin(), found.end(),
                     [&](const Violation& v) { return v.fault == fault; });
}

NodePair pair(int s, int d) { return {NodeId(s), NodeId(d)}; }

/// Four nodes, three rails, rail 2 of node 3 is down. Every pair has records on every rail.
RecordedPlan sound(Path path) {
  Topology::Options options;
  options.ranks_per_node = {3, 3, 3, 3};
  options.rails = 3;
  options.live.assign(4, {true, true, true});
  options.live[3][2] = false;
  const Topology topology = Topology::create(options).value();
  RailCounts counts(4, 3);
  for (int s = 0; s < 4; ++s) {
    for (int r = 0; r < 3; ++r) {
      for (int d = 0; d < 4; ++d) {
        if (s != d) counts.set(NodeId(s), RailId(r), NodeId(d), 4 + 3 * r + s);
      }
    }
  }
  return record(DispatchPlan::create(topology, counts, {path, {}}).value());
}

RecordedSlice& slice_of(RecordedPlan& plan, NodePair pair) {
  return *std::find_if(plan.slices.begin(), plan.slices.end(),
                       [&](const RecordedSlice& slice) { return slice.pair == pair; });
}

class PlantedFault : public ::testing::Test {
 protected:
  /// Changes a sound plan of the path and looks for the fault.
  static void expect(Fault fault, Path path, const std::function<void(RecordedPlan&)>& plant) {
    RecordedPlan plan = sound(path);
    ASSERT_EQ(text(violations(plan)), "") << to_string(path);
    plant(plan);
    const auto found = violations(plan);
    EXPECT_TRUE(has(found, fault)) << to_string(fault) << " is not among\n" << text(found);
  }
};

TEST_F(PlantedFault, RecordMissing) {
  expect(Fault::RecordMissing, Path::Joint,
         [](RecordedPlan& p) { --slice_of(p, pair(0, 1)).segments.back().count; });
  expect(Fault::RecordMissing, Path::Native, [](RecordedPlan& p) {
    slice_of(p, pair(0, 1)).segments.erase(slice_of(p, pair(0, 1)).segments.begin());
  });
}

TEST_F(PlantedFault, RecordTwice) {
  expect(Fault::RecordTwice, Path::Joint, [](RecordedPlan& p) {
    auto& segments = slice_of(p, pair(0, 1)).segments;
    segments.push_back(segments.back());
  });
  expect(Fault::RecordTwice, Path::Spray,
         [](RecordedPlan& p) { --slice_of(p, pair(2, 1)).segments[1].first; });
}

TEST_F(PlantedFault, RecordUnknown) {
  expect(Fault::RecordUnknown, Path::Joint,
         [](RecordedPlan& p) { ++slice_of(p, pair(0, 1)).segments.back().count; });
}

TEST_F(PlantedFault, SlotGapAndSlotTwice) {
  expect(Fault::SlotGap, Path::Joint,
         [](RecordedPlan& p) { ++slice_of(p, pair(0, 1)).segments.back().slot; });
  expect(Fault::SlotTwice, Path::Linear, [](RecordedPlan& p) {
    for (Segment& s : slice_of(p, pair(0, 3)).segments) s.slot = 0;
  });
}

TEST_F(PlantedFault, LoadMismatch) {
  expect(Fault::LoadMismatch, Path::Joint,
         [](RecordedPlan& p) { ++slice_of(p, pair(0, 1)).sends[0].loads[0]; });
  expect(Fault::LoadMismatch, Path::Birkhoff,
         [](RecordedPlan& p) { --slice_of(p, pair(2, 1)).sends.back().loads[0]; });
  // The sum is right, the rails are not.
  expect(Fault::LoadMismatch, Path::Joint, [](RecordedPlan& p) {
    auto& loads = slice_of(p, pair(0, 1)).sends[0].loads;
    ++loads[0];
    --loads[1];
  });
}

TEST_F(PlantedFault, NotAMatching) {
  for (const Path path : {Path::PermutationOnly, Path::Joint, Path::Birkhoff, Path::Pairwise}) {
    expect(Fault::NotAMatching, path,
           [](RecordedPlan& p) { p.windows[0].push_back(p.windows[1][0]); });
  }
}

TEST_F(PlantedFault, PairTwice) {
  expect(Fault::PairTwice, Path::Native,
         [](RecordedPlan& p) { p.windows[0].push_back(p.windows[0][0]); });
  expect(Fault::PairTwice, Path::Native,
         [](RecordedPlan& p) { p.slices.push_back(p.slices.back()); });
}

TEST_F(PlantedFault, PairTooOften) {
  expect(Fault::PairTooOften, Path::Native,
         [](RecordedPlan& p) { p.windows.push_back({p.windows[0][0]}); });
}

TEST_F(PlantedFault, PairAbsent) {
  expect(Fault::PairAbsent, Path::Joint, [](RecordedPlan& p) { p.windows[2].pop_back(); });
  expect(Fault::PairAbsent, Path::Joint, [](RecordedPlan& p) { p.slices.pop_back(); });
}

TEST_F(PlantedFault, PairIdle) {
  expect(Fault::PairIdle, Path::Joint, [](RecordedPlan& p) {
    for (int r = 0; r < 3; ++r) p.counts.set(NodeId(0), RailId(r), NodeId(1), 0);
  });
}

TEST_F(PlantedFault, IneligibleRail) {
  expect(Fault::IneligibleRail, Path::Joint, [](RecordedPlan& p) {
    for (Segment& s : slice_of(p, pair(0, 3)).segments) {
      if (s.rail == RailId(1)) s.rail = RailId(2);
    }
  });
}

TEST_F(PlantedFault, UnevenQuota) {
  // Two records of rail 0 go by rail 1 instead, slots and loads to match.
  expect(Fault::UnevenQuota, Path::Joint, [](RecordedPlan& p) {
    RecordedSlice& slice = slice_of(p, pair(0, 1));
    auto& loads = slice.sends[0].loads;
    Segment& first = slice.segments.front();
    first.count -= 2;
    slice.segments.insert(slice.segments.begin() + 1,
                          {first.home, first.count, RailId(1), loads[1], 2});
    loads[0] -= 2;
    loads[1] += 2;
  });
}

TEST_F(PlantedFault, MovedNeedlessly) {
  expect(Fault::MovedNeedlessly, Path::Native, [](RecordedPlan& p) {
    auto& segments = slice_of(p, pair(0, 1)).segments;
    std::swap(segments[0].rail, segments[1].rail);
  });
  // Even, but the wrong records stay.
  expect(Fault::MovedNeedlessly, Path::Joint, [](RecordedPlan& p) {
    auto& segments = slice_of(p, pair(0, 1)).segments;
    for (Segment& s : segments) s.rail = RailId((s.rail.value + 1) % 3);
  });
}

TEST_F(PlantedFault, WindowsOutOfOrder) {
  expect(Fault::WrongWindow, Path::Joint,
         [](RecordedPlan& p) { std::swap(p.windows[0], p.windows[2]); });
  expect(Fault::WrongWindow, Path::PermutationOnly,
         [](RecordedPlan& p) { std::swap(p.windows[0][0], p.windows[1][0]); });
  expect(Fault::WrongWindow, Path::Pairwise,
         [](RecordedPlan& p) { std::swap(p.windows[0][1], p.windows[1][2]); });
  expect(Fault::WrongWindow, Path::Linear,
         [](RecordedPlan& p) { p.windows.push_back({p.windows[0].back()}); });
  expect(Fault::OutOfOrder, Path::Birkhoff, [](RecordedPlan& p) {
    for (RecordedSlice& slice : p.slices) std::reverse(slice.sends.begin(), slice.sends.end());
  });
  expect(Fault::OutOfOrder, Path::Native,
         [](RecordedPlan& p) { std::swap(p.slices[0], p.slices[1]); });
}

TEST_F(PlantedFault, SendMismatch) {
  expect(Fault::SendMismatch, Path::Joint,
         [](RecordedPlan& p) { slice_of(p, pair(0, 1)).sends[0].window = 1; });
  expect(Fault::SendMismatch, Path::Joint,
         [](RecordedPlan& p) { slice_of(p, pair(0, 1)).sends = {}; });
  expect(Fault::SendMismatch, Path::Birkhoff, [](RecordedPlan& p) {
    slice_of(p, pair(2, 1)).sends[0].loads = {0, 0, 0};
  });
}

TEST_F(PlantedFault, EmptyWindow) {
  expect(Fault::EmptyWindow, Path::Native, [](RecordedPlan& p) { p.windows.emplace_back(); });
}

TEST_F(PlantedFault, OutOfRange) {
  expect(Fault::OutOfRange, Path::Native,
         [](RecordedPlan& p) { p.windows[0].push_back(pair(0, 4)); });
  expect(Fault::OutOfRange, Path::Native, [](RecordedPlan& p) { p.slices[0].pair = pair(1, 1); });
  expect(Fault::OutOfRange, Path::Native,
         [](RecordedPlan& p) { p.slices[0].segments[0].rail = RailId(3); });
  expect(Fault::OutOfRange, Path::Native, [](RecordedPlan& p) {
    p.slices[0].segments[0].first = std::numeric_limits<std::int64_t>::max();
  });
  expect(Fault::OutOfRange, Path::Native,
         [](RecordedPlan& p) { p.slices[0].sends[0].loads.pop_back(); });
  expect(Fault::OutOfRange, Path::Native,
         [](RecordedPlan& p) { p.slices[0].sends[0].loads[0] = -1; });
  expect(Fault::OutOfRange, Path::Native, [](RecordedPlan& p) { p.counts = RailCounts(3, 3); });
  expect(Fault::OutOfRange, Path::Native,
         [](RecordedPlan& p) { p.counts.set(NodeId(0), RailId(0), NodeId(1), -1); });
}

TEST(PlanCheck, SentencesSayWhere) {
  RecordedPlan plan = sound(Path::Joint);
  --slice_of(plan, pair(2, 1)).segments.back().count;
  const auto found = violations(plan);
  ASSERT_TRUE(has(found, Fault::RecordMissing));
  EXPECT_NE(found.front().where.find("slice (2, 1): home rail 2: records 11 to 11 are missing"),
            std::string::npos)
      << text(found);
}

void passes_on_every_path(const Cluster& cluster) {
  for (const auto& paths : {kAllPaths, kBaselinePaths}) {
    for (const Path path : paths) {
      const auto plan = DispatchPlan::create(topology_of(cluster), counts_of(cluster), {path, {}});
      RC_ASSERT(plan.has_value());
      RC_ASSERT(text(violations(record(*plan))) == "");
    }
  }
}

RC_GTEST_PROP(PlanCheckProperty, EveryPlannersPlanPasses, ()) {
  passes_on_every_path(*reference::any_cluster({6, 6, 40}));
}

RC_GTEST_PROP(PlanCheckProperty, EveryPlannersPlanPassesOnUnevenRails, ()) {
  passes_on_every_path(*reference::any_cluster({6, 6, 40, true, true}));
}

/// One number of one segment, send or count off by one is always found.
RC_GTEST_PROP(PlanCheckProperty, AnyNumberOffByOneIsFound, ()) {
  const Cluster cluster = *reference::any_cluster({5, 4, 20, true, true});
  const Path path =
      *rc::gen::element(Path::Native, Path::RailOnly, Path::PermutationOnly, Path::Joint,
                        Path::Birkhoff, Path::Linear, Path::Pairwise, Path::Spray);
  RecordedPlan plan =
      record(DispatchPlan::create(topology_of(cluster), counts_of(cluster), {path, {}}).value());
  RC_PRE(!plan.slices.empty());
  RecordedSlice& slice = plan.slices[*rc::gen::inRange<std::size_t>(0, plan.slices.size())];
  Segment& segment = slice.segments[*rc::gen::inRange<std::size_t>(0, slice.segments.size())];
  RecordedSend& send = slice.sends[*rc::gen::inRange<std::size_t>(0, slice.sends.size())];
  const std::int64_t by = *rc::gen::element<std::int64_t>(-1, 1);
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      segment.first += by;
      break;
    case 1:
      segment.slot += by;
      break;
    case 2:
      segment.count += by;
      break;
    case 3:
      send.window += static_cast<std::size_t>(by);
      break;
    case 4:
      send.loads[*rc::gen::inRange<std::size_t>(0, send.loads.size())] += by;
      break;
    default:
      segment.rail = RailId(segment.rail.value + static_cast<int>(by));
      break;
  }
  RC_ASSERT(!violations(plan).empty());
}

/// Every set of rails that may be down at either end of two nodes, with rails of four speeds.
TEST(PlanCheck, AnySubsetOfRailsDownAtEitherEnd) {
  constexpr int kRails = 4;
  int planned = 0;
  for (unsigned down = 0; down < 1U << (2 * kRails); ++down) {
    Cluster cluster;
    cluster.options.ranks_per_node = {4, 3};
    cluster.options.rails = kRails;
    cluster.options.live.assign(2, std::vector<bool>(kRails, true));
    cluster.options.weights = {{1, 2, 3, 4}, {4, 4, 4, 1}};
    for (unsigned r = 0; r < 2 * kRails; ++r) {
      if ((down >> r & 1U) != 0) cluster.options.live[r / kRails][r % kRails] = false;
    }
    cluster.counts.assign(2, std::vector(kRails, std::vector<std::int64_t>(2, 0)));
    for (std::size_t r = 0; r < kRails; ++r) {
      cluster.counts[0][r][1] = 17 + static_cast<std::int64_t>(5 * r);
      cluster.counts[1][r][0] = 41 - static_cast<std::int64_t>(13 * r);
    }
    const auto topology = Topology::create(cluster.options);
    if (!topology) {
      EXPECT_EQ(topology.error().code, ErrorCode::LinkDown);
      continue;
    }
    ++planned;
    passes_on_every_path(cluster);
  }
  EXPECT_EQ(planned,
            256 - 81);  // a rail is up at both ends, or at one, or at none: 3^4 without any
}

}  // namespace
}  // namespace railwave::plan
