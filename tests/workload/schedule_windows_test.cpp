// The schedules' windows: Table 8 at four nodes, and what holds for any number.
#include "workload/schedule_windows.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railwave::workload {
namespace {

using ::testing::ElementsAre;
using Destinations = std::vector<std::vector<int>>;

/// [windows][N] where each source sends. Every source must send once, in ascending order.
Destinations destinations(const Windows& windows) {
  Destinations out;
  for (const Window& window : windows) {
    auto& row = out.emplace_back();
    for (const NodePair pair : window) {
      EXPECT_EQ(pair.source.value, std::ssize(row));
      row.push_back(pair.destination.value);
    }
  }
  return out;
}

std::vector<int> counted_fan_in(const Windows& windows) {
  std::vector<int> out;
  for (const Window& window : windows) {
    std::map<NodeId, int> senders;
    for (const NodePair pair : window) ++senders[pair.destination];
    out.push_back(0);
    for (const auto& [node, count] : senders) out.back() = std::max(out.back(), count);
  }
  return out;
}

Windows windows_of(Schedule schedule, int nodes) {
  const std::vector<std::int64_t> counts(8, 3);
  return ReplayPhase::create({nodes, 2}, counts, {.schedule = schedule})->windows();
}

TEST(ScheduleWindows, FourNodesAreTable8) {
  EXPECT_EQ(destinations(moderate_windows(4)),
            (Destinations{{1, 0, 0, 2}, {2, 3, 1, 0}, {3, 2, 3, 1}}));
  EXPECT_EQ(destinations(extreme_windows(4)),
            (Destinations{{1, 0, 0, 0}, {3, 3, 3, 2}, {2, 2, 1, 1}}));
  EXPECT_THAT(peak_fan_in(Schedule::Ring, 4), ElementsAre(1));
  EXPECT_THAT(peak_fan_in(Schedule::Moderate, 4), ElementsAre(2, 1, 2));
  EXPECT_THAT(peak_fan_in(Schedule::Extreme, 4), ElementsAre(3, 3, 2));
}

TEST(ScheduleWindows, DocumentedExamples) {
  EXPECT_EQ(destinations(moderate_windows(3)), (Destinations{{2, 0, 0}, {1, 2, 1}}));
  EXPECT_EQ(destinations(extreme_windows(3)), (Destinations{{1, 0, 0}, {2, 2, 1}}));
  // The ring of five is 0 2 4 1 3; only node 2 exchanges shifts 2 and 3.
  EXPECT_EQ(destinations(moderate_windows(5)),
            (Destinations{{4, 0, 3, 2, 3}, {2, 3, 4, 0, 1}, {1, 2, 1, 4, 0}, {3, 4, 0, 1, 2}}));
  EXPECT_EQ(destinations(extreme_windows(5)),
            (Destinations{{1, 0, 0, 0, 0}, {4, 4, 4, 4, 3}, {3, 3, 3, 2, 2}, {2, 2, 1, 1, 1}}));
  EXPECT_THAT(peak_fan_in(Schedule::Moderate, 8), ElementsAre(2, 1, 2, 2, 1, 2, 1));
  EXPECT_THAT(peak_fan_in(Schedule::Extreme, 8), ElementsAre(7, 7, 6, 5, 4, 5, 6));
}

/// Three nodes to forty: the windows hold every ordered pair once and concentrate as stated.
TEST(ScheduleWindows, EveryOrderedPairOnceAndTheStatedFanIn) {
  for (int nodes = 3; nodes <= 40; ++nodes) {
    for (const Schedule schedule : {Schedule::Moderate, Schedule::Extreme}) {
      SCOPED_TRACE(std::string(to_string(schedule)) + " " + std::to_string(nodes));
      const Windows windows = windows_of(schedule, nodes);
      ASSERT_EQ(std::ssize(windows), nodes - 1);
      std::set<NodePair> pairs;
      for (const Window& window : windows) {
        std::set<int> sources;
        for (const NodePair pair : window) {
          EXPECT_NE(pair.source, pair.destination);
          EXPECT_TRUE(pair.destination.value >= 0 && pair.destination.value < nodes);
          EXPECT_TRUE(pairs.insert(pair).second);
          EXPECT_TRUE(sources.insert(pair.source.value).second);
        }
        EXPECT_EQ(std::ssize(sources), nodes);
      }
      EXPECT_EQ(std::ssize(pairs), nodes * (nodes - 1));
      EXPECT_EQ(counted_fan_in(windows), peak_fan_in(schedule, nodes));
    }
  }
}

TEST(ScheduleWindows, RingAndAllAtOnceAreOneWindow) {
  for (int nodes = 2; nodes <= 40; ++nodes) {
    const Windows ring = windows_of(Schedule::Ring, nodes);
    ASSERT_EQ(ring.size(), 1U);
    for (const NodePair pair : ring[0]) {
      EXPECT_EQ(pair.destination.value, (pair.source.value + 1) % nodes);
    }
    EXPECT_EQ(std::ssize(ring[0]), nodes);
    EXPECT_EQ(counted_fan_in(ring), peak_fan_in(Schedule::Ring, nodes));
    const Windows all = windows_of(Schedule::AllAtOnce, nodes);
    ASSERT_EQ(all.size(), 1U);
    const std::set<NodePair> pairs(all[0].begin(), all[0].end());
    EXPECT_EQ(std::ssize(all[0]), nodes * (nodes - 1));
    EXPECT_EQ(std::ssize(pairs), nodes * (nodes - 1));
    EXPECT_EQ(counted_fan_in(all), peak_fan_in(Schedule::AllAtOnce, nodes));
  }
}

TEST(ScheduleWindows, FamiliesHaveThreeSenders) {
  for (const Schedule family : {Schedule::NodeSkew, Schedule::RailSkew}) {
    for (const int nodes : {4, 5, 9}) {
      EXPECT_EQ(counted_fan_in(windows_of(family, nodes)), peak_fan_in(family, nodes));
    }
  }
}

}  // namespace
}  // namespace railwave::workload
