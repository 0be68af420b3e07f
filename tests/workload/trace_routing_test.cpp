#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/rank_routing.hpp"

namespace railwave::workload {
namespace {

using ::testing::ElementsAre;

Trace five_tokens() {
  return *Trace::from_ids({2, 5, 2, 8}, {9 % 8, 0, 0, 1, 1, 2, 2, 3, 3, 4,  //
                                         4,     5, 5, 6, 6, 7, 7, 0, 0, Trace::kNoExpert});
}

TEST(TraceRoutingTest, TokensAreDealtInContiguousPartsTheFirstOneMore) {
  const Trace trace = five_tokens();
  EXPECT_THAT(trace_routing(trace, 1, 3, RankId(0))->topk_idx, ElementsAre(4, 5, 5, 6));
  EXPECT_THAT(trace_routing(trace, 1, 3, RankId(1))->topk_idx, ElementsAre(6, 7, 7, 0));
  EXPECT_THAT(trace_routing(trace, 1, 3, RankId(2))->topk_idx, ElementsAre(0, -1));
  EXPECT_EQ(trace_routing(trace, 1, 3, RankId(2))->tokens, 1);
  EXPECT_EQ(trace_routing(trace, 0, 3, RankId(2))->top_k, 2);
}

TEST(TraceRoutingTest, MoreRanksThanTokensLeaveTheLastWithout) {
  EXPECT_EQ(trace_routing(five_tokens(), 0, 8, RankId(4))->tokens, 1);
  EXPECT_EQ(trace_routing(five_tokens(), 0, 8, RankId(5))->tokens, 0);
}

TEST(TraceRoutingTest, ACapKeepsTheFirstTokensOfEachRank) {
  EXPECT_THAT(trace_routing(five_tokens(), 1, 3, RankId(1), 1)->topk_idx, ElementsAre(6, 7));
  EXPECT_EQ(trace_routing(five_tokens(), 1, 3, RankId(1), 0)->tokens, 0);
  EXPECT_EQ(trace_routing(five_tokens(), 1, 3, RankId(1), 99)->tokens, 2);
}

TEST(TraceRoutingTest, RefusesBadArgumentsByName) {
  const Trace counts = *Trace::from_counts({1, 1, 1}, {5});
  EXPECT_EQ(trace_routing(counts, 0, 2, RankId(0)).error().field, "routing");
  EXPECT_EQ(trace_routing(five_tokens(), 2, 2, RankId(0)).error().field, "layer");
  EXPECT_EQ(trace_routing(five_tokens(), 0, 0, RankId(0)).error().field, "ranks");
  EXPECT_EQ(trace_routing(five_tokens(), 0, 2, RankId(2)).error().field, "rank");
  EXPECT_EQ(trace_routing(five_tokens(), 0, 2, RankId(0), -1).error().field, "max_tokens");
}

}  // namespace
}  // namespace railwave::workload
