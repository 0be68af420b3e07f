// Cost tables come back as they went, and malformed ones are refused with the place.
#include "select/cost_table_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "tables.hpp"

namespace railwave::select {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

CostTable rich() {
  CostTable table = empty_table();
  table.unit = PayloadUnit::Byte;
  table.where = "a cluster \"of ours\"";
  table.how = "two\nlines";
  table.anchors = {anchor("7340032", "1.50", "1", Path::RailOnly),
                   anchor("14680064.25", "1", "3.000001", Path::Native)};
  table.anchors[0].times = {{Path::Joint, 10, 0.1, 0.2, 1.0 / 3}, {Path::RailOnly, 1, 0, 0, 0}};
  table.anchors[1].note = "noted";
  table.rejected = {{{decimal("1"), decimal("1"), decimal("1")},
                     Path::PermutationOnly,
                     "p90/p10 of joint is 1.31",
                     {{Path::Joint, 12, 1e-9, 2e-3, 3e300}}}};
  return table;
}

Json rich_json() { return Json::parse(to_json(rich()).value()); }

Error refusal(const std::string& text) {
  const auto read = parse_cost_table(text, "t.json");
  EXPECT_FALSE(read) << text;
  return read ? Error{} : read.error();
}

TEST(CostTableFile, ComesBackAsItWent) {
  const std::string text = to_json(rich()).value();
  const auto read = parse_cost_table(text, "t.json");
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(*read, rich());
  EXPECT_EQ(to_json(*read).value(), text);
}

RC_GTEST_PROP(CostTableFileProperties, TimesComeBackToTheBit, (double a, double b, double c)) {
  RC_PRE(std::isfinite(a) && std::isfinite(b) && std::isfinite(c));
  std::array<double, 3> sorted{std::abs(a), std::abs(b), std::abs(c)};
  std::sort(sorted.begin(), sorted.end());
  CostTable table = rich();
  table.anchors[0].times = {{Path::Joint, 1, sorted[0], sorted[1], sorted[2]}};
  RC_ASSERT(parse_cost_table(to_json(table).value(), "t").value() == table);
}

TEST(CostTableFile, TheWriterRefusesWhatTheReaderWould) {
  CostTable table = rich();
  table.scales.payload_factor = decimal("0");
  EXPECT_EQ(to_json(table).error().field, "/scales/payload_factor");
  table = rich();
  table.where = "\xff";
  EXPECT_EQ(to_json(table).error().code, ErrorCode::InvalidArgument);
}

TEST(CostTableFile, SyntaxErrorsNameLineAndColumn) {
  struct Case {
    const char* text;
    const char* start;
  };
  for (const auto& [text, start] :
       {Case{"", "t.json:1:1: not JSON: "}, Case{"{\n  \"schema\": \n}", "t.json:3:1: not JSON: "},
        Case{"{} x", "t.json:1:4: not JSON: "}, Case{"{\"a\": \"\xff\"}", "t.json:1:8: not JSON: "},
        Case{"[1e999]", "t.json:1:6: not JSON: "}}) {
    const Error error = refusal(text);
    EXPECT_EQ(error.code, ErrorCode::InvalidArgument);
    EXPECT_THAT(error.message, ::testing::StartsWith(start)) << text;
  }
}

TEST(CostTableFile, AKeyMayNotComeTwice) {
  EXPECT_EQ(refusal("{\"schema\": 1, \"schema\": 2}").message,
            "t.json:1:22: the key \"schema\" comes twice in an object");
}

TEST(CostTableFile, OnlyPathsThatAreChosenFromAreKnown) {
  const std::string text = rich_json().dump();
  for (const Path path : kBaselinePaths) {
    for (const auto& [from, place] :
         {std::pair{"\"path\":\"rail_only\"", "/anchors/0/path"},
          std::pair{"\"candidate\":\"permutation_only\"", "/rejected/0/candidate"},
          std::pair{"{\"joint\":", "/anchors/0/times/"}}) {
      std::string wrong = text;
      const std::string old(from);
      const auto quote = old.rfind('"', old.size() - 3);  // of the path's name
      const auto end = old.find('"', quote + 1);
      const std::string put =
          old.substr(0, quote + 1) + std::string(to_string(path)) + old.substr(end);
      ASSERT_NE(wrong.find(old), std::string::npos) << old;
      wrong.replace(wrong.find(old), old.size(), put);
      EXPECT_THAT(refusal(wrong).message, HasSubstr(place)) << put;
    }
  }
}

TEST(CostTableFile, EveryKeyIsRequiredAndNoOtherKnown) {
  // An absent key, wherever it stands, and a key too much.
  const auto walk = [](const auto& self, Json& root, const Json::json_pointer& at) -> void {
    const Json here = root[at];
    if (here.is_array()) {
      for (std::size_t i = 0; i < here.size(); ++i) self(self, root, at / i);
      return;
    }
    if (!here.is_object()) return;
    root[at]["unheard of"] = 1;
    EXPECT_THAT(refusal(root.dump()).message,
                at.back() == "times" ? HasSubstr("/unheard of: ")
                                     : HasSubstr("the key \"unheard of\" is not known; expected "));
    root[at] = here;
    for (const auto& [key, value] : here.items()) {
      const bool optional = key == "times" || key == "note" || at.back() == "times";
      root[at].erase(key);
      const auto read = parse_cost_table(root.dump(), "t.json");
      EXPECT_EQ(read.has_value(), optional) << at.to_string() << " without " << key;
      if (!read) {
        const std::string place = at.empty() ? "/" : at.to_string();
        EXPECT_EQ(read.error().message,
                  "t.json: " + place + ": the key \"" + key + "\" is missing");
        EXPECT_EQ(read.error().field, place);
      }
      root[at] = here;
      self(self, root, at / key);
    }
  };
  Json root = rich_json();
  // A JSON pointer to the root has no last step.
  const Json whole = root;
  for (const auto& [key, value] : whole.items()) {
    root.erase(key);
    EXPECT_EQ(refusal(root.dump()).message, "t.json: /: the key \"" + key + "\" is missing");
    root = whole;
    walk(walk, root, Json::json_pointer("/" + key));
    root = whole;
  }
}

TEST(CostTableFile, EveryValueHasOneType) {
  // A value of every other type in the place of each one; none may be taken for the right one.
  const Json whole = rich_json();
  const Json flat = whole.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    for (const Json& wrong : {Json(nullptr), Json(true), Json(-1), Json(1.5), Json("x"),
                              Json::array({1}), Json::object()}) {
      if (wrong.type() == value.type()) continue;
      const bool times = pointer.find("/times/") != std::string::npos;
      if (times && wrong.is_number()) continue;  // order and range are check()'s
      Json root = whole;
      root[Json::json_pointer(pointer)] = wrong;
      const bool text_for_text = value.is_string() && wrong.is_string();
      if (text_for_text) continue;
      const Error error = refusal(root.dump());
      EXPECT_THAT(error.message, HasSubstr(pointer + ": expected ")) << wrong.dump();
      EXPECT_EQ(error.field, pointer);
    }
  }
}

