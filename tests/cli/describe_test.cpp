// railwave describe: the worked example, and the figures published beside the recorded traces.
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/verb_output.hpp"

namespace railwave::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;
using Doubles = std::vector<double>;

/// docs/formats/describe.md.
class WorkedExample : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream file(trace_, std::ios::binary);
    for (const int id : {0, 1, 7, 4, 5, 6, 2, 3, 4}) file.put(static_cast<char>(id));
  }
  std::vector<std::string> words() const {
    return {"describe", "--trace", trace_, "--nodes", "2", "--ranks-per-node", "2"};
  }
  const testbed::ScratchDirectory scratch_;
  const std::string trace_ = scratch_.file("tiny_L1_T3_K3_E8.u8");
};

TEST_F(WorkedExample, EveryFigure) {
  const auto json = verb_json(words());
  const Json& layer = json["layers"][0];
  EXPECT_EQ(layer["node_demand"], Json::parse("[[0,2],[1,0]]"));
  EXPECT_EQ(layer["source_rails"], Json::parse("[2,1]"));
  EXPECT_EQ(layer["destination_rails"], Json::parse("[5,4]"));
  EXPECT_DOUBLE_EQ(layer["expert_imbalance"], 16.0 / 9);
  EXPECT_DOUBLE_EQ(layer["source_imbalance"], 4.0 / 3);
  EXPECT_DOUBLE_EQ(layer["destination_imbalance"], 10.0 / 9);
  EXPECT_DOUBLE_EQ(layer["source_share"], 2.0 / 3);
  EXPECT_DOUBLE_EQ(layer["rail_skew"], 4.0 / 3);
  EXPECT_DOUBLE_EQ(layer["receiver_concentration"], 4.0 / 3);
  EXPECT_EQ(layer["fan_in"], 1);
  EXPECT_DOUBLE_EQ(layer["payload_bytes"], 3 * 14336 / 4.0);
  EXPECT_DOUBLE_EQ(json["nodes_per_token"], 5.0 / 3);
  EXPECT_DOUBLE_EQ(json["remote_nodes_per_token"], 1);
  EXPECT_DOUBLE_EQ(json["rows_per_pair"], 5.0 / 9);
  EXPECT_FALSE(json["fits"].contains("source")) << "one layer is no line";
}

TEST_F(WorkedExample, PlainTextWhereThereIsNoTerminal) {
  const auto done = run_verb(words());
  EXPECT_EQ(done.status, 0);
  EXPECT_THAT(done.output, Not(HasSubstr("\x1b")));
  EXPECT_THAT(done.output, HasSubstr("#   0   0    2 @\n#   1   1 +  0\n"));
}

/// The output of the command on a terminal of its own.
std::string on_terminal(std::vector<std::string> words, const char* no_color) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  EXPECT_GE(master, 0);
  EXPECT_EQ(::grantpt(master), 0);
  EXPECT_EQ(::unlockpt(master), 0);
  const UniqueFd own(master);
  const UniqueFd terminal(::open(::ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC));
  words.insert(words.begin(), RAILWAVE_COMMAND);
  {
    Command command(words, [&] {
      ::dup2(terminal.get(), STDOUT_FILENO);
      ::setenv("TERM", "xterm", 1);
      ::setenv("NO_COLOR", no_color, 1);
    });
    // The terminal keeps all of this small output until it is read.
    EXPECT_EQ(command.wait(), 0);
  }
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t n = 0; (n = ::read(own.get(), piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(n));
  }
  return text;
}

TEST_F(WorkedExample, ColoursOnATerminalUnlessNoColor) {
  EXPECT_THAT(on_terminal(words(), ""), HasSubstr("\x1b[48;5;"));
  const auto plain = on_terminal(words(), "1");
  EXPECT_THAT(plain, HasSubstr("node demand"));
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
}

