// The cases with ranks as threads, over loopback rails.
#include <gtest/gtest.h>

#include "comm/cases/on_threads.hpp"

namespace cases {
namespace {

class OnThreads : public testing::TestWithParam<Case> {};

TEST_P(OnThreads, HasTheRightAnswers) {
  for (const Shape& shape : GetParam().shapes) {
    SCOPED_TRACE(shape.name());
    run_on_threads(GetParam(), shape.topology());
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, OnThreads, testing::ValuesIn(all_cases()),
                         [](const auto& one) { return one.param.name; });

// Frames are late and out of order, and the paths come in another order each time.
TEST(SameBits, InTwentyRunsWithRandomDelays) {
  const Case& one = case_named("d22_same_bits");
  for (const Shape& shape : one.shapes) {
    SCOPED_TRACE(shape.name());
    const auto first = run_on_threads(one, shape.topology());
    for (int run = 1; run <= 5 && !HasFailure(); ++run) {  // of each of the four shapes
      EXPECT_EQ(run_on_threads(one, shape.topology(), {run}), first) << "run " << run;
    }
  }
}

// With late frames some nodes have heard of all while others still wait.
TEST(Leaving, TakesNoTimeWhenFramesAreLate) {
  const Case& one = case_named("leave_at_once");
  for (int run = 1; run <= 5 && !HasFailure(); ++run) {
    run_on_threads(one, one.shapes.front().topology(), {run});
  }
}

}  // namespace
}  // namespace cases