TEST(CostTableFile, SaysWhatWasExpectedAndWhatWasThere) {
  struct Case {
    const char* pointer;
    Json value;
    const char* message;
  };
  for (const auto& [pointer, value, message] :
       {Case{"/anchors/0/rail_skew", 1.5,
             "expected a decimal in quotes such as \"1.25\", at most 12 digits before and 6 after "
             "the point, not 1.5"},
        Case{"/anchors/0/rail_skew", "1,5",
             "expected a decimal in quotes such as \"1.25\", at most 12 digits before and 6 after "
             "the point, not \"1,5\""},
        Case{"/anchors/1/path", "direct",
             "expected native, rail_only, permutation_only or joint, not \"direct\""},
        Case{"/cluster/rails", 0, "expected an integer of 1 to 65536, not 0"},
        Case{"/cluster/rails", 18446744073709551615U,
             "expected an integer of 1 to 65536, not 18446744073709551615"},
        Case{"/cluster/ranks_per_node/2", "8", "expected an integer of 1 to 2147483647, not \"8\""},
        Case{"/units/payload", "mb", "expected \"MiB\" or \"B\", not \"mb\""},
        Case{"/units/time", "ms", "expected \"s\", not \"ms\""},
        Case{"/measured", Json::array(), "expected an object, not an array"},
        Case{"/anchors/1/rail_skew", "0.5", "expected 1 to 1000000, not 0.5"}}) {
    Json root = rich_json();
    root[Json::json_pointer(pointer)] = value;
    const Error error = refusal(root.dump());
    EXPECT_EQ(error.message, std::string("t.json: ") + pointer + ": " + message);
    EXPECT_EQ(error.field, pointer);
  }
}

TEST(CostTableFile, AnotherVersionIsUnsupported) {
  Json root = rich_json();
  root["schema"] = "railwave.cost_table/2";
  root["from the future"] = 1;
  const Error error = refusal(root.dump());
  EXPECT_EQ(error.code, ErrorCode::Unsupported);
  EXPECT_EQ(error.message,
            "t.json: /schema: expected \"railwave.cost_table/1\", not \"railwave.cost_table/2\"");
  root["schema"] = "";
  EXPECT_EQ(refusal(root.dump()).code, ErrorCode::Unsupported);
}

TEST(CostTableFile, HostileTextsCostLittle) {
  EXPECT_THAT(refusal(std::string(kMostTableBytes + 1, ' ')).message, HasSubstr("at most"));
  EXPECT_THAT(refusal(std::string(1'000'000, '[')).message,
              HasSubstr("t.json:1:9: expected at most 8 levels"));
  std::string flat = "[0";
  for (int i = 0; i < 2'000'000; ++i) flat += ",0";
  EXPECT_THAT(refusal(flat + "]").message,
              HasSubstr("t.json:1:2080000: expected at most 1040000 values"));
  // Neither do many objects in one array, nor many keys in one object.
  std::string objects = "[{}";
  for (int i = 0; i < 1'000'000; ++i) objects += ",{}";
  EXPECT_THAT(refusal(objects + "]").message, HasSubstr("t.json: /: expected an object"));
  std::string keys = "{";
  for (int i = 0; i < 200'000; ++i) keys += "\"k" + std::to_string(i) + "\":{},";
  EXPECT_THAT(refusal(keys + "\"k\":0}").message, HasSubstr("expected at most 100 keys"));
  // A text of control characters does not reach a terminal as it is.
  EXPECT_THAT(refusal("{\"schema\": \"\\u001b[2J\"}").message, HasSubstr("\\x1b[2J"));
  Json root = rich_json();
  root["\x1b[2J"] = 1;
  EXPECT_THAT(refusal(root.dump()).message, HasSubstr("\\x1b[2J"));
}

TEST(CostTableFile, FilesThatCanNotBeReadSaySo) {
  const auto folder = std::filesystem::temp_directory_path();
  for (const std::string& path :
       {(folder / "railwave-is-not-here.json").string(), folder.string()}) {
    const auto read = read_cost_table(path);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::InvalidArgument);
    EXPECT_THAT(read.error().message, ::testing::StartsWith(path));
  }
}

}  // namespace
}  // namespace railwave::select
