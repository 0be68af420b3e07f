#include "report/replay_json.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "report/sample_result.hpp"

namespace railwave::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ReplayJsonTest, ComesBackAsItWent) {
  auto full = full_result();
  auto bare = bare_result();
  ASSERT_TRUE(summarise(full));
  ASSERT_TRUE(summarise(bare));
  full.paths[0].p50_s = 0.1 + 0.2;  // no decimal of few digits
  for (const ReplayResult& r : {full, bare}) {
    const auto back = from_json(*to_json(r));
    ASSERT_TRUE(back) << to_string(back.error());
    ASSERT_EQ(back->size(), 1U);
    EXPECT_EQ(back->front(), r);
  }
  const std::vector<ReplayResult> both{full, bare};
  EXPECT_EQ(*from_json(*to_json(both)), both);
  EXPECT_EQ(*from_json(*to_json(std::span<const ReplayResult>{})), std::vector<ReplayResult>{});
}

TEST(ReplayJsonTest, HasTheFieldsOfTheSchema) {
  auto r = full_result();
  ASSERT_TRUE(summarise(r));
  const std::string text = *to_json(r);
  EXPECT_TRUE(text.starts_with("{\n  \"schema\": \"railwave.replay/1\",\n  \"cluster\""));
  for (const char* field : {"cluster",
                            "environment",
                            "host",
                            "cores",
                            "kernel",
                            "congestion_control",
                            "version",
                            "seed",
                            "gate",
                            "workload",
                            "paths",
                            "name",
                            "p50_s",
                            "p95_s",
                            "p99_s",
                            "speedup_over_native",
                            "start",
                            "bound_s",
                            "path_bound_s",
                            "ratio_to_bound",
                            "ratio_to_path_bound",
                            "wrong",
                            "bits",
                            "rail_share_tx",
                            "rail_share_rx",
                            "max_fan_in",
                            "overlap_bytes",
                            "breakdown",
                            "plan_s",
                            "pack_s",
                            "relocate_s",
                            "wire_s",
                            "reorder_s",
                            "samples"}) {
    EXPECT_THAT(text, HasSubstr('"' + std::string(field) + "\":")) << field;
  }
}

TEST(ReplayJsonTest, AbsentFieldsAreLeftOut) {
  const std::string text = *to_json(bare_result());
  for (const char* field : {"p95_s", "start", "bits", "gate", "host", "mtu", "breakdown", "null"}) {
    EXPECT_THAT(text, Not(HasSubstr(field))) << field;
  }
}

TEST(ReplayJsonTest, NumbersThatAreNotFiniteAreRefusedByName) {
  auto r = full_result();
  r.paths[1].bound_s = std::nan("");
  const auto text = to_json(r);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().field, "paths[1].bound_s");
  r = full_result();
  r.paths[0].samples[1][7] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(to_json(r).error().field, "paths[0].samples[1][7]");
}

TEST(ReplayJsonTest, RefusesByFieldWhatItDoesNotKnow) {
  const std::string good = *to_json(full_result());
  ASSERT_TRUE(from_json(good));
  const std::vector<std::tuple<std::string, std::string, std::string>> cases{
      {"\"nodes\": 4,", "", "cluster.nodes"},
      {"\"nodes\": 4", "\"nodes\": \"4\"", "cluster.nodes"},
      {"\"nodes\": 4", "\"nodes\": 4.5", "cluster.nodes"},
      {"\"nodes\": 4", "\"nodes\": 4000000000", "cluster.nodes"},
      {"\"nodes\": 4", "\"nodes\": null", "cluster.nodes"},
      {"\"nodes\": 4", "\"nodes\": 4, \"color\": 1", "cluster.color"},
      {"\"nodes\": 4", "\"nodes\": 4, \"nodes\": 4", "json"},
      {"\"nodes\": 4", "\"nodes\": 4, \"\": 4", "cluster.''"},
      {"\"seed\": 18446744073709551615", "\"seed\": -1", "environment.seed"},
      {"\"passed\": true", "\"passed\": 1", "environment.gate.passed"},
      {"\"wrong\": 0", "\"wrong\": 9223372036854775808", "paths[0].wrong"},
      {"\"name\": \"native\"", "\"name\": 7", "paths[0].name"},
      {"0.75", "\"fast\"", "paths[0].samples[0][0]"},
      {"\"rail_share_tx\": [", "\"rail_share_tx\": 1, \"x\": [", "paths[0].rail_share_tx"},
      {"railwave.replay/1", "railwave.replay/2", "schema"},
      {"\"schema\"", "\"scheme\"", "schema"}};
  for (const auto& [from, to, field] : cases) {
    const auto back = from_json(replaced(good, from, to));
    ASSERT_FALSE(back) << from << " -> " << to;
    EXPECT_EQ(back.error().field, field) << to_string(back.error());
  }
}

TEST(ReplayJsonTest, TextThatIsNoJsonIsRefusedWithItsPlace) {
  EXPECT_THAT(from_json("{\"schema\": }").error().message, HasSubstr("line 1, column 12"));
  EXPECT_EQ(from_json("").error().field, "json");
  EXPECT_EQ(from_json("{\"schema\": 1e999}").error().field, "json");
  EXPECT_EQ(from_json("7").error().field, "result");
  EXPECT_EQ(from_json("[7]").error().field, "result");
}

TEST(ReplayJsonTest, DeeplyNestedTextDoesNotOverflowTheStack) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_FALSE(from_json(deep));
  EXPECT_THAT(from_json("{\"schema\": " + deep + "}").error().message,
              HasSubstr("line 1, column 43: expected at most 32 levels"));
}

TEST(ReplayJsonTest, DamagedTextIsReadOrRefusedButNeverCrashes) {
  const std::string good = *to_json(bare_result());
  EXPECT_TRUE(rc::check([&] {
    std::string text = good;
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
      text[*rc::gen::inRange<std::size_t>(0, good.size())] = *rc::gen::arbitrary<char>();
    }
    const auto back = from_json(text);
    RC_ASSERT(back.has_value() || !back.error().field.empty());
  }));
}

TEST(ReplayJsonTest, ANameThatIsNoUtf8IsStillWritten) {
  auto r = bare_result();
  r.workload.trace = "\xff\xfe";
  const auto text = to_json(r);
  ASSERT_TRUE(text);
  EXPECT_TRUE(from_json(*text));
}

}  // namespace
}  // namespace railwave::report
