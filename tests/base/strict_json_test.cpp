// JSON texts as they are, and what is refused, where and why.
#include "base/strict_json.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railwave {
namespace {

constexpr JsonLimits kLimits{1000, 10, 4};

/// "LINE:COLUMN: SENTENCE", or nothing when the text is taken.
std::string refusal(const std::string& text, const JsonLimits& limits = kLimits) {
  const auto json = parse_strict_json(text, limits);
  if (json) return {};
  return std::to_string(json.error().line) + ":" + std::to_string(json.error().column) + ": " +
         json.error().sentence;
}

TEST(StrictJson, ReadsWhatIsThere) {
  const std::vector<std::string> texts{
      "null",      "true",
      "-7",        "18446744073709551615",
      "0.5",       "\"a\\u0000b\"",
      "{}",        "[]",
      "[[],[{}]]", R"({"z":1,"a":[1,"two",{"b":null}],"":{"c":[[false]]}})"};
  for (const std::string& text : texts) {
    const auto json = parse_strict_json(text, kLimits);
    ASSERT_TRUE(json) << text << ": " << json.error().sentence;
    EXPECT_EQ(json->dump(), text) << "keys stay in their order";
  }
  EXPECT_EQ(parse_strict_json(" [ 1 ,\n2 ] ", kLimits)->dump(), "[1,2]");
}

TEST(StrictJson, SaysWhereItIsNotJson) {
  EXPECT_THAT(refusal(""), testing::StartsWith("1:1: not JSON: "));
  EXPECT_THAT(refusal("{\n  \"a\": \n}"), testing::StartsWith("3:1: not JSON: "));
  EXPECT_THAT(refusal("{} x"), testing::StartsWith("1:4: not JSON: "));
  EXPECT_THAT(refusal("[1,]"), testing::StartsWith("1:4: not JSON: "));
  EXPECT_THAT(refusal("{\"a\": \"\xff\"}"), testing::StartsWith("1:8: not JSON: "));
  EXPECT_THAT(refusal("[1e999]"), testing::StartsWith("1:6: not JSON: number overflow parsing"));
  EXPECT_THAT(refusal("[NaN]"), testing::StartsWith("1:2: not JSON: "));
}

TEST(StrictJson, AMessageIsPrintableAndShort) {
  EXPECT_LT(refusal("\"" + std::string(100'000, 'x')).size(), 300U);
  const std::string message = refusal("[\"\x1b[2J");
  for (const char c : message) EXPECT_TRUE(c >= ' ' && c <= '~') << message;
}

TEST(StrictJson, AKeyMayNotComeTwice) {
  EXPECT_EQ(refusal(R"({"a":1,"b":{"a":2},"a":3})"),
            "1:22: the key \"a\" comes twice in an object");
  EXPECT_EQ(refusal(R"({"a":1,"\u0061":3})"), "1:15: the key \"a\" comes twice in an object");
  EXPECT_EQ(refusal(R"([{"a":1},{"a":1}])"), "");
}

TEST(StrictJson, LimitsAreExact) {
  const JsonLimits limits{4, 2, 2};
  EXPECT_EQ(refusal("[1,2,3]", limits), "");
  EXPECT_EQ(refusal("[1,2,3,4]", limits), "1:8: expected at most 4 values");
  EXPECT_EQ(refusal(R"({"a":1,"b":2})", {5, 2, 2}), "");
  EXPECT_EQ(refusal(R"({"a":1,"b":2})", limits), "1:12: expected at most 4 values");
  EXPECT_EQ(refusal(R"({"a":1,"b":2,"c":3})", {9, 2, 2}),
            "1:16: expected at most 2 keys in an object");
  EXPECT_EQ(refusal("[[1]]", limits), "");
  EXPECT_EQ(refusal("[[[", limits), "1:3: expected at most 2 levels inside each other");
  EXPECT_EQ(refusal(R"([{"a":[]}])", {9, 2, 2}),
            "1:7: expected at most 2 levels inside each other");
}

TEST(Shown, IsPrintableAndShort) {
  EXPECT_EQ(shown("a b~"), "a b~");
  EXPECT_EQ(shown("\x1b[2J\xc3\xa9"), "\\x1b[2J\\xc3\\xa9");
  EXPECT_EQ(shown("abcdef", 3), "abc...");
  EXPECT_EQ(shown("abc", 3), "abc");
}

}  // namespace
}  // namespace railwave
