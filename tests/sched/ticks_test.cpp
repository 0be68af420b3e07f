// All gates together, by ticks: bytes and levels take any time on the way, and yet nothing stops.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "sched/tick_simulator.hpp"

namespace {

using railwave::StartPolicy;
using ticks::Outcome;
using ticks::Scenario;

/// Uneven demand with many pairs, and some nodes, without bytes.
std::int64_t demand(std::mt19937_64& rng) {
  return rng() % 3 == 0 ? 0 : static_cast<std::int64_t>(rng() % 40);
}

Scenario blank(std::mt19937_64& rng, StartPolicy policy) {
  Scenario scenario;
  scenario.policy = policy;
  scenario.seed = rng();
  const auto nodes = 2 + rng() % 6;
  for (std::uint64_t n = 0; n < nodes; ++n) {
    scenario.drivers.push_back(1 + static_cast<int>(rng() % 3));
  }
  return scenario;
}

/// Node s sends to s + k in wave k; a wave in which nobody has bytes stays as an empty window.
Scenario waves(std::mt19937_64& rng, StartPolicy policy) {
  Scenario scenario = blank(rng, policy);
  const int nodes = static_cast<int>(scenario.drivers.size());
  scenario.windows = nodes - 1;
  const int silent = static_cast<int>(rng() % 8);  // may be no node at all
  for (int k = 1; k < nodes; ++k) {
    const bool empty = rng() % 5 == 0;
    for (int s = 0; s < nodes; ++s) {
      const std::int64_t bytes = empty || s == silent ? 0 : demand(rng);
      scenario.flows.push_back({k - 1, s, (s + k) % nodes, bytes});
    }
  }
  return scenario;
}

/// Each pair in a window drawn by chance: many senders of one receiver, empty windows.
Scenario submissions(std::mt19937_64& rng, StartPolicy policy) {
  Scenario scenario = blank(rng, policy);
  const int nodes = static_cast<int>(scenario.drivers.size());
  scenario.windows = 1 + static_cast<int>(rng() % 5);
  for (int s = 0; s < nodes; ++s) {
    for (int d = 0; d < nodes; ++d) {
      if (s == d) continue;
      const int window = static_cast<int>(rng() % static_cast<std::uint64_t>(scenario.windows));
      scenario.flows.push_back({window, s, d, demand(rng)});
    }
  }
  return scenario;
}

void expect_done(const Outcome& outcome) {
  EXPECT_TRUE(outcome.all_arrived) << "deadlock";
  EXPECT_TRUE(outcome.all_settled) << "a gate waits for what nobody will say";
}

constexpr int kRounds = 250;

TEST(Ticks, BarrierWavesHaveOneSenderPerReceiver) {
  std::mt19937_64 rng(11);
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    const Outcome outcome = ticks::Simulator(waves(rng, StartPolicy::RailBarrier)).run();
    expect_done(outcome);
    EXPECT_LE(outcome.max_fan_in, 1);
    EXPECT_FALSE(outcome.left_before_barrier);
  }
}

TEST(Ticks, GrantsWithoutLeadHaveOneSenderPerReceiver) {
  std::mt19937_64 rng(12);
  bool nodes_apart = false;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    const Outcome outcome = ticks::Simulator(waves(rng, StartPolicy::Grant)).run();
    expect_done(outcome);
    EXPECT_LE(outcome.max_fan_in, 1);
    EXPECT_EQ(outcome.most_missing, 0);
    nodes_apart |= outcome.left_before_barrier;
  }
  EXPECT_TRUE(nodes_apart) << "grants that never run ahead of the slowest node are barriers";
}

TEST(Ticks, WithLeadReceiversLackNoMoreThanTheLead) {
  std::mt19937_64 rng(13);
  std::int64_t most = 0;
  for (int round = 0; round < 2 * kRounds && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Scenario scenario = waves(rng, round % 2 == 0 ? StartPolicy::Grant : StartPolicy::RailBarrier);
    scenario.lead = static_cast<std::int64_t>(rng() % 30);
    const Outcome outcome = ticks::Simulator(scenario).run();
    expect_done(outcome);
    EXPECT_LE(outcome.most_missing, scenario.lead);
    // Each driver may be in another window: its own last sender and the next one.
    const int drivers = *std::max_element(scenario.drivers.begin(), scenario.drivers.end());
    EXPECT_LE(outcome.max_fan_in, 1 + drivers);
    most = std::max(most, outcome.most_missing);
  }
  EXPECT_GT(most, 0) << "the lead was never used";
}

TEST(Ticks, SubmissionsWaitUntilAllNodesHaveTheOneBefore) {
  std::mt19937_64 rng(14);
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    const Outcome outcome = ticks::Simulator(submissions(rng, StartPolicy::Submission)).run();
    expect_done(outcome);
    EXPECT_FALSE(outcome.left_before_barrier);
  }
}

TEST(Ticks, AnyPolicyEndsWithAnyWindows) {
  std::mt19937_64 rng(15);
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    for (const StartPolicy policy :
         {StartPolicy::Free, StartPolicy::RailBarrier, StartPolicy::Grant}) {
      Scenario scenario = submissions(rng, policy);
      scenario.lead = static_cast<std::int64_t>(rng() % 20);
      const Outcome outcome = ticks::Simulator(scenario).run();
      expect_done(outcome);
      const auto nodes = static_cast<std::int64_t>(scenario.drivers.size());
      EXPECT_LE(outcome.messages, nodes * (nodes - 1) * scenario.windows);
      EXPECT_TRUE(policy != StartPolicy::Free || outcome.messages == 0);
    }
  }
}

}  // namespace
