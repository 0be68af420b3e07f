#include "workload/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railwave::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kNone = Trace::kNoExpert;

TEST(TraceTest, IdsGiveCountsAndKeepEmptySlots) {
  // 2 layers, 3 tokens, top-2, 4 experts.
  const auto trace =
      Trace::from_ids({2, 3, 2, 4}, {0, 1, 1, 3, kNone, 1, 2, 3, 2, 0, kNone, kNone});
  ASSERT_TRUE(trace) << to_string(trace.error());
  EXPECT_TRUE(trace->has_ids());
  EXPECT_EQ(trace->id(0, 1, 1), 3);
  EXPECT_EQ(trace->id(0, 2, 0), -1);
  EXPECT_THAT(trace->expert_counts(0), ElementsAre(1, 3, 0, 1));
  EXPECT_THAT(trace->expert_counts(1), ElementsAre(1, 0, 2, 1));
}

TEST(TraceTest, ExpertsDefaultToTheLargestIdPlusOneButAtLeastTopK) {
  EXPECT_EQ(Trace::from_ids({1, 1, 2, 0}, {0, 6})->experts(), 7);
  EXPECT_EQ(Trace::from_ids({1, 1, 2, 0}, {0, kNone})->experts(), 2);
}

TEST(TraceTest, IdBeyondTheExpertsIsRefusedWithItsPosition) {
  const auto trace = Trace::from_ids({2, 2, 2, 4}, {0, 1, 2, 3, 0, 1, 2, 4});
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(trace.error().field, "expert_id");
  EXPECT_THAT(trace.error().message, HasSubstr("layer 1, token 1, slot 1: expert id 4"));
}

TEST(TraceTest, CountsSumOverSources) {
  const auto trace = Trace::from_counts({1, 2, 3}, {1, 2, 3, 10, 20, 30});
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->has_ids());
  EXPECT_THAT(trace->expert_counts(0), ElementsAre(11, 22, 33));
  EXPECT_THAT(trace->source_counts(0), ElementsAre(1, 2, 3, 10, 20, 30));
}

TEST(TraceTest, BadShapesAndCountsAreRefused) {
  EXPECT_EQ(Trace::from_ids({0, 1, 1, 1}, {}).error().field, "layers");
  EXPECT_EQ(Trace::from_ids({1, -1, 1, 1}, {}).error().field, "tokens");
  EXPECT_EQ(Trace::from_ids({1, 1, 0, 1}, {}).error().field, "top_k");
  EXPECT_EQ(Trace::from_ids({1, 1, 3, 2}, {0, 1, 1}).error().field, "top_k");
  EXPECT_EQ(Trace::from_ids({1, 1, 1, 70000}, {0}).error().field, "experts");
  EXPECT_EQ(Trace::from_ids({1, 2, 1, 1}, {0}).error().field, "shape");
  EXPECT_EQ(Trace::from_counts({1, 0, 1}, {}).error().field, "sources");
  EXPECT_EQ(Trace::from_counts({2, 1, 1}, {1}).error().field, "shape");
  EXPECT_THAT(Trace::from_counts({2, 1, 2}, {1, 1, 1, -5}).error().message,
              HasSubstr("layer 1, source 0, expert 1"));
  EXPECT_EQ(Trace::from_counts({1, 1, 2}, {INT64_MAX, 1}).error().field, "counts");
  EXPECT_TRUE(Trace::from_counts({2, 1, 1}, {INT64_MAX, 1}));
}

TEST(TraceTest, ATraceMayHaveNoTokens) {
  const auto trace = Trace::from_ids({1, 0, 2, 4}, {});
  ASSERT_TRUE(trace);
  EXPECT_THAT(trace->expert_counts(0), ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace railwave::workload
