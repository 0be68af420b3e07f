// railwave workspace and railwave mode as a user meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/verb_output.hpp"

namespace railwave::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(WorkspaceVerb, DefaultsAreThePapersSetUp) {
  const auto done = run_verb({"workspace"});
  EXPECT_EQ(done.status, 0);
  EXPECT_THAT(done.output, HasSubstr("4414242944 bytes      4.111 GiB"));
  EXPECT_THAT(done.output, HasSubstr("  1      4.758                4.922            14.273"));
  EXPECT_THAT(done.output, HasSubstr("  2      9.516                9.844            28.547"));
  EXPECT_THAT(done.output, HasSubstr("  4     19.031               19.688            57.094"));
}

/// The example of docs/workspace.md.
TEST(WorkspaceVerb, OurLibraryByItsOwnFormula) {
  const auto json = verb_json({"workspace", "--tokens", "4096", "--max-recv-rows", "8192"});
  EXPECT_EQ(json["schema"], "railwave.workspace/1");
  EXPECT_EQ(json["cluster"]["ranks_per_node"], (std::vector<int>{8, 8, 8, 8}));
  EXPECT_EQ(json["library"]["segment_bytes"], 416'035'904);
  EXPECT_EQ(json["library"]["send_slots_bytes"], 262'144);
  const auto two =
      verb_json({"workspace", "--tokens", "4096", "--max-recv-rows", "8192", "--phases", "2"});
  EXPECT_EQ(two["library"]["segment_bytes"], 712'914'368);
  EXPECT_EQ(json["rail_balance"]["bytes"], 441'778'304);
  EXPECT_EQ(json["replicated_experts"]["sizes"].size(), 3U);
}

TEST(WorkspaceVerb, SizesBeyond64BitsAreAnError) {
  const auto done = run_verb({"workspace", "--tokens", "999999999999999"});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.errors, HasSubstr("InvalidArgument{workspace}"));
  EXPECT_EQ(run_verb({"workspace", "--hidden", "9000000000000000000"}).status, 2);
  EXPECT_EQ(run_verb({"workspace", "--nodes", "0"}).status, 2);
  EXPECT_EQ(run_verb({"workspace", "--replicas", "1,-1"}).status, 2);
}

TEST(ModeVerb, FormulasSideBySide) {
  // The example of docs/mode.md.
  const auto json = verb_json({"mode",
                               "--formula",
                               "draft,draft-h2,bytes",
                               "--nodes",
                               "2",
                               "--ranks-per-node",
                               "2",
                               "--hidden",
                               "4",
                               "--experts",
                               "8",
                               "--top-k",
                               "2",
                               "--tokens",
                               "10",
                               "--expert-bytes",
                               "100b",
                               "--remote-nodes",
                               "0.75",
                               "--return-dtype",
                               "fp32"});
  EXPECT_EQ(json["schema"], "railwave.mode/1");
  EXPECT_EQ(json["cluster"]["ranks_per_node"], (std::vector<int>{2, 2}));
  const auto& answers = json["answers"];
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0]["data_centric_bytes"], "512");
  EXPECT_EQ(answers[0]["expert_centric_bytes"], "160");
  EXPECT_EQ(answers[0]["tokens_from"], "33");
  EXPECT_EQ(answers[1]["expert_centric_bytes"], "40");
  EXPECT_EQ(answers[1]["tokens_from"], "129");
  EXPECT_EQ(answers[2]["data_centric_bytes"], "400");
  EXPECT_EQ(answers[2]["expert_centric_bytes"], "90");
  EXPECT_EQ(answers[2]["tokens_from"], "45");
  EXPECT_EQ(answers[2]["mode"], "expert-centric");
}

TEST(ModeVerb, TheAnswerFlipsAtTheThresholdThatItPrints) {
  const std::vector<std::string> words{"mode", "--tokens-per-worker"};
  const auto with = [&](const std::string& tokens) {
    auto all = words;
    all.push_back(tokens);
    return verb_json(all)["answers"][0];
  };
  const std::string from = with("1")["tokens_from"];
  EXPECT_EQ(with(from)["mode"], "data-centric");
  EXPECT_EQ(with(std::to_string(std::stoll(from) - 1))["mode"], "expert-centric");
}

TEST(ModeVerb, Fp8RowsHaveScales) {
  const auto json = verb_json({"mode", "--dispatch-dtype", "fp8_e4m3"});
  EXPECT_EQ(json["model"]["dispatch_row_bytes"], 7168 + 4 * 56);
  EXPECT_EQ(json["model"]["return_row_bytes"], 14336);
}

TEST(ModeVerb, WrongUseIsNamed) {
  EXPECT_EQ(run_verb({"mode", "--tokens", "1", "--tokens-per-worker", "1"}).status, 2);
  EXPECT_EQ(run_verb({"mode", "--experts", "1", "--experts-per-worker", "1"}).status, 2);
  EXPECT_EQ(run_verb({"mode", "--formula", "best"}).status, 2);
  const auto done = run_verb({"mode", "--top-k", "300"});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.errors, HasSubstr("InvalidArgument{top_k}"));
  EXPECT_EQ(run_verb({"mode", "--remote-nodes", "3.01"}).status, 2);
  EXPECT_EQ(run_verb({"mode", "--remote-nodes", "nan"}).status, 2);
  EXPECT_EQ(run_verb({"mode", "--hidden", "0"}).status, 2);
}

TEST(Verbs, HelpHasExamples) {
  for (const std::string verb : {"workspace", "mode", "describe"}) {
    const auto done = run_verb({verb, "--help"});
    EXPECT_EQ(done.status, 0);
    EXPECT_THAT(done.output, HasSubstr("Examples:\n  railwave " + verb + "\n"));
    EXPECT_THAT(done.output, HasSubstr("--json"));
  }
}

}  // namespace
}  // namespace railwave::cli
