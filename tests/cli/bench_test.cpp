// railwave bench as a user meets it, on small clusters.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/verb_output.hpp"
#include "report/bench_result.hpp"
#include "testbed/emulated_cluster.hpp"
#include "testbed/scratch.hpp"

namespace railwave::cli {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Runs a bench that must succeed and returns its JSON.
std::string json_of(Words words) {
  const testbed::ScratchDirectory scratch;
  words.insert(words.begin(), "bench");
  words.insert(words.end(), {"--no-gate", "--json", scratch.file("out.json")});
  const VerbOutput done = run_verb(words);
  EXPECT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.output, HasSubstr("#wrong"));
  return read_file(scratch.file("out.json"));
}

report::BenchResult exchange(const Words& words) {
  auto result = report::bench_from_json(json_of(words));
  EXPECT_TRUE(result) << (result ? "" : to_string(result.error()));
  return result ? *std::move(result) : report::BenchResult{};
}

report::NetworkResult network(const Words& words) {
  auto result = report::network_from_json(json_of(words));
  EXPECT_TRUE(result) << (result ? "" : to_string(result.error()));
  return result ? *std::move(result) : report::NetworkResult{};
}

/// Every token goes to all 4 ranks, so that byte counts are known.
Words everywhere(const std::string& operation) {
  return {operation, "--nodes",  "2",  "--ranks-per-node",
          "2",       "--rails",  "2",  "--rate",
          "200mbit", "-n",       "2",  "-w",
          "1",       "--hidden", "64", "--experts",
          "4",       "--top-k",  "4",  "--tokens"};
}

