// The programs of examples/, as a user would run them.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testbed/emulated_cluster.hpp"
#include "testbed/scratch.hpp"

namespace railwave::testbed {
namespace {

/// On every rank of a cluster: each says `words`.
void expect_all_say(const char* program, const char* words) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(2, 3, 2));
  const CapturedOutput output;
  RunOptions run;
  run.argv = {program};
  run.stdout_fd = output.descriptor();
  run.deadline = Clock::now() + std::chrono::seconds(40);
  const auto outcome = cluster.run(run);
  ASSERT_TRUE(outcome) << to_string(outcome.error());
  EXPECT_EQ(outcome->exit_status, 0) << outcome->message;
  const auto lines = output.lines();
  ASSERT_EQ(lines.size(), 6U);
  for (const std::string& line : lines) EXPECT_THAT(line, testing::HasSubstr(words));
}

class Examples : public testing::TestWithParam<const char*> {};

TEST_P(Examples, RoundTripBringsEveryTokenBack) {
  expect_all_say(GetParam(), "3 tokens came back");
}

TEST(MicroBatches, ComeBackWhileOthersAreOnTheirWay) {
  expect_all_say(RAILWAVE_MICRO_BATCHES, "4 micro-batches came back right");
}

INSTANTIATE_TEST_SUITE_P(InCpp, Examples, testing::Values(RAILWAVE_ROUND_TRIP));
INSTANTIATE_TEST_SUITE_P(InC, Examples, testing::Values(RAILWAVE_ROUND_TRIP_C));

}  // namespace
}  // namespace railwave::testbed
