// The programs of examples/, as a user would run them.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command.hpp"
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

TEST(Decide, SaysWhatAPhaseWillDo) {
  cli::Command command({RAILWAVE_DECIDE, RAILWAVE_TABLES "/paper-h800.json"});
  const std::string text = command.rest_of_output();
  EXPECT_EQ(command.wait(), 0) << command.errors();
  // Of 8,400 records a node half leave by one rail: native's busiest carries 4,200 of 1,050.
  EXPECT_THAT(text,
              testing::HasSubstr("native           1 windows, busiest rails carry 4200 records, "
                                 "4.00 x bound"));
  EXPECT_THAT(text,
              testing::HasSubstr("joint            3 windows, busiest rails carry 1050 records, "
                                 "1.00 x bound"));
  EXPECT_THAT(text, testing::HasSubstr("select: "));
  EXPECT_THAT(text, testing::HasSubstr("mode: ask again, "));
}

INSTANTIATE_TEST_SUITE_P(InCpp, Examples, testing::Values(RAILWAVE_ROUND_TRIP));
INSTANTIATE_TEST_SUITE_P(InC, Examples, testing::Values(RAILWAVE_ROUND_TRIP_C));

}  // namespace
}  // namespace railwave::testbed
