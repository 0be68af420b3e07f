// railwave plan as a user meets it: nothing is sent, so it needs no cluster.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "testbed/scratch.hpp"

namespace railwave::cli {
namespace {

using testbed::ScratchDirectory;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

struct Answer {
  int status = -1;
  std::string output{};
  std::string errors{};
};

Answer plan(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {RAILWAVE_COMMAND, "plan"});
  Command command(arguments);
  Answer answer;
  answer.output = command.rest_of_output();
  answer.errors = command.errors();
  answer.status = command.wait();
  return answer;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Json json_of(std::vector<std::string> arguments) {
  const ScratchDirectory scratch;
  const auto file = scratch.file("summary.json");
  arguments.insert(arguments.end(), {"--json", file});
  const Answer answer = plan(arguments);
  EXPECT_EQ(answer.status, 0) << answer.errors;
  return Json::parse(read_file(file), nullptr, false);
}

/// The first block in `language` of a page of docs/formats, as a file.
std::string example_of(const ScratchDirectory& scratch, const std::string& name,
                       const std::string& language) {
  const std::string page = read_file(std::string(RAILWAVE_FORMAT_PAGES) + "/" + name);
  const auto first = page.find("```" + language + "\n") + language.size() + 4;
  const auto path = scratch.file("documented." + language);
  std::ofstream(path) << page.substr(first, page.find("```", first) - first);
  return path;
}

/// The plan of docs/formats/plan.md, which is that of DESIGN 5.1.
std::string documented_plan(const ScratchDirectory& scratch) {
  return example_of(scratch, "plan.md", "json");
}

const std::vector<std::string> kSmall{"--nodes",       "3",      "--ranks-per-node", "2",
                                      "--rails",       "2",      "--schedule",       "ring",
                                      "--payload-mib", "0.0625", "--hidden",         "512"};

std::vector<std::string> small(const std::vector<std::string>& more) {
  std::vector<std::string> all = kSmall;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(Plan, HelpHasExamples) {
  const Answer answer = plan({"--help"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.output, HasSubstr("railwave plan --explain 0,1,2,13"));
  EXPECT_THAT(answer.output, HasSubstr("--payload-mib"));
}

TEST(Plan, WrongOptionsAreNamed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--path", "fastest"}, "--path"},
      {{"--paths", "joint,fastest"}, "'fastest' is no path"},
      {{"--paths", "all", "--save", "x"}, "--paths"},
      {{"--layer", "99"}, "layer 99, expected 0 to 25"},
      {{"--explain", "0"}, "expected SOURCE,DESTINATION"},
      {{"--explain", "0,9"}, "node 9, expected 0 to 2"},
      {{"--explain", "0,1,2"}, "rail 2, expected 0 to 1"},
      {{"--explain", "0,2"}, "node 0 has no records for node 2"},
      {{"--explain", "0,1,0,99999"}, "record 99999 of home rail 0: there are"},
      {{"--schedule", "moderate", "--paths", "joint"}, "schedule"},
      {{"--trace", "no-such_L1_T1_K1.u8"}, "no-such_L1_T1_K1.u8"},
      {{"--rate", "10001gbit"}, "10001000000000 bit/s is not between"},
      {{"--compare", "no-such.json"}, "no-such.json: there is no such file"}};
  for (const auto& [arguments, expected] : cases) {
    const Answer answer = plan(small(arguments));
    EXPECT_THAT(answer.errors, HasSubstr(expected));
    EXPECT_NE(answer.status, 0) << expected;
  }
  EXPECT_EQ(plan({"--check", "no-such.json"}).status, 2);
  EXPECT_THAT(plan({"--nodes", "-1"}).errors, HasSubstr("-1"));
}

// Nothing is sent, so what this machine can emulate does not matter.
TEST(Plan, RealClustersArePlannedFor) {
  const Json fast = json_of(small({"--rate", "400gbit"}));
  EXPECT_EQ(fast["cluster"]["rate_bit_s"], 400'000'000'000);
  // 64 rows of 1 KiB over the busiest rail, less the token bucket of 12 KiB.
  EXPECT_DOUBLE_EQ(fast["bound"]["seconds"].get<double>(), (65536 - 12288) * 8 / 4e11);
  const ScratchDirectory scratch;
  const auto file = scratch.file("cluster.toml");
  std::ofstream(file) << "nodes = 300\nranks_per_node = 1\nrails = 1\nrate = \"100gbit\"\n";
  const Json wide = json_of({"--cluster", file, "--schedule", "all-at-once", "--payload-mib",
                             "0.01", "--hidden", "64", "--path", "native"});
  EXPECT_EQ(wide["cluster"]["nodes"], 300);
}

// 0.0625 MiB a rank are 64 rows of 1,024 bytes: 384 rows, 128 from each of 3 nodes.
TEST(Plan, OnePhaseAddsUp) {
  for (const std::string path : {"native", "rail_only", "permutation_only", "joint", "birkhoff",
                                 "linear", "pairwise", "spray"}) {
    SCOPED_TRACE(path);
    const Json summary = json_of(small({"--path", path}));
    ASSERT_TRUE(summary.is_object());
    EXPECT_EQ(summary["schema"], "railwave.plan_summary/1");
    EXPECT_EQ(summary["path"], path);
    EXPECT_EQ(summary["records"], 384);
    EXPECT_EQ(summary["workload"]["row_bytes"], 1024);
    std::int64_t in_windows = 0;
    for (const Json& window : summary["windows"]) {
      in_windows += window["records"].get<std::int64_t>();
      EXPECT_EQ(window["fan_in"], 1);
    }
    EXPECT_EQ(in_windows, 384);
    std::int64_t sent = 0;
    std::int64_t sent_home = 0;
    ASSERT_EQ(summary["rails"].size(), 6U);
    for (const Json& rail : summary["rails"]) {
      sent += rail["sent"].get<std::int64_t>();
      sent_home += rail["sent_home"].get<std::int64_t>();
      if (path == "joint") {
        EXPECT_EQ(rail["sent"], 64);
      }
    }
    EXPECT_EQ(sent, 384);
    EXPECT_EQ(sent_home, 384);
    EXPECT_EQ(summary["bound"]["records"], 64.0);
    EXPECT_GE(summary["path_bound_barrier"]["records"], summary["path_bound_free"]["records"]);
    EXPECT_GE(summary["path_bound_free"]["records"], 64.0);
  }
}

TEST(Plan, TheTextShowsWindowsRailsAndBounds) {
  const Answer answer = plan(small({}));
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.output, HasSubstr("# plan     joint, layer 0 of 26, generated"));
  EXPECT_THAT(answer.output, HasSubstr("384 of 1.00 KiB leave their node"));
  EXPECT_THAT(answer.output, HasSubstr("LB1, whatever the plan             64.0"));
  EXPECT_THAT(answer.output, HasSubstr("0>1 1>2 2>0"));
  EXPECT_THAT(answer.output, HasSubstr("====="));
}

// The cluster of docs/formats/cluster.md: rail 1 is half as fast, node 1 has two cables swapped,
// node 2 lacks rail 2.
TEST(Plan, UnequalRailsAreShownWithUnitAndWeights) {
  const ScratchDirectory scratch;
  const std::vector<std::string> arguments{
      "--cluster", example_of(scratch, "cluster.md", "toml"), "--routing", "trace", "--max-tokens",
      "200"};
  const Answer answer = plan(arguments);
  EXPECT_EQ(answer.status, 0) << answer.errors;
  EXPECT_THAT(answer.output,
              HasSubstr("# cluster  3 nodes, 8 ranks, 3 rails of 50.00 Mbit/s, node by node:\n"
                        "#   node0: 2 ranks, rail0 rail1(25.00 Mbit/s) rail2\n"
                        "#   node1: 4 ranks, rail0>1 rail1>0(25.00 Mbit/s) rail2\n"
                        "#   node2: 2 ranks, rail0 rail1(25.00 Mbit/s) -\n"
                        "# weights  a rail's rate over 25.00 Mbit/s, of which all rates are "
                        "multiples: 2 at 50.00 Mbit/s, 1 at 25.00 Mbit/s\n"));
  EXPECT_THAT(answer.output, HasSubstr("  longest  fan-in  sends\n"));

  const Json summary = json_of(arguments);
  EXPECT_EQ(summary["rate_of_weight_one_bit_s"], 25'000'000);
  double windows = 0;
  for (const Json& window : summary["windows"]) {
    windows += window["longest_records_over_weight"].get<double>();
  }
  EXPECT_DOUBLE_EQ(windows, summary["path_bound_barrier"]["records"].get<double>());
  std::vector<int> weights;
  for (const Json& rail : summary["rails"]) weights.push_back(rail["weight"]);
  EXPECT_EQ(weights, (std::vector<int>{2, 1, 2, 2, 1, 2, 2, 1, 2}));
  // What a row takes on a rail of weight 1, less the token bucket, counted on the slowest rail.
  const double bytes =
      summary["bound"]["records"].get<double>() * summary["workload"]["row_bytes"].get<double>();
  EXPECT_NEAR(summary["bound"]["seconds"].get<double>(), (bytes - 12288) * 8 / 25e6, 1e-12);
}

TEST(Plan, EqualRailsNeedNoWeights) {
  const Answer answer = plan(small({}));
  EXPECT_THAT(answer.output, HasSubstr("# cluster  3 nodes, 6 ranks, 2 rails of 50.00 Mbit/s\n"));
  EXPECT_THAT(answer.output, Not(HasSubstr("weight")));
  EXPECT_EQ(json_of(small({}))["rate_of_weight_one_bit_s"], 50'000'000);
}

TEST(Plan, PathsSayWhatTheirNumbersRestOn) {
  const Json summary = json_of(small({"--paths", "native,joint"}));
  EXPECT_EQ(summary["cluster"]["ranks_per_node"], (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(summary["rate_of_weight_one_bit_s"], 50'000'000);
  const Json& workload = summary["workload"];
  EXPECT_EQ(workload["trace"], "generated");
  EXPECT_EQ(workload["seed"], 1);
  EXPECT_EQ(workload["routing"], "schedule");
  EXPECT_EQ(workload["payload_mib"], 0.0625);
  EXPECT_EQ(workload["hidden"], 512);
  EXPECT_EQ(workload["row_bytes"], 1024);
  EXPECT_EQ(workload["layers"], 26);
  ASSERT_EQ(summary["schedules"].size(), 1U);
  EXPECT_EQ(summary["schedules"][0]["name"], "ring");
  EXPECT_EQ(summary["schedules"][0]["bound_records"], 26 * 64.0);
  const Json traced = json_of({"--nodes", "2", "--ranks-per-node", "2", "--rails", "2", "--routing",
                               "trace", "--max-tokens", "50", "--paths", "joint"});
  EXPECT_EQ(traced["workload"]["routing"], "trace");
  EXPECT_EQ(traced["workload"]["max_tokens"], 50);
  EXPECT_FALSE(traced["workload"].contains("payload_mib"));
}

TEST(Plan, TheDocumentedExampleIsCheckedAndExplained) {
  const ScratchDirectory scratch;
  const auto file = documented_plan(scratch);
  const Answer checked = plan({"--check", file});
  EXPECT_EQ(checked.status, 0) << checked.output;
  EXPECT_THAT(checked.output, HasSubstr("joint on 2 nodes x 4 rails, 100 records, 1 windows"));
  EXPECT_THAT(checked.output, HasSubstr(": ok"));

  const Answer stranded = plan({"--check", file, "--explain", "0,1,2,25"});
  EXPECT_EQ(stranded.status, 0);
  EXPECT_THAT(stranded.output, HasSubstr("moves to 1, slot 21 of the 33"));
  EXPECT_THAT(stranded.output, HasSubstr("sent by   rank 1, local rank 1 of node 0"));
  EXPECT_THAT(stranded.output, HasSubstr("by rank 5, local rank 1 of node 1, on rail 1"));
  EXPECT_THAT(stranded.output,
              HasSubstr("window 0 of 1, the wave in which node s sends to node s+1"));
  EXPECT_THAT(stranded.output, HasSubstr("rail 2 can not be used from node 0 to node 1"));

  const Answer kept = plan({"--check", file, "--explain", "0,1,3,32"});
  EXPECT_THAT(kept.output, HasSubstr("stays on 3, slot 32 of the 33"));
  EXPECT_THAT(kept.output, HasSubstr("rail 3 has 40 records for node 1 and keeps the first 33"));
  const Answer segments = plan({"--check", file, "--explain", "0,1,3"});
  EXPECT_THAT(segments.output, HasSubstr("33-39     1  26-32  moved"));
}

TEST(Plan, AnswersComeAsJsonToo) {
  const ScratchDirectory scratch;
  const auto file = documented_plan(scratch);
  const Json record = json_of({"--check", file, "--explain", "0,1,2,25"});
  EXPECT_EQ(record["schema"], "railwave.plan_answer/1");
  EXPECT_EQ(record["plan"], Json::parse(R"({"path": "joint", "nodes": 2, "rails": 4,
                                            "records": 100, "windows": 1, "slices": 1})"));
  EXPECT_EQ(record["check"]["faults"], Json::array());
  const Json& explained = record["explain"];
  EXPECT_EQ(explained["why"],
            "rail 2 can not be used from node 0 to node 1, it is down at one end");
  EXPECT_EQ(explained["moved"], true);
  EXPECT_EQ(explained["rail"], 1);
  EXPECT_EQ(explained["slot"], 21);
  EXPECT_EQ(explained["receiver"], 5);
  EXPECT_FALSE(explained.contains("token_of"));

  const Json slice = json_of({"--check", file, "--explain", "0,1,3", "--compare", file});
  EXPECT_EQ(slice["explain"]["segments"],
            Json::parse(R"([{"home_rail": 3, "first": 0, "records": 33, "rail": 3, "slot": 0},
                            {"home_rail": 3, "first": 33, "records": 7, "rail": 1, "slot": 26}])"));
  EXPECT_EQ(slice["explain"]["sends"], Json::parse(R"([{"window": 0, "rails": [34, 33, 0, 33]}])"));
  EXPECT_EQ(slice["compare"]["same"], true);

  const auto joint = scratch.file("joint.json");
  ASSERT_EQ(plan(small({"--save", joint})).status, 0);
  const auto other = scratch.file("other.json");
  EXPECT_EQ(plan(small({"--path", "native", "--compare", joint, "--json", other})).status, 1);
  const Json compared = Json::parse(read_file(other));
  EXPECT_EQ(compared["plan"]["path"], "native");
  EXPECT_EQ(compared["compare"]["same"], false);
  EXPECT_EQ(compared["compare"]["other_path"], true);
  EXPECT_EQ(compared["compare"]["slices"].size(), 3U);
  EXPECT_EQ(json_of(small({"--explain", "0,1,0,0"}))["explain"]["token_of"], 0);
}

TEST(Plan, AFaultyPlanIsRefused) {
  const ScratchDirectory scratch;
  std::string text = read_file(documented_plan(scratch));
  const std::string good = "[2,24,1,20,6]";
  text.replace(text.find(good), good.size(), "[2,25,1,20,5]");
  const auto file = scratch.file("faulty.json");
  std::ofstream(file) << text;
  const Answer answer = plan({"--check", file});
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.output, HasSubstr("RecordMissing"));
  const auto answers = scratch.file("answers.json");
  EXPECT_EQ(plan({"--check", file, "--json", answers}).status, 1);
  EXPECT_EQ(Json::parse(read_file(answers))["check"]["faults"][0]["fault"], "RecordMissing");
  EXPECT_THAT(answer.output, HasSubstr("faults"));
}

TEST(Plan, SavedPlansAreCheckedAndCompared) {
  const ScratchDirectory scratch;
  const auto joint = scratch.file("joint.json");
  ASSERT_EQ(plan(small({"--save", joint})).status, 0);
  EXPECT_EQ(std::filesystem::status(joint).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(plan({"--check", joint}).status, 0);
  const Answer same = plan(small({"--compare", joint}));
  EXPECT_EQ(same.status, 0);
  EXPECT_THAT(same.output, HasSubstr("every record takes the same rail in the same window"));
  const Answer other = plan(small({"--path", "native", "--compare", joint}));
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.output, HasSubstr("the paths differ"));
  EXPECT_THAT(other.output, HasSubstr("3 slices differ"));
  EXPECT_THAT(other.output, Not(HasSubstr("the windows differ")));
  EXPECT_EQ(plan({"--check", joint, "--compare", joint}).status, 0);
}

TEST(Plan, ARecordsOwnerIsNamed) {
  // Home rail 0 of node 0 has rank 0 alone.
  const Answer answer = plan(small({"--explain", "0,1,0,0"}));
  EXPECT_EQ(answer.status, 0) << answer.errors;
  EXPECT_THAT(answer.output, HasSubstr("token of  rank 0\n"));
}

TEST(Plan, RowsThatStayInTheirNodeAreCounted) {
  const Json summary = json_of({"--nodes", "2", "--ranks-per-node", "2", "--rails", "2",
                                "--routing", "trace", "--max-tokens", "50"});
  const double share = summary["workload"]["intra_node_share"];
  // With 6 of 64 experts a token almost surely has one on each of two nodes.
  EXPECT_NEAR(share, 0.5, 0.02);
}

// DESIGN 5.6, for the recorded trace: rail skew 2.66 sorted, times the windows' incast.
TEST(Plan, NativeOverJointOnEsftIntent) {
  const char* folder = std::getenv("RAILWAVE_DATA");
  if (folder == nullptr || *folder == '\0') {
    GTEST_SKIP() << "set RAILWAVE_DATA to the folder of the recorded traces";
  }
  const Json summary =
      json_of({"--trace", std::string(folder) + "/esft_dsv2lite/intent_L26_T8222_K6.u8",
               "--experts", "64", "--payload-mib", "0", "--paths", "all"});
  std::map<std::string, double> ratio;
  for (const Json& schedule : summary["schedules"]) {
    for (const Json& path : schedule["paths"]) {
      if (path["name"] == "joint") ratio[schedule["name"]] = path["native_over_path"];
    }
  }
  EXPECT_NEAR(ratio["ring"], 2.66, 0.01);
  EXPECT_NEAR(ratio["moderate"], 4.43, 0.01);
  EXPECT_NEAR(ratio["extreme"], 7.08, 0.01);
}

}  // namespace
}  // namespace railwave::cli