TEST_F(WorkedExample, WrongUseIsNamed) {
  const auto errors = [&](const std::vector<std::string>& more) {
    auto all = words();
    all.insert(all.end(), more.begin(), more.end());
    const auto done = run_verb(all);
    EXPECT_EQ(done.status, 2) << done.output;
    return done.errors;
  };
  EXPECT_THAT(errors({"--windows", "extreme"}), HasSubstr("at least 3 nodes"));
  EXPECT_THAT(errors({"--hidden", "0"}), HasSubstr("--hidden"));
  EXPECT_THAT(errors({"--experts", "3"}), HasSubstr("byte 2"));
  EXPECT_EQ(run_verb({"describe", "--trace", scratch_.file("none.npy")}).status, 2);
  EXPECT_EQ(run_verb({"describe", "--nodes", "0"}).status, 2);
}

TEST(Describe, WindowsAndShapesOfAllKinds) {
  const auto extreme = verb_json({"describe", "--nodes", "5", "--ranks-per-node", "3", "--rails",
                                  "2", "--windows", "extreme", "--hidden", "64"});
  EXPECT_EQ(extreme["sum"]["fan_in"], 4);
  EXPECT_EQ(extreme["layers"].size(), 26U);
  EXPECT_EQ(extreme["sum"]["source_rails"].size(), 2U);
  const auto waves =
      verb_json({"describe", "--nodes", "5", "--ranks-per-node", "3", "--windows", "waves"});
  EXPECT_EQ(waves["sum"]["fan_in"], 1);
  const auto alone = verb_json({"describe", "--nodes", "1", "--windows", "waves"});
  EXPECT_EQ(alone["sum"]["fan_in"], 0);
  EXPECT_FALSE(alone["sum"].contains("rail_skew"));
  EXPECT_FALSE(alone["sum"].contains("source_imbalance"));
  EXPECT_TRUE(alone["sum"].contains("destination_imbalance"));
}

TEST(Describe, AClusterFileWithUnevenNodes) {
  const testbed::ScratchDirectory scratch;
  std::ofstream(scratch.file("cluster.toml"))
      << "nodes = 3\nranks_per_node = [2, 3, 1]\nrails = 2\n";
  const auto json = verb_json({"describe", "--cluster", scratch.file("cluster.toml")});
  EXPECT_EQ(json["cluster"]["ranks_per_node"], Json::parse("[2,3,1]"));
  EXPECT_EQ(json["sum"]["node_demand"].size(), 3U);
  EXPECT_EQ(json["sum"]["rank_rows"].size(), 6U);
  EXPECT_EQ(json["sorted_bins"].size(), 3U);
  EXPECT_EQ(
      run_verb({"describe", "--cluster", scratch.file("cluster.toml"), "--nodes", "2"}).status, 2);
}

class RecordedTraces : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("RAILWAVE_DATA");
    if (folder == nullptr || !std::filesystem::is_directory(folder)) {
      GTEST_SKIP() << "RAILWAVE_DATA names no folder with recorded traces";
    }
    folder_ = folder;
  }
  Json describe(const std::string& name) {
    return verb_json({"describe", "--trace", (folder_ / name).string(), "--nodes", "4",
                      "--ranks-per-node", "8"});
  }
  std::filesystem::path folder_;
};

/// A row of the published table, in its own digits.
struct Published {
  Doubles experts, rails;  // p10, p50, p90
  double r_squared;
  Doubles bins, pairs;  // percent
};

Doubles quantiles(const Json& spread) { return {spread["p10"], spread["p50"], spread["p90"]}; }

Doubles percent(const Json& loads, std::size_t together) {
  double sum = 0;
  for (const double load : loads) sum += load;
  Doubles out(loads.size() / together, 0);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    out[i / together] += 100 * loads[i].get<double>() / sum;
  }
  return out;
}

