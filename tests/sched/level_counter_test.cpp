// Levels: the leading windows that a receiver has, and the same a lead of bytes early.
#include "sched/level_counter.hpp"

#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace {

using railwave::sched::LevelCounter;

TEST(LevelCounter, WithoutWindowsIsDone) {
  const LevelCounter none({});
  EXPECT_EQ(none.windows(), 0);
  EXPECT_EQ(none.level(), 0);
  EXPECT_EQ(none.level_with_lead(100), 0);
}

TEST(LevelCounter, SkipsWindowsWithoutBytes) {
  EXPECT_EQ(LevelCounter({0, 0, 0}).level(), 3);
  EXPECT_EQ(LevelCounter({0, 0, 5, 0}).level(), 2);
}

TEST(LevelCounter, CountsOnlyLeadingWindows) {
  LevelCounter counter({10, 0, 20, 5});
  counter.arrived(2, 20);
  EXPECT_EQ(counter.level(), 0);
  counter.arrived(0, 9);
  EXPECT_EQ(counter.level(), 0);
  counter.arrived(0, 1);
  EXPECT_EQ(counter.level(), 3);
  counter.arrived(3, 5);
  EXPECT_EQ(counter.level(), 4);
}

TEST(LevelCounter, LeadEndsTheFirstUnfinishedWindowEarly) {
  LevelCounter counter({100, 0, 50, 100});
  EXPECT_EQ(counter.level_with_lead(99), 0);
  EXPECT_EQ(counter.level_with_lead(100), 2);
  counter.arrived(0, 60);
  EXPECT_EQ(counter.level_with_lead(39), 0);
  EXPECT_EQ(counter.level_with_lead(40), 2);
  counter.arrived(2, 50);
  EXPECT_EQ(counter.level_with_lead(40), 3);
  EXPECT_EQ(counter.level(), 0);
}

TEST(LevelCounter, LeadNeverCoversTwoWindows) {
  // Two unfinished windows, each within the lead: only the first counts as received.
  LevelCounter counter({5, 5, 5});
  EXPECT_EQ(counter.level_with_lead(1000), 1);
}

/// The definition: leading windows whose bytes are all there.
int leading(const std::pmr::vector<std::int64_t>& missing, std::size_t from) {
  while (from < missing.size() && missing[from] == 0) ++from;
  return static_cast<int>(from);
}

TEST(LevelCounter, FollowsTheDefinitionInAnyOrderOfArrival) {
  std::mt19937_64 rng(1);
  for (int round = 0; round < 200; ++round) {
    std::pmr::vector<std::int64_t> missing(1 + rng() % 6);
    for (auto& bytes : missing) bytes = rng() % 3 == 0 ? 0 : static_cast<std::int64_t>(rng() % 9);
    LevelCounter counter(missing);
    const auto lead = static_cast<std::int64_t>(rng() % 6);
    int before = 0;
    while (std::accumulate(missing.begin(), missing.end(), std::int64_t{0}) > 0) {
      const std::size_t window = rng() % missing.size();
      if (missing[window] == 0) continue;
      const auto part = 1 + static_cast<std::int64_t>(rng() % 9) % missing[window];
      missing[window] -= part;
      counter.arrived(static_cast<int>(window), part);
      const int level = leading(missing, 0);
      ASSERT_EQ(counter.level(), level);
      ASSERT_EQ(counter.level_with_lead(0), level);
      const auto first = static_cast<std::size_t>(level);
      const bool early = first < missing.size() && missing[first] <= lead;
      const int ahead = early ? leading(missing, first + 1) : level;
      ASSERT_EQ(counter.level_with_lead(lead), ahead);
      ASSERT_GE(ahead, before) << "levels only rise";
      before = ahead;
    }
  }
}

TEST(LevelCounterDeathTest, RefusesMoreThanPlanned) {
  LevelCounter counter({3});
  EXPECT_DEATH(counter.arrived(0, 4), "broken invariant");
}

}  // namespace
