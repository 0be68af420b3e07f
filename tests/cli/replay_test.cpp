// The main job as a user meets it, on a small emulated cluster.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <railwave/path.hpp>

#include "cli/command.hpp"
#include "report/replay_json.hpp"
#include "testbed/emulated_cluster.hpp"
#include "testbed/scratch.hpp"

namespace railwave::cli {
namespace {

using testbed::ScratchDirectory;
using testing::HasSubstr;

std::vector<std::string> replay(std::vector<std::string> arguments) {
  std::vector<std::string> out{RAILWAVE_COMMAND, "replay"};
  out.insert(out.end(), arguments.begin(), arguments.end());
  return out;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Runs a replay that must succeed and reads its result.
report::ReplayResult result_of(std::vector<std::string> arguments) {
  const ScratchDirectory scratch;
  const auto json = scratch.file("result.json");
  arguments.insert(arguments.end(), {"--no-gate", "--json", json});
  Command command(replay(arguments));
  const std::string errors = command.errors();
  EXPECT_EQ(command.wait(), 0) << errors;
  const auto results = report::from_json(read_file(json));
  EXPECT_TRUE(results) << (results ? "" : to_string(results.error()));
  return results && !results->empty() ? results->front() : report::ReplayResult{};
}

TEST(Replay, HelpHasExamples) {
  Command command(replay({"--help"}));
  const auto text = command.rest_of_output();
  EXPECT_THAT(text, HasSubstr("railwave replay --schedule ring"));
  EXPECT_THAT(text, HasSubstr("--payload-mib"));
  EXPECT_EQ(command.wait(), 0);
}

TEST(Replay, WrongOptionsAreNamed) {
  RAILWAVE_NEED_CLUSTER();
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--paths", "fastest"}, "--paths"},
      {{"--schedule", "torus"}, "--schedule"},
      {{"--repeats", "0"}, "--repeats"},
      {{"--lead", "many"}, "--lead"}};
  for (const auto& [arguments, expected] : cases) {
    Command command(replay(arguments));
    EXPECT_THAT(command.errors(), HasSubstr(expected));
    EXPECT_EQ(command.wait(), 2) << expected;
  }
}

TEST(Replay, AMissingTraceIsNamedAndNothingHangs) {
  RAILWAVE_NEED_CLUSTER();
  Command command(replay({"--nodes", "2", "--ranks-per-node", "1", "--rails", "1", "--no-gate",
                          "--trace", "no-such_L1_T1_K1.u8"}));
  EXPECT_THAT(command.errors(), HasSubstr("no-such_L1_T1_K1.u8"));
  EXPECT_NE(command.wait(), 0);
}

TEST(Replay, AllPathsAreRightOnTheExtremeSchedule) {
  RAILWAVE_NEED_CLUSTER();
  const auto result = result_of({"--ranks-per-node", "4", "--rails", "4", "--rate", "200mbit",
                                 "--schedule", "extreme", "--layers", "2", "--repeats", "2",
                                 "--payload-mib", "0.25", "--hidden", "1024"});
  ASSERT_EQ(result.paths.size(), 4U);
  for (const report::PathResult& path : result.paths) {
    SCOPED_TRACE(path.name);
    EXPECT_EQ(path.wrong, 0);
    EXPECT_EQ(path.bits, result.paths.front().bits);
    ASSERT_TRUE(path.rail_share_tx);
    const auto name = path_from_string(path.name);
    if (balances(*name)) {
      for (const double share : *path.rail_share_tx) EXPECT_NEAR(share, 0.25, 0.003);
    } else {
      // The sorted bins of the generated trace, in pairs: 54.12 / 24.33 / 14.85 / 6.69 %.
      EXPECT_GT(path.rail_share_tx->front(), 0.45);
    }
    if (uses_waves(*name)) {
      EXPECT_EQ(path.max_fan_in, 1);
    }
    EXPECT_GE(path.ratio_to_bound.value_or(0), 1.0);
  }
}

TEST(Replay, PlannersOfOthersAndUnequalRails) {
  RAILWAVE_NEED_CLUSTER();
  const ScratchDirectory scratch;
  const auto cluster = scratch.file("cluster.toml");
  std::ofstream(cluster) << "nodes = 3\nranks_per_node = 3\nrails = 3\nrate = \"200mbit\"\n"
                            "[rail.1]\nrate = \"100mbit\"\n";
  const auto result = result_of({"--cluster", cluster, "--schedule", "extreme", "--layers", "1",
                                 "--repeats", "1", "--payload-mib", "0.5", "--hidden", "512",
                                 "--paths", "joint,birkhoff,linear,pairwise,spray"});
  ASSERT_EQ(result.paths.size(), 5U);
  for (const report::PathResult& path : result.paths) {
    SCOPED_TRACE(path.name);
    EXPECT_EQ(path.wrong, 0);
    EXPECT_EQ(path.bits, result.paths.front().bits);
    const auto name = path_from_string(path.name);
    if (*name == Path::Joint || *name == Path::Birkhoff || *name == Path::Pairwise) {
      EXPECT_EQ(path.max_fan_in, 1);
    }
    if (!balances(*name)) continue;
    ASSERT_TRUE(path.rail_share_tx);
    EXPECT_NEAR(path.rail_share_tx->at(0), 0.4, 0.01);
    EXPECT_NEAR(path.rail_share_tx->at(1), 0.2, 0.01);
    EXPECT_NEAR(path.rail_share_tx->at(2), 0.4, 0.01);
    EXPECT_GE(path.ratio_to_bound.value_or(0), 1.0);
  }
}

TEST(Replay, RunsInsideAnEmulatedClusterToo) {
  RAILWAVE_NEED_CLUSTER();
  Command command({RAILWAVE_COMMAND,
                   "emulate",
                   "--nodes",
                   "2",
                   "--ranks-per-node",
                   "2",
                   "--rails",
                   "2",
                   "--rate",
                   "500mbit",
                   "--",
                   RAILWAVE_COMMAND,
                   "replay",
                   "--schedule",
                   "ring",
                   "--layers",
                   "1",
                   "--repeats",
                   "1",
                   "--payload-mib",
                   "0.02",
                   "--hidden",
                   "64"});
  const auto text = command.rest_of_output();
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(text, HasSubstr("joint"));
  EXPECT_THAT(text, HasSubstr("#wrong"));
}

}  // namespace
}  // namespace railwave::cli