TEST(Bench, HelpHasExamplesAndNamesTheOperations) {
  const VerbOutput help = run_verb({"bench", "--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.output, HasSubstr("railwave bench round-trip --nodes 1"));
  for (const char* name : {"dispatch", "combine", "round-trip", "p2p", "incast", "permute"}) {
    EXPECT_THAT(help.output, HasSubstr(name));
    const VerbOutput own = run_verb({"bench", name, "--help"});
    EXPECT_EQ(own.status, 0);
    EXPECT_THAT(own.output, HasSubstr("--iters"));
  }
}

TEST(Bench, WrongOptionsAreNamed) {
  const std::vector<std::pair<Words, std::string>> cases{
      {{"all-reduce"}, "no verb of railwave bench"},
      {{"dispatch", "--paths", "fastest"}, "--paths"},
      {{"dispatch", "-b", "64kb", "-e", "1kb"}, "--end"},
      {{"dispatch", "-b", "some"}, "--begin"},
      {{"permute", "-b", "0"}, "--begin"},
      {{"dispatch", "-f", "1"}, "--factor"},
      {{"dispatch", "-c", "2"}, "--check"},
      {{"dispatch", "-n", "0"}, "--iters"},
      {{"dispatch", "--tokens", "4", "-e", "1mb"}, "--tokens"},
      {{"dispatch", "--top-k", "9", "--experts", "8"}, "--top-k"},
      {{"dispatch", "--dtype", "int8"}, "--dtype"},
      {{"p2p", "--hidden", "8"}, "--hidden"},
      {{"p2p", "--nodes", "1"}, "--nodes"},
      {{"p2p", "--receiver", "0"}, "--receiver"},
      {{"incast", "--receiver", "4"}, "--receiver"}};
  for (const auto& [words, expected] : cases) {
    Words all{"bench"};
    all.insert(all.end(), words.begin(), words.end());
    const VerbOutput done = run_verb(all);
    EXPECT_EQ(done.status, 2) << expected;
    EXPECT_THAT(done.errors, HasSubstr(expected));
  }
}

TEST(Bench, ARoundTripCountsLogicalAndWireBytesApart) {
  RAILWAVE_NEED_CLUSTER();
  Words words = everywhere("round-trip");
  words.emplace_back("6");
  const auto result = exchange(words);
  ASSERT_EQ(result.paths.size(), 4U);
  for (const report::BenchPath& path : result.paths) {
    SCOPED_TRACE(path.name);
    ASSERT_EQ(path.sizes.size(), 1U);
    const report::BenchSize& size = path.sizes[0];
    EXPECT_EQ(size.tokens, 6);
    EXPECT_EQ(size.size_bytes, 6 * 128);
    EXPECT_EQ(size.logical_bytes, 2 * 4 * 6 * 128);  // both ways, to 4 ranks
    EXPECT_EQ(size.wire_bytes, 2 * 6 * 128);         // both ways, once to the other node
    EXPECT_EQ(size.samples.size(), 2U);
    EXPECT_EQ(size.wrong, 0);
    EXPECT_EQ(size.bits, result.paths[0].sizes[0].bits);
    EXPECT_TRUE(size.bits);
    EXPECT_TRUE(size.bound_s);
    EXPECT_NEAR(size.busbw_byte_s, 0.75 * size.algbw_byte_s, 1e-6 * size.algbw_byte_s);
    EXPECT_LE(size.time.min_s, size.time.p50_s);
    EXPECT_GE(size.time.max_s, size.time.p50_s);
  }
}

TEST(Bench, OnePhaseIsHalfOfIt) {
  RAILWAVE_NEED_CLUSTER();
  for (const char* operation : {"dispatch", "combine"}) {
    SCOPED_TRACE(operation);
    Words words = everywhere(operation);
    words.insert(words.end(), {"6", "--paths", "joint", "--dtype", "fp32"});
    const auto result = exchange(words);
    ASSERT_EQ(result.paths.size(), 1U);
    const report::BenchSize& size = result.paths[0].sizes.at(0);
    EXPECT_EQ(result.operation, operation);
    EXPECT_EQ(size.logical_bytes, 4 * 6 * 256);
    EXPECT_EQ(size.wire_bytes, 6 * 256);
    EXPECT_EQ(size.bits.has_value(), std::string(operation) == "combine");
  }
}

TEST(Bench, SizesAreWholeRowsEachOnce) {
  RAILWAVE_NEED_CLUSTER();
  // Both ways, so that the buffers of both phases must do for every size.
  const auto result = exchange({"round-trip", "--nodes", "1",  "--ranks-per-node",
                                "2",          "-b",      "64", "-e",
                                "1kb",        "-f",      "2",  "-n",
                                "1",          "-w",      "0",  "--hidden",
                                "64",         "--top-k", "2",  "--experts",
                                "4"});
  ASSERT_EQ(result.paths.size(), 1U);
  std::vector<std::int64_t> tokens;
  for (const report::BenchSize& size : result.paths[0].sizes) tokens.push_back(size.tokens);
  EXPECT_EQ(tokens, (std::vector<std::int64_t>{1, 2, 4, 8}));
}

TEST(Bench, OneNodeUsesNoRail) {
  RAILWAVE_NEED_CLUSTER();
  const auto result =
      exchange({"round-trip", "--nodes", "1", "--ranks-per-node", "3", "--tokens", "5", "-n", "1",
                "-w", "0", "--hidden", "33", "--top-k", "2", "--experts", "5"});
  ASSERT_EQ(result.paths.size(), 1U);
  EXPECT_EQ(result.paths[0].name, "native");
  const report::BenchSize& size = result.paths[0].sizes.at(0);
  EXPECT_EQ(size.wire_bytes, 0);
  EXPECT_FALSE(size.bound_s);
  EXPECT_EQ(size.wrong, 0);
  EXPECT_GT(size.logical_bytes, 0);
}

TEST(Bench, RunsInsideAnEmulatedClusterToo) {
  RAILWAVE_NEED_CLUSTER();
  const VerbOutput done = run_verb({"emulate",
                                    "--nodes",
                                    "2",
                                    "--ranks-per-node",
                                    "1",
                                    "--rails",
                                    "1",
                                    "--rate",
                                    "500mbit",
                                    "--",
                                    RAILWAVE_COMMAND,
                                    "bench",
                                    "dispatch",
                                    "--tokens",
                                    "2",
                                    "--hidden",
                                    "16",
                                    "--top-k",
                                    "1",
                                    "-n",
                                    "1",
                                    "-w",
                                    "0",
                                    "-c",
                                    "0"});
  EXPECT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.output, HasSubstr("check off"));
  EXPECT_THAT(done.output, HasSubstr("joint"));
}

TEST(Bench, NetworkPatternsReachTheRailsRate) {
  RAILWAVE_NEED_CLUSTER();
  const Words cluster{"--nodes", "3",       "--ranks-per-node",
                      "1",       "--rails", "2",
                      "--rate",  "200mbit", "-b",
                      "512kb",   "-e",      "512kb",
                      "-n",      "3",       "-w",
                      "1"};
  for (const auto& [operation, route, senders] :
       {std::tuple{"p2p", "0>1", 1}, std::tuple{"incast", "1,2>0", 2},
        std::tuple{"permute", "all", 1}}) {
    SCOPED_TRACE(operation);
    Words words{operation};
    words.insert(words.end(), cluster.begin(), cluster.end());
    const auto result = network(words);
    ASSERT_EQ(result.rails.size(), 2U);
    for (const report::NetworkRail& rail : result.rails) {
      EXPECT_EQ(rail.route, route);
      EXPECT_EQ(rail.senders, senders);
      EXPECT_EQ(rail.nominal_bit_s, 200'000'000);
      ASSERT_EQ(rail.sizes.size(), 1U);
      EXPECT_EQ(rail.sizes[0].wrong, 0);
      EXPECT_EQ(rail.sizes[0].samples.size(), 3U);
      // A bucket of 12 KiB passes at once; incast loses segments and waits.
      EXPECT_LT(rail.sizes[0].fraction, 1.1);
      EXPECT_GT(rail.sizes[0].fraction, senders > 1 ? 0.01 : 0.5);
    }
  }
}

/// The lines of a page that begin with "    $ railwave".
std::vector<Words> documented_commands() {
  std::ifstream page(RAILWAVE_BENCH_PAGE);
  std::vector<Words> out;
  for (std::string line; std::getline(page, line);) {
    const std::string prompt = "    $ railwave ";
    if (line.rfind(prompt, 0) != 0) continue;
    std::istringstream words(line.substr(prompt.size()));
    auto& command = out.emplace_back();
    for (std::string word; words >> word;) command.push_back(word);
  }
  return out;
}

TEST(Bench, TheCommandsOfItsPageWork) {
  RAILWAVE_NEED_CLUSTER();
  const auto commands = documented_commands();
  ASSERT_GE(commands.size(), 3U);
  for (const Words& command : commands) {
    const VerbOutput done = run_verb(command);
    EXPECT_EQ(done.status, 0) << testing::PrintToString(command) << done.errors;
    EXPECT_THAT(done.output, HasSubstr("#wrong"));
  }
}

}  // namespace
}  // namespace railwave::cli
