#include "workload/schedule.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <ranges>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace railwave::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Counts = std::vector<std::int64_t>;

/// Most senders of one receiver, per window.
std::vector<int> incast_degrees(const Windows& windows) {
  std::vector<int> degrees;
  for (const Window& window : windows) {
    std::map<NodeId, int> senders;
    for (const NodePair pair : window) ++senders[pair.destination];
    int most = 0;
    for (const auto& [node, n] : senders) most = std::max(most, n);
    degrees.push_back(most);
  }
  return degrees;
}

ReplayPhase phase_of(ReplayCluster cluster, const Counts& counts, ReplayPhase::Options options) {
  auto phase = ReplayPhase::create(cluster, counts, options);
  if (!phase) ADD_FAILURE() << to_string(phase.error());
  return std::move(phase).value();
}

const Counts kFlat(64, 100);

TEST(ScheduleTest, Table8PeakIncastDegrees) {
  const auto degrees = [](Schedule s) {
    return incast_degrees(phase_of({4, 8}, kFlat, {.schedule = s}).windows());
  };
  EXPECT_THAT(degrees(Schedule::Ring), ElementsAre(1));
  EXPECT_THAT(degrees(Schedule::Moderate), ElementsAre(2, 1, 2));
  EXPECT_THAT(degrees(Schedule::Extreme), ElementsAre(3, 3, 2));
  EXPECT_THAT(degrees(Schedule::AllAtOnce), ElementsAre(3));
  EXPECT_THAT(degrees(Schedule::NodeSkew), ElementsAre(3));
  EXPECT_THAT(degrees(Schedule::RailSkew), ElementsAre(3));
}

TEST(ScheduleTest, EveryRemotePairIsInOneWindowOfTheThreeWaveSchedules) {
  for (const Schedule s : {Schedule::Moderate, Schedule::Extreme, Schedule::AllAtOnce}) {
    std::set<NodePair> pairs;
    std::size_t entries = 0;
    const auto phase = phase_of({4, 8}, kFlat, {.schedule = s});
    for (const Window& window : phase.windows()) {
      entries += window.size();
      pairs.insert(window.begin(), window.end());
    }
    EXPECT_EQ(entries, 12U);
    EXPECT_EQ(pairs.size(), 12U);
    for (const NodePair pair : pairs) EXPECT_NE(pair.source, pair.destination);
  }
}

TEST(ScheduleTest, ModerateAndExtremeHaveTheSameDemand) {
  const auto moderate =
      phase_of({4, 8}, {7, 5, 3, 1, 1, 1, 1, 1}, {.schedule = Schedule::Moderate});
  const auto extreme = phase_of({4, 8}, {7, 5, 3, 1, 1, 1, 1, 1}, {.schedule = Schedule::Extreme});
  for (int rank = 0; rank < 32; ++rank) {
    EXPECT_EQ(moderate.routing(RankId(rank)).topk_idx, extreme.routing(RankId(rank)).topk_idx);
  }
}

TEST(ScheduleTest, QuotientAndRemainderOfABin) {
  // 2 ranks a node, bins 8 and 3: 3, 3, 2 and 1, 1, 1 rows to nodes s+1, s+2, s+3.
  const auto phase = phase_of({4, 2}, {8, 3}, {.schedule = Schedule::Moderate});
  EXPECT_EQ(phase.rows({NodeId(1), NodeId(2)}), 4);
  EXPECT_EQ(phase.rows({NodeId(1), NodeId(3)}), 4);
  EXPECT_EQ(phase.rows({NodeId(1), NodeId(0)}), 3);
  EXPECT_EQ(phase.rows({NodeId(1), NodeId(1)}), 0);
  EXPECT_EQ(phase.bin_rows(0), 32);
  EXPECT_EQ(phase.bin_rows(1), 12);
  EXPECT_EQ(phase.total_rows(), 44);
  // 8 experts, one a rank: node 1's rank 0 sends to the first ranks of nodes 2, 3, 0 in turn.
  EXPECT_THAT(phase.routing(RankId(2)).topk_idx, ElementsAre(4, 6, 0, 4, 6, 0, 4, 6));
}

