#include "report/plan_json.hpp"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/plan_compare.hpp"
#include "plan/random_cluster.hpp"

namespace railwave::report {
namespace {

using testing::HasSubstr;

/// The page's JSON block.
std::string documented() {
  std::ifstream page(RAILWAVE_FORMAT_PAGES "/plan.md");
  std::stringstream text;
  text << page.rdbuf();
  const std::string all = text.str();
  const auto first = all.find("```json\n") + 8;
  return all.substr(first, all.find("```", first) - first);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// DESIGN 5.1: C = [10, 20, 30, 40], rails 0, 1, 3 eligible, start 0.
plan::RecordedPlan worked_example() {
  Topology::Options options{
      {4, 4}, 4, {}, {{true, true, true, true}, {true, true, false, true}}, {}};
  RailCounts counts(2, 4);
  for (int r = 0; r < 4; ++r) counts.set(NodeId(0), RailId(r), NodeId(1), 10 * (r + 1));
  return record(*plan::DispatchPlan::create(*Topology::create(options), counts, {Path::Joint, {}}));
}

TEST(PlanJson, TheDocumentedExampleIsTheFileOfItsPlan) {
  EXPECT_EQ(plan_to_json(worked_example()), documented());
  const auto read = plan_from_json(documented());
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(compare(*read, worked_example()), plan::PlanDifference{});
  EXPECT_EQ(moved_records(read->slices.front()), 37);
}

RC_GTEST_PROP(PlanJson, EveryPlanComesBackAsItWent, ()) {
  const auto cluster = *reference::any_cluster({4, 5, 20, true});
  const auto path =
      *rc::gen::oneOf(rc::gen::elementOf(kAllPaths), rc::gen::elementOf(kBaselinePaths));
  const auto made =
      plan::DispatchPlan::create(topology_of(cluster), counts_of(cluster), {path, {}});
  RC_ASSERT(made.has_value());
  const plan::RecordedPlan plan = record(*made);
  const std::string text = plan_to_json(plan);
  const auto read = plan_from_json(text);
  RC_ASSERT(read.has_value());
  RC_ASSERT(compare(plan, *read) == plan::PlanDifference{});
  RC_ASSERT(read->windows == plan.windows);
  RC_ASSERT(read->slices == plan.slices);
  RC_ASSERT(plan_to_json(*read) == text);
}

TEST(PlanJson, WeightsComeBack) {
  const Topology::Options options{{1, 1}, 2, {}, {}, {}, {{50, 25}, {50, 50}}};
  RailCounts counts(2, 2);
  counts.set(NodeId(0), RailId(1), NodeId(1), 6);
  const auto plan =
      record(*plan::DispatchPlan::create(*Topology::create(options), counts, {Path::Joint, {}}));
  const std::string text = plan_to_json(plan);
  EXPECT_THAT(text, HasSubstr(R"("weights":[[50,25],[50,50]])"));
  EXPECT_THAT(text, HasSubstr(R"("rails":[4,2])"));
  const auto read = plan_from_json(text);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(compare(*read, plan), plan::PlanDifference{});
  EXPECT_EQ(plan_to_json(*read), text);
}

struct Fault {
  std::string from;
  std::string to;
  std::string expected;  ///< how the sentence begins
};

TEST(PlanJson, WhatIsOutOfRangeIsNamed) {
  const std::vector<Fault> faults{
      {R"("joint")", R"("fastest")", "path: 'fastest' is no path"},
      {R"("joint")", "7", "path: expected a string"},
      {R"("path": "joint",)", "", "path: is missing"},
      {R"("path")", R"("paths")", "path: is missing"},
      {R"("path": "joint",)", R"("path": "joint", "path": "joint",)",
       "line 3, column 25: the key \"path\" comes twice"},
      {R"({"rails":4)", R"({"colours":[],"rails":4)", "topology.colours: is not a field"},
      {R"("rails":4)", R"("rails":0)", "topology.rails: 0, expected 1 to"},
      {R"("rails":4)", R"("rails":2000000000)", "counts[0]: 4 entries, expected 2000000000"},
      {"[[0,1,2,3],[0,1,2,3]]", "[[0,1,2,3]]", "counts: 2 entries, expected 1"},
      {"[[0,1,2,3],[0,1,2,3]]", "[[0,1,2,3],[0,1,2,4]]", "topology.home_rail: node 1, local"},
      {"[[0,1,2,3],[0,1,2,3]]", "[[0,1,2,3],[]]", "topology.ranks_per_node: node 1 has 0"},
      {"[[],[2]]", "[[],[4]]", "topology.missing_rails[1]: 4, expected 0 to 3"},
      {"[[],[2]]", "[[],[0,1,2,3]]", "topology."},
      {R"("missing_rails":[[],[2]])", R"("weights":[[1,1,1,0],[1,1,1,1]])",
       "topology.weights: node 0, rail 3: weight 0"},
      {R"("missing_rails":[[],[2]])", R"("ingress":[[[0,1,2,3],[1,0,2,3]],[[0,1,2,3],[0,1,2,3]]])",
       "topology.ingress[1][0]: rail 0 arrives on 0, expected 1"},
      {"[[0,10],", "[[1,10],", "counts[0][0][0]: records of a node for itself"},
      {"[0,20]", "[0,-20]", "counts[0][1][1]: -20 is negative"},
      {"[0,20]", "[0,9223372036854775807]", "counts[0][1][1]: 9223372036854775807 is negative or"},
      {"[0,20]", "[0,9223372036854775808]", "counts[0][1][1]: expected an integer"},
      {"[0,20]", "[0,20,0]", "counts[0][1]: 3 entries, expected 2"},
      {"[[0,1]]\n", "[[0,2]]\n", "windows[0][0]: 2, expected 0 to 1"},
      {"[[0,1]]\n", "[[1,1]]\n", "windows[0][0]: a node and itself"},
      {"[[0,1]]\n", "[[0]]\n", "windows[0][0]: 1 entries, expected 2"},
      {"[[0,1]]\n", "", "slices[0].sends[0].window: 0, but the plan has no windows"},
      {R"("source":0)", R"("source":-1)", "slices[0]: -1, expected 0 to 1"},
      {R"("window":0)", R"("window":1)", "slices[0].sends[0].window: 1, expected 0 to 0"},
      {"[34,33,0,33]", "[34,33,33]", "slices[0].sends[0].rails: 3 entries, expected 4"},
      {"[34,33,0,33]", "[34,33,-1,33]", "slices[0].sends[0].rails: -1 is negative"},
      {R"([34,33,0,33]})", R"([34,33,0,33]},{"window":0,"rails":[0,0,0,0]})",
       "slices[0].sends[1].window: expected windows in ascending order"},
      {"[2,0,0,10,24]", "[4,0,0,10,24]", "slices[0].segments[2][0]: 4, expected 0 to 3"},
      {"[2,0,0,10,24]", "[2,-1,0,10,24]", "slices[0].segments[2][1]: -1"},
      {"[2,0,0,10,24]", "[2,0,-1,10,24]", "slices[0].segments[2][2]: -1"},
      {"[2,0,0,10,24]", "[2,0,0,-1,24]", "slices[0].segments[2][3]: -1"},
      {"[2,0,0,10,24]", "[2,0,0,10,0]", "slices[0].segments[2][4]: 0, expected 1 to"},
      {"[2,0,0,10,24]", "[2,0,0,10,9223372036854775807]", "slices[0].segments[2][4]: 9"},
      {"[2,0,0,10,24]", "[2,0,0,10,9223372036854775797]",
       "slices[0].segments[2][4]: takes the sum"},
      {"[2,0,0,10,24]", "[2,0,0,10]", "slices[0].segments[2]: 4 entries, expected 5"},
      {"[2,0,0,10,24],[2,24,1,20,6]", "[2,24,1,20,6],[2,0,0,10,24]",
       "slices[0].segments[3]: expected segments in ascending order"}};
  for (const auto& [from, to, expected] : faults) {
    const auto plan = plan_from_json(replaced(documented(), from, to));
    ASSERT_FALSE(plan) << expected;
    EXPECT_EQ(plan.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(plan.error().message.substr(0, expected.size()), expected);
  }
}

TEST(PlanJson, WhatIsNoPlanIsRefused) {
  EXPECT_THAT(plan_from_json("{").error().message, HasSubstr("line 1, column 2: not JSON"));
  EXPECT_THAT(plan_from_json("[]").error().message, HasSubstr("plan: expected an object"));
  EXPECT_EQ(plan_from_json(R"({"schema": "railwave.plan/2"})").error().code,
            ErrorCode::Unsupported);
  const std::string slice = documented().substr(documented().find("{\"source\""));
  const std::string one = slice.substr(0, slice.find('\n'));
  EXPECT_THAT(plan_from_json(replaced(documented(), one, one + "," + one)).error().message,
              HasSubstr("slices[1]: expected slices in ascending order"));
}

TEST(PlanJson, ObjectsOfVeryManyFieldsAreRefusedQuickly) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"k" + std::to_string(i) + "\":{},";
  EXPECT_THAT(plan_from_json(text + "\"k\":0}").error().message,
              HasSubstr("expected at most 100 keys"));
}

TEST(PlanJson, HostileTextsCostLittle) {
  std::string objects = "[{}";
  for (int i = 0; i < 1'000'000; ++i) objects += ",{}";
  EXPECT_THAT(plan_from_json(objects + "]").error().message, HasSubstr("plan: expected an object"));
  EXPECT_THAT(plan_from_json(std::string(1'000'000, '[')).error().message,
              HasSubstr("line 1, column 33: expected at most 32 levels"));
  // As many rails as nobody has, and no node.
  EXPECT_THAT(plan_from_json(R"({"schema": "railwave.plan/1", "path": "joint", "counts": [],
      "topology": {"rails": 2147483647, "home_rail": [], "missing_rails": []},
      "windows": [], "slices": []})")
                  .error()
                  .message,
              HasSubstr("topology.home_rail: no nodes"));
  // What a terminal would obey is not shown as it is.
  EXPECT_THAT(plan_from_json(replaced(documented(), R"("path": "joint",)",
                                      R"("path": "joint", "\u001b[2J": 1,)"))
                  .error()
                  .message,
              HasSubstr("\\x1b[2J: is not a field"));
}

TEST(PlanJson, FilesAreNamed) {
  EXPECT_THAT(read_plan("no/such/plan.json").error().message,
              HasSubstr("no/such/plan.json: there is no such file"));
  EXPECT_THAT(read_plan(".").error().message, HasSubstr("is not a regular file"));
  EXPECT_THAT(read_plan(RAILWAVE_FORMAT_PAGES "/plan.md").error().message,
              HasSubstr("plan.md: line 1, column 1: not JSON"));
}

}  // namespace
}  // namespace railwave::report
