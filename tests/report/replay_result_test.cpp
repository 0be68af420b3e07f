#include "report/replay_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sample_result.hpp"

namespace railwave::report {
namespace {

using ::testing::HasSubstr;

TEST(ReplayResultTest, SummariseComputesQuantilesRatiosAndSpeedUps) {
  auto r = full_result();
  ASSERT_TRUE(summarise(r));
  EXPECT_EQ(r.paths[0].p50_s, 2.0);
  EXPECT_EQ(r.paths[0].p99_s, 2.0);
  EXPECT_EQ(r.paths[0].ratio_to_bound, 8.0);
  EXPECT_EQ(r.paths[0].speedup_over_native, 1.0);
  EXPECT_EQ(r.paths[1].p50_s, 0.5);
  EXPECT_EQ(r.paths[1].p95_s, 0.5);
  EXPECT_EQ(r.paths[1].p99_s, std::nullopt);
  EXPECT_EQ(r.paths[1].ratio_to_path_bound, 2.0);
  EXPECT_EQ(r.paths[1].speedup_over_native, 4.0);
}

TEST(ReplayResultTest, WhatCanNotBeComputedIsAbsent) {
  auto r = bare_result();
  ASSERT_TRUE(summarise(r));
  EXPECT_EQ(r.paths[0].p50_s, 0.5);
  EXPECT_EQ(r.paths[0].speedup_over_native, std::nullopt);
  EXPECT_EQ(r.paths[0].ratio_to_bound, std::nullopt);
  r.paths[0].bound_s = 0;  // a phase without remote bytes
  ASSERT_TRUE(summarise(r));
  EXPECT_EQ(r.paths[0].ratio_to_bound, std::nullopt);
}

TEST(ReplayResultTest, ALayerWithoutSamplesIsAnError) {
  auto r = full_result();
  r.paths[1].samples[1].clear();
  const auto status = summarise(r);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().field, "samples");
  EXPECT_THAT(status.error().message, HasSubstr("joint"));
}

TEST(ReplayResultTest, VerdictRefusesWrongRowsDifferentBitsAndImpossibleTimes) {
  auto r = full_result();
  ASSERT_TRUE(summarise(r));
  EXPECT_TRUE(verdict(r));

  auto wrong = r;
  wrong.paths[1].wrong = 1;
  EXPECT_EQ(verdict(wrong).error().code, ErrorCode::IntegrityError);

  auto bits = r;
  bits.paths[1].bits = format_bits(1);
  EXPECT_EQ(verdict(bits).error().field, "bits");
  bits.paths[1].name = "openmpi";  // adds in its own order
  EXPECT_TRUE(verdict(bits));

  auto fast = r;
  fast.paths[1].bound_s = 0.500001;
  ASSERT_TRUE(summarise(fast));
  EXPECT_EQ(verdict(fast).error().field, "ratio_to_bound");
}

}  // namespace
}  // namespace railwave::report