TEST(ScheduleTest, RowsAreSpreadOverTheExpertsOfTheirRank) {
  // 16 experts over 4 ranks: rank 0 sends its bin of 6 to rank 2, which owns experts 8..11.
  Counts counts(16, 0);
  counts[3] = 6;
  const auto phase = phase_of({2, 2}, counts, {.schedule = Schedule::Ring});
  EXPECT_THAT(phase.routing(RankId(0)).topk_idx, ElementsAre(8, 9, 10, 11, 8, 9));
  EXPECT_THAT(phase.routing(RankId(1)).topk_idx, ElementsAre());
}

TEST(ScheduleTest, PayloadIsAveragePerRank) {
  // 14 MiB a rank in rows of 14,336 bytes: exactly 32,768 rows (the paper's 32,768 tokens).
  const auto phase = phase_of(
      {4, 8}, kFlat, {.schedule = Schedule::AllAtOnce, .payload_mib = 14, .row_bytes = 14336});
  EXPECT_EQ(phase.total_rows(), 32768);
  // The families of App. A.2: 65,536 remote tokens are 28 MiB a rank.
  const auto family = phase_of(
      {4, 8}, kFlat, {.schedule = Schedule::NodeSkew, .payload_mib = 28, .row_bytes = 14336});
  EXPECT_EQ(family.total_rows(), 65536);
  const auto fraction = phase_of({4, 8}, kFlat, {.payload_mib = 0.25, .row_bytes = 1000});
  EXPECT_EQ(fraction.total_rows(), 8388);  // 8,388,608 bytes
}

TEST(ScheduleTest, NodeSkewDiffersBetweenSourcesAndIsEvenOverRails) {
  const auto phase = phase_of(
      {4, 8}, kFlat, {.schedule = Schedule::NodeSkew, .payload_mib = 6, .row_bytes = 1024});
  const std::int64_t unit = 6 * 1024 * 32 / 6;
  EXPECT_EQ(phase.rows({NodeId(1), NodeId(0)}), unit);
  EXPECT_EQ(phase.rows({NodeId(2), NodeId(0)}), 2 * unit);
  EXPECT_EQ(phase.rows({NodeId(3), NodeId(0)}), 3 * unit);
  for (int g = 0; g < 8; ++g) EXPECT_EQ(phase.bin_rows(g), phase.total_rows() / 8);
}

TEST(ScheduleTest, RailSkewIsEvenOverSourcesAndOnAQuarterOfTheRails) {
  const auto phase = phase_of(
      {4, 8}, kFlat, {.schedule = Schedule::RailSkew, .payload_mib = 6, .row_bytes = 1024});
  for (int s = 1; s < 4; ++s) EXPECT_EQ(phase.rows({NodeId(s), NodeId(0)}), phase.total_rows() / 3);
  EXPECT_EQ(phase.bin_rows(0) + phase.bin_rows(1), phase.total_rows());
  EXPECT_EQ(phase.bin_rows(0), phase.bin_rows(1));
}

TEST(ScheduleTest, FamiliesReachEveryExpertOfTheDestinationEvenly) {
  const auto phase = phase_of({4, 8}, kFlat, {.schedule = Schedule::RailSkew});
  std::map<std::int64_t, std::int64_t> hits;
  for (int rank = 0; rank < 32; ++rank) {
    for (const std::int64_t expert : phase.routing(RankId(rank)).topk_idx) ++hits[expert];
  }
  EXPECT_EQ(hits.size(), 16U);  // experts 0..15 are node 0's
  EXPECT_EQ(hits.rbegin()->first, 15);
  const auto [least, most] = std::ranges::minmax(hits | std::views::values);
  EXPECT_LE(most - least, 6);
}

TEST(ScheduleTest, FewerExpertsThanRanksStillReachEveryRank) {
  const auto phase = phase_of({4, 8}, Counts(8, 4), {.schedule = Schedule::Ring});
  EXPECT_EQ(phase.placement().experts(), 32);
  EXPECT_THAT(phase.routing(RankId(3)).topk_idx, ElementsAre(11, 11, 11, 11));
}

