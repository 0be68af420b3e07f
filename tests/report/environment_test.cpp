#include "report/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

namespace railwave::report {
namespace {

TEST(EnvironmentTest, TellsWhatAReaderNeedsButNotTheHost) {
  const Environment now = environment_now(42);
  EXPECT_GE(now.cores, 1);
  EXPECT_EQ(now.load_average.size(), 3U);
  EXPECT_EQ(now.seed, 42U);
  EXPECT_THAT(now.version, ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_EQ(now.host, std::nullopt);
  EXPECT_EQ(now.gate, std::nullopt);
  utsname names{};
  ASSERT_EQ(uname(&names), 0);
  EXPECT_EQ(now.kernel, std::string(names.sysname) + " " + names.release);
}

TEST(EnvironmentTest, TheGateHasItsTwoThresholds) {
  EXPECT_TRUE(judge_gate(0.93, 0.95).passed);
  EXPECT_FALSE(judge_gate(0.929, 1.0).passed);
  EXPECT_FALSE(judge_gate(1.0, 0.949).passed);
}

}  // namespace
}  // namespace railwave::report