/// Half a unit of the last digit that the table gives, and the least more for its own rounding.
void expect_digits(const Doubles& have, const Doubles& want, int digits) {
  const double half = 0.501 * std::pow(10, -digits);
  ASSERT_EQ(have.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(have[i], want[i], half) << i;
}

void expect_published(const Json& json, const Published& row) {
  expect_digits(quantiles(json["over_layers"]["expert_imbalance"]), row.experts, 2);
  expect_digits(quantiles(json["over_layers"]["destination_imbalance"]), row.rails, 2);
  expect_digits({json["fits"]["destination"]["r_squared"]}, {row.r_squared}, 3);
  // The table rounds these to two digits first: 17.3466 % is 17.35 and then 17.4 there.
  Doubles bins = percent(json["sorted_bins"], 1);
  for (double& share : bins) share = std::round(std::round(100 * share) / 10) / 10;
  expect_digits(bins, row.bins, 1);
  expect_digits(percent(json["sorted_bins"], 2), row.pairs, 2);
}

TEST_F(RecordedTraces, Esft) {
  expect_published(describe("esft_dsv2lite/intent_L26_T8222_K6.u8"),
                   {{3.11, 3.98, 4.33},
                    {1.24, 1.40, 1.61},
                    0.002,
                    {33.2, 19.8, 14.4, 10.8, 8.5, 6.5, 4.6, 2.2},
                    {53.01, 25.16, 15.05, 6.78}});
  expect_published(describe("esft_dsv2lite/law_L26_T8327_K6.u8"),
                   {{2.05, 3.39, 5.58},
                    {1.14, 1.27, 1.62},
                    0.534,
                    {27.4, 17.4, 14.2, 11.9, 10.1, 8.4, 6.7, 4.0},
                    {44.70, 26.12, 18.52, 10.66}});
  expect_published(describe("esft_dsv2lite/summary_L26_T8479_K6.u8"),
                   {{2.33, 4.48, 6.20},
                    {1.21, 1.40, 1.81},
                    0.322,
                    {30.9, 17.8, 13.9, 11.3, 9.4, 7.7, 5.8, 3.3},
                    {48.66, 25.22, 17.03, 9.09}});
}

/// The published row of this trace is of all 501 iterations; the file has 20, and these are theirs.
TEST_F(RecordedTraces, SmartMoeTwentyIterations) {
  const auto json = describe("smartmoe_gpt/counts_I20_L24_R16_M4_E32.u16le");
  expect_published(json, {{4.98, 12.36, 15.63},
                          {2.21, 3.48, 4.24},
                          0.754,
                          {70.2, 17.2, 6.3, 2.8, 1.5, 1.0, 0.7, 0.5},
                          {87.33, 9.04, 2.48, 1.15}});
  EXPECT_FALSE(json.contains("nodes_per_token"));
}

TEST_F(RecordedTraces, CoalescingOfQwen3AndEsft) {
  const auto qwen = describe("qwen3_30b_a3b/ep_states_L48_T1960_K8.u8");
  expect_digits({qwen["nodes_per_token"]}, {3.64}, 2);
  const auto other = describe("qwen3_30b_a3b/token_distri_8_L48_T2050_K8.u8");
  EXPECT_NEAR(qwen["rows_per_pair"], 0.45, 0.01);
  EXPECT_NEAR(other["rows_per_pair"], 0.45, 0.01);
  EXPECT_NEAR(describe("esft_dsv2lite/intent_L26_T8222_K6.u8")["rows_per_pair"], 0.56, 0.01);
}

/// Counts and ids of the same layers agree on what does not need to know the tokens.
TEST_F(RecordedTraces, TheCsvAgreesWithTheIds) {
  const auto ids = describe("esft_dsv2lite/law_L26_T8327_K6.u8");
  const auto csv = describe("esft_dsv2lite/expert_counts.csv:law");
  for (const char* same : {"expert_imbalance", "destination_imbalance"}) {
    EXPECT_EQ(ids["over_layers"][same], csv["over_layers"][same]);
  }
  EXPECT_EQ(ids["sum"]["destination_rails"], csv["sum"]["destination_rails"]);
}

}  // namespace
}  // namespace railwave::cli