TEST(ScheduleTest, RefusesWhatItCanNotDo) {
  const auto error = [](ReplayCluster cluster, const Counts& counts, ReplayPhase::Options options) {
    return ReplayPhase::create(cluster, counts, options).error();
  };
  for (const Schedule s : {Schedule::Moderate, Schedule::Extreme}) {
    const Error e = error({2, 8}, kFlat, {.schedule = s});
    EXPECT_EQ(e.code, ErrorCode::Unsupported);
    EXPECT_THAT(e.message, HasSubstr("at least 3 nodes, the cluster has 2"));
  }
  EXPECT_EQ(error({3, 8}, kFlat, {.schedule = Schedule::NodeSkew}).code, ErrorCode::Unsupported);
  EXPECT_EQ(error({1, 8}, kFlat, {}).field, "nodes");
  EXPECT_EQ(error({4, 0}, kFlat, {}).field, "ranks_per_node");
  EXPECT_EQ(error({100000, 100000}, kFlat, {}).field, "nodes");
  EXPECT_EQ(error({4, 8}, {}, {}).field, "expert_counts");
  EXPECT_EQ(error({4, 8}, {1, -1}, {}).field, "expert_counts");
  EXPECT_EQ(error({4, 8}, {INT64_MAX / 2}, {}).field, "expert_counts");
  EXPECT_EQ(error({4, 8}, {0, 0}, {.payload_mib = 1, .row_bytes = 8}).field, "expert_counts");
  EXPECT_EQ(error({4, 8}, kFlat, {.payload_mib = -1, .row_bytes = 8}).field, "payload_mib");
  EXPECT_EQ(error({4, 8}, kFlat, {.payload_mib = 1e300, .row_bytes = 8}).field, "payload_mib");
  EXPECT_EQ(error({4, 8}, kFlat,
                  {.payload_mib = std::numeric_limits<double>::quiet_NaN(), .row_bytes = 8})
                .field,
            "payload_mib");
  EXPECT_EQ(error({4, 8}, kFlat, {.payload_mib = 1}).field, "row_bytes");
}

TEST(ScheduleTest, ALayerWithoutTokensIsAnEmptyPhase) {
  const auto phase = phase_of({4, 8}, Counts(64, 0), {.schedule = Schedule::Extreme});
  EXPECT_EQ(phase.total_rows(), 0);
  EXPECT_EQ(phase.routing(RankId(31)).tokens, 0);
}

/// Checks a phase against the definitions of DESIGN 5.7, from its routings only.
RC_GTEST_PROP(ScheduleTest, RoutingIsWhatTheDefinitionSays, ()) {
  const Schedule schedule =
      *rc::gen::element(Schedule::Ring, Schedule::Moderate, Schedule::Extreme, Schedule::AllAtOnce);
  const bool in_windows = schedule == Schedule::Moderate || schedule == Schedule::Extreme;
  const int nodes = *rc::gen::inRange(in_windows ? 3 : 2, 7);
  const int local = *rc::gen::inRange(1, 6);
  const auto counts =
      *rc::gen::nonEmpty(rc::gen::container<Counts>(rc::gen::inRange<std::int64_t>(0, 40)));
  const auto order = *rc::gen::element(BinOrder::Sorted, BinOrder::Natural);
  const auto phase =
      ReplayPhase::create({nodes, local}, counts, {.schedule = schedule, .order = order});
  RC_ASSERT(phase.has_value());

  Counts cut = counts;
  if (order == BinOrder::Sorted) std::sort(cut.rbegin(), cut.rend());
  const int experts = std::max(static_cast<int>(counts.size()), nodes * local);
  const int more = experts % (nodes * local);
  const auto owner = [&](std::int64_t e) {
    const std::int64_t size = experts / (nodes * local);
    return e < more * (size + 1) ? e / (size + 1) : (e - more) / size;
  };
  std::size_t next = 0;
  for (int g = 0; g < local; ++g) {
    const auto e = static_cast<int>(counts.size());
    std::int64_t volume = 0;
    for (int i = e / local + (g < e % local ? 1 : 0); i > 0; --i) volume += cut[next++];
    for (int s = 0; s < nodes; ++s) {
      const auto routing = phase->routing(RankId(s * local + g));
      RC_ASSERT(routing.tokens == volume);
      RC_ASSERT(std::ssize(routing.topk_idx) == volume);
      std::map<std::int64_t, std::int64_t> by_rank;
      std::map<std::int64_t, std::int64_t> by_expert;
      for (const std::int64_t id : routing.topk_idx) {
        ++by_rank[owner(id)];
        ++by_expert[id];
      }
      const int ways = schedule == Schedule::Ring ? 1 : nodes - 1;
      for (int step = 1; step <= ways; ++step) {
        const std::int64_t target = (s + step) % nodes * local + g;
        const auto cell = static_cast<std::size_t>((s * local + g) * nodes + (s + step) % nodes);
        RC_ASSERT(phase->node_rows()[cell] == by_rank[target]);
        RC_ASSERT(by_rank[target] == volume / ways + (step <= volume % ways ? 1 : 0));
        by_rank.erase(target);
        std::int64_t least = INT64_MAX;
        std::int64_t most = 0;
        for (int x = 0; x < experts; ++x) {
          if (owner(x) != target) continue;
          least = std::min(least, by_expert[x]);
          most = std::max(most, by_expert[x]);
        }
        RC_ASSERT(most - least <= 1);
      }
      RC_ASSERT(by_rank.empty());
    }
  }
}

