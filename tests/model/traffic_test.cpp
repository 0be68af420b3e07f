// The figures of a phase's traffic.
#include "model/traffic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railwave {
namespace {

using ::testing::ElementsAre;

/// 2 nodes x 2 ranks x 2 rails, one expert a rank; rows [P, P] and what follows from them.
Traffic traffic(std::vector<std::int64_t> rank_rows) {
  Traffic out;
  out.expert_counts.assign(4, 0);
  out.node_rows.assign(8, 0);
  for (std::size_t p = 0; p < 4; ++p) {
    for (std::size_t q = 0; q < 4; ++q) {
      out.expert_counts[q] += rank_rows[4 * p + q];
      out.node_rows[2 * p + q / 2] += rank_rows[4 * p + q];
    }
  }
  out.rank_rows = std::move(rank_rows);
  return out;
}

Result<TrafficFigures> figures(const Traffic& of, const Windows& windows = {}) {
  return traffic_figures(of, Topology::uniform(2, 2, 2).value(),
                         Placement::contiguous(4, 4).value(), windows, 10);
}

TEST(Traffic, FiguresByHand) {
  const auto f = figures(traffic({9, 1, 4, 2,  //
                                  0, 0, 1, 0,  //
                                  3, 0, 0, 0,  //
                                  0, 2, 0, 8}))
                     .value();
  // Rows between nodes: rank 0 sends 6, 1 sends 1, 2 sends 3, 3 sends 2.
  EXPECT_THAT(f.node_demand, ElementsAre(0, 7, 5, 0));
  EXPECT_THAT(f.source_rails, ElementsAre(9, 3));
  EXPECT_DOUBLE_EQ(*f.source_imbalance, 1.5);
  EXPECT_DOUBLE_EQ(*f.source_share, 0.75);
  // Experts got 12, 3, 5, 10; rails 0 and 1 have experts 0, 2 and 1, 3.
  EXPECT_DOUBLE_EQ(*f.expert_imbalance, 12 / 7.5);
  EXPECT_THAT(f.destination_rails, ElementsAre(17, 13));
  EXPECT_DOUBLE_EQ(*f.destination_imbalance, 17.0 / 15);
  EXPECT_DOUBLE_EQ(*f.destination_share, 17.0 / 30);
  EXPECT_EQ(f.descriptors.payload, (Ratio{30, 1}));
  EXPECT_EQ(f.descriptors.rail_skew, (Ratio{2, 1}));  // 6 of a mean of 3
  EXPECT_EQ(f.descriptors.receiver_concentration, (Ratio{7, 6}));
  EXPECT_EQ(f.descriptors.fan_in, 1);
}

TEST(Traffic, TheWindowsAsSubmittedDecideConcentration) {
  const auto of = traffic({0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0});
  const Windows apart{{{NodeId(0), NodeId(1)}}, {{NodeId(1), NodeId(0)}}};
  EXPECT_EQ(figures(of)->descriptors.receiver_concentration, (Ratio{1, 1}));
  EXPECT_EQ(figures(of, apart)->descriptors.receiver_concentration, (Ratio{2, 1}));
}

TEST(Traffic, NothingIsAbsent) {
  const auto f = figures(traffic(std::vector<std::int64_t>(16, 0))).value();
  EXPECT_FALSE(f.expert_imbalance);
  EXPECT_FALSE(f.source_imbalance);
  EXPECT_FALSE(f.destination_share);
  EXPECT_FALSE(f.descriptors.rail_skew);
  const auto inside = figures(traffic({5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})).value();
  EXPECT_TRUE(inside.destination_imbalance);
  EXPECT_FALSE(inside.source_imbalance) << "nothing leaves a node";
}

TEST(Traffic, AddsUpAndNoticesOverflow) {
  auto sum = traffic({9, 1, 4, 2, 0, 0, 1, 0, 3, 0, 0, 0, 0, 2, 0, 8});
  sum.tokens = 4;
  const auto again = sum;
  ASSERT_TRUE(sum.add(again));
  EXPECT_EQ(sum.tokens, 8);
  EXPECT_THAT(sum.expert_counts, ElementsAre(24, 6, 10, 20));
  EXPECT_THAT(figures(sum)->node_demand, ElementsAre(0, 14, 10, 0));

  std::vector<std::int64_t> rows(16, 0);
  rows[2] = INT64_MAX;
  auto much = traffic(rows);
  const auto more = much;
  EXPECT_EQ(much.add(more).error().field, "counts");
  auto two = traffic(rows);
  two.node_rows[5] = 1;
  EXPECT_EQ(figures(two).error().field, "counts");
}

}  // namespace
}  // namespace railwave
