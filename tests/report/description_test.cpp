// Descriptions of traffic: what is computed, the table, the JSON.
#include "report/description.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace railwave::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TrafficFigures layer(double experts, double source, double destination) {
  TrafficFigures f;
  f.expert_imbalance = experts;
  f.source_imbalance = source;
  f.destination_imbalance = destination;
  f.source_share = source / 2;
  f.destination_share = destination / 2;
  f.source_rails = {3, 1};
  f.destination_rails = {10, 6};
  f.node_demand = {0, 3, 1, 0};
  f.descriptors = {Ratio{1 << 20, 1}, Ratio{3, 2}, Ratio{7, 6}, 1};
  return f;
}

/// 2 nodes x 1 rank, 2 rails, 3 layers of 4 tokens, top-2.
Description sample() {
  Description d;
  d.trace = "tiny";
  d.experts = 2;
  d.top_k = 2;
  d.tokens = 4;
  d.ranks_per_node = {1, 1};
  d.rails = 2;
  d.windows = "all-at-once";
  d.row_bytes = 16;
  d.layers = {layer(2, 1.5, 1), layer(3, 1.25, 2), layer(4, 1.0, 3)};
  d.overall = layer(2.5, 1.5, 1.25);
  d.overall.node_demand = {0, 9, 3, 0};
  d.overall.destination_rails = {15, 9};
  d.rank_rows = {2, 9, 3, 4};
  d.bins = {20, 4};
  d.node_rows = 18;
  summarise(d);
  return d;
}

TEST(Description, SpreadsFitsAndReach) {
  const auto d = sample();
  EXPECT_EQ(d.expert_imbalance.p10, 2);
  EXPECT_EQ(d.expert_imbalance.p50, 3);
  EXPECT_EQ(d.expert_imbalance.p90, 4);
  EXPECT_EQ(d.destination_imbalance.p90, 3);
  EXPECT_DOUBLE_EQ(d.source_fit->slope, -0.25);
  EXPECT_DOUBLE_EQ(d.destination_fit->intercept, -1);
  EXPECT_DOUBLE_EQ(*d.nodes_per_token, 1.5);
  EXPECT_DOUBLE_EQ(*d.remote_nodes_per_token, 1);
  EXPECT_DOUBLE_EQ(*d.rows_per_pair, 0.75);
}

TEST(Description, LayersWithoutTrafficCountNowhere) {
  auto d = sample();
  d.layers.insert(d.layers.begin(), TrafficFigures{});
  d.layers[0].node_demand = {0, 0, 0, 0};
  summarise(d);
  EXPECT_EQ(d.expert_imbalance.p10, 2);
  EXPECT_DOUBLE_EQ(d.source_fit->slope, -0.25);
  EXPECT_THAT(to_table(d, Shades::Characters, 9), HasSubstr("  -"));
  EXPECT_FALSE(nlohmann::json::parse(to_json(d))["layers"][0].contains("rail_skew"));
}

TEST(Description, CountsHaveNoTokensToReach) {
  auto d = sample();
  d.top_k = 0;
  d.tokens = 0;
  summarise(d);
  EXPECT_FALSE(d.nodes_per_token);
  EXPECT_FALSE(d.rows_per_pair);
  EXPECT_THAT(to_table(d, Shades::Characters, 9), HasSubstr("no token ids"));
  EXPECT_THAT(to_table(d, Shades::Characters, 9), Not(HasSubstr("a token reaches")));
}

TEST(Description, TheTable) {
  const auto text = to_table(sample(), Shades::Characters, 2);
  EXPECT_THAT(text, HasSubstr("# cluster      2 nodes x 1 ranks, 2 rails"));
  EXPECT_THAT(text, HasSubstr("3 layers, 2 experts, 4 tokens, top-2"));
  EXPECT_THAT(text,
              HasSubstr("\n      1        3.00          1.25         2.00         62.5        "
                        "100.0  1.000  1.50   1.17    1\n"));
  EXPECT_THAT(text, HasSubstr("1 more layers: --layers or --json"));
  EXPECT_THAT(text, Not(HasSubstr("\n      2 ")));
  EXPECT_THAT(text, HasSubstr("source imbalance = -0.2500 x expert imbalance + 2.0000, R2 1.000"));
  EXPECT_THAT(text, HasSubstr("sorted bins  83.3 16.7 %"));
  EXPECT_THAT(text,
              HasSubstr("a token reaches 1.50 of 2 nodes, 1.00 of them remote; rows are 0.75"));
  EXPECT_THAT(text, HasSubstr("# rail 0 |"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(to_table(sample(), Shades::Colours, 2), HasSubstr("\x1b"));
}

TEST(Description, Json) {
  const auto json = nlohmann::json::parse(to_json(sample()));
  EXPECT_EQ(json["schema"], "railwave.describe/1");
  EXPECT_EQ(json["cluster"]["nodes"], 2);
  EXPECT_EQ(json["trace"]["top_k"], 2);
  EXPECT_EQ(json["over_layers"]["expert_imbalance"]["p50"], 3.0);
  EXPECT_EQ(json["fits"]["source"]["slope"], -0.25);
  EXPECT_EQ(json["sum"]["node_demand"], nlohmann::json::parse("[[0,9],[3,0]]"));
  EXPECT_EQ(json["sum"]["rank_rows"], nlohmann::json::parse("[[2,9],[3,4]]"));
  ASSERT_EQ(json["layers"].size(), 3U);
  EXPECT_EQ(json["layers"][2]["destination_imbalance"], 3.0);
  EXPECT_EQ(json["layers"][2]["rail_skew"], 1.5);
}

}  // namespace
}  // namespace railwave::report