RC_GTEST_PROP(ScheduleTest, TheVolumeSummaryAndThePayloadAreExact, ()) {
  const Schedule schedule = *rc::gen::elementOf(kAllSchedules);
  const int local = *rc::gen::inRange(1, 9);
  const auto counts = *rc::gen::suchThat(
      rc::gen::nonEmpty(rc::gen::container<Counts>(rc::gen::inRange<std::int64_t>(0, 40))),
      [](const Counts& c) { return std::accumulate(c.begin(), c.end(), std::int64_t{0}) > 0; });
  const auto rows = *rc::gen::inRange<std::int64_t>(0, 3000);
  // 2^20 * P bytes hold rows * row_bytes with 1 MiB rows divided by P.
  const double mib = static_cast<double>(rows) / (4 * local);
  const auto phase = ReplayPhase::create(
      {4, local}, counts, {.schedule = schedule, .payload_mib = mib, .row_bytes = 1 << 20});
  RC_ASSERT(phase.has_value());
  RC_ASSERT(std::abs(phase->total_rows() - rows) <= 1);

  std::map<std::pair<int, int>, std::int64_t> by_pair;
  std::int64_t bins = 0;
  for (int g = 0; g < local; ++g) bins += phase->bin_rows(g);
  RC_ASSERT(bins == phase->total_rows());
  for (int p = 0; p < 4 * local; ++p) {
    const auto routing = phase->routing(RankId(p));
    RC_ASSERT(routing.view().check(phase->placement(), RankId(p)).has_value());
    for (const std::int64_t id : routing.topk_idx) {
      const RankId to = phase->placement().owner(ExpertId(static_cast<int>(id)));
      ++by_pair[{p / local, to.value / local}];
    }
    for (int d = 0; d < 4; ++d) {
      const auto sent = std::ranges::count_if(routing.topk_idx, [&](std::int64_t id) {
        return phase->placement().owner(ExpertId(static_cast<int>(id))).value / local == d;
      });
      RC_ASSERT(phase->node_rows()[static_cast<std::size_t>(p * 4 + d)] == sent);
    }
  }
  std::set<std::pair<int, int>> in_windows;
  for (const Window& window : phase->windows()) {
    for (const NodePair pair : window) {
      RC_ASSERT(in_windows.insert({pair.source.value, pair.destination.value}).second);
    }
  }
  for (int s = 0; s < 4; ++s) {
    for (int d = 0; d < 4; ++d) {
      RC_ASSERT((phase->rows({NodeId(s), NodeId(d)}) == by_pair[{s, d}]));
      RC_ASSERT((by_pair[{s, d}] == 0 || in_windows.contains({s, d})));
    }
    RC_ASSERT((by_pair[{s, s}] == 0));
  }
}

}  // namespace
}  // namespace railwave::workload
