// Numbers on the command line: read strictly by every verb.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/verb_output.hpp"

namespace railwave::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

struct Wrong {
  Words words;  ///< the last two are the option and its value
  std::string range;
};

class WrongNumber : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongNumber, NamesOptionValueAndRange) {
  const Words& words = GetParam().words;
  const auto done = run_verb(words);
  EXPECT_EQ(done.status, 2);
  EXPECT_EQ(done.output, "");
  EXPECT_THAT(done.errors,
              AllOf(HasSubstr(words[words.size() - 2] + ": '" + words.back() + "' is not a "),
                    HasSubstr("number from " + GetParam().range + "\n")));
  EXPECT_LT(done.errors.size(), 200U);
}

const std::string kMost = "2^63 - 1";
const std::string kTooLong = "99999999999999999999";

INSTANTIATE_TEST_SUITE_P(
    Verbs, WrongNumber,
    ::testing::Values(Wrong{{"mode", "--tokens", kTooLong}, "0 to " + kMost},
                      Wrong{{"mode", "--experts", kTooLong}, "1 to " + kMost},
                      Wrong{{"mode", "--nodes", "010"}, "1 to 2^31 - 1"},
                      Wrong{{"mode", "--nodes", "0x10"}, "1 to 2^31 - 1"},
                      Wrong{{"mode", "--nodes", "+4"}, "1 to 2^31 - 1"},
                      Wrong{{"mode", "--nodes", "4.0"}, "1 to 2^31 - 1"},
                      Wrong{{"mode", "--nodes", "4 "}, "1 to 2^31 - 1"},
                      Wrong{{"mode", "--nodes", "1'000"}, "1 to 2^31 - 1"},
                      Wrong{{"plan", "--seed", "18446744073709551616"}, "0 to 2^64 - 1"},
                      Wrong{{"plan", "--seed", "-1"}, "0 to 2^64 - 1"},
                      Wrong{{"plan", "--max-tokens", kTooLong}, "0 to " + kMost},
                      Wrong{{"plan", "--routing", "trace", "--max-tokens", "-3"}, "0 to " + kMost},
                      Wrong{{"plan", "--payload-mib", "nan"}, "0 to 8589934592"},
                      Wrong{{"plan", "--payload-mib", "inf"}, "0 to 8589934592"},
                      Wrong{{"plan", "--payload-mib", "1e400"}, "0 to 8589934592"},
                      Wrong{{"plan", "--payload-mib", "7mib"}, "0 to 8589934592"},
                      Wrong{{"plan", "--payload-mib", "-1"}, "0 to 8589934592"},
                      Wrong{{"plan", "--experts", "-5"}, "0 to 65535"},
                      Wrong{{"plan", "--layer", "-1"}, "0 to 1048575"},
                      Wrong{{"plan", "--explain", "-1"}, "0 to " + kMost},
                      Wrong{{"describe", "--experts", "-5"}, "0 to 65535"},
                      Wrong{{"describe", "--layers", "-1"}, "0 to 1048576"},
                      Wrong{{"describe", "--seed", "1e3"}, "0 to 2^64 - 1"},
                      Wrong{{"describe", "--hidden", "0"}, "1 to " + kMost},
                      Wrong{{"select", "--trace", "t.npy", "--payload-mib", "nan"},
                            "0 to 8589934592"},
                      Wrong{{"select", "--layers", "-1"}, "0 to 1048576"},
                      Wrong{{"select", "--rails", "65"}, "1 to 64"},
                      Wrong{{"select", "--rejected", "0x3"}, "0 to 1000000"},
                      Wrong{{"workspace", "--tokens", "0"}, "1 to " + kMost},
                      Wrong{{"workspace", "--layers", "0"}, "1 to 1048576"},
                      Wrong{{"workspace", "--slots", "007"}, "1 to 1048576"},
                      Wrong{{"replay", "--repeats", "0"}, "1 to 1000000"},
                      Wrong{{"replay", "--timeout", "nan"}, "0.001 to 10000000"},
                      Wrong{{"replay", "--slots", "-1"}, "0 to 1048576"},
                      Wrong{{"bench", "dispatch", "--iters", "0"}, "1 to 1000000"},
                      Wrong{{"bench", "dispatch", "--check", "2"}, "0 to 1"},
                      Wrong{{"bench", "p2p", "--factor", "1"}, "2 to 1048576"},
                      Wrong{{"bench", "incast", "--receiver", "-1"}, "0 to 2047"},
                      Wrong{{"emulate", "--mtu", "9k"}, "576 to 65000"},
                      Wrong{{"emulate", "--timeout", "-1"}, "0.001 to 10000000"}));

TEST(Numbers, ListsAreReadNumberByNumber) {
  const auto done = run_verb({"workspace", "--replicas", "1,02"});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.errors, HasSubstr("--replicas: '02' is not a whole number from 1 to 2^63 - 1"));
  EXPECT_EQ(verb_json({"workspace", "--replicas", "3,5"})["replicated_experts"]["sizes"].size(), 2);
}

TEST(Numbers, TheLargestSeedIsASeed) {
  EXPECT_EQ(run_verb({"plan", "--seed", "18446744073709551615"}).status, 0);
}

TEST(Numbers, LongTextIsNotRepeated) {
  const auto done = run_verb({"mode", "--tokens", std::string(3000, '9')});
  EXPECT_EQ(done.status, 2);
  EXPECT_LT(done.errors.size(), 200U);
}

// One check of a row's bytes for all verbs.
TEST(Numbers, ARowBeyond64BitsIsRefused) {
  const std::string hidden = "6000000000000000000";
  for (const Words& words :
       {Words{"plan", "--routing", "trace", "--max-tokens", "10"}, Words{"plan", "--paths", "all"},
        Words{"describe"}, Words{"mode"}, Words{"workspace"}, Words{"bench", "dispatch"}}) {
    auto all = words;
    all.insert(all.end(), {"--hidden", hidden});
    const auto done = run_verb(all);
    EXPECT_EQ(done.status, 2) << words.front();
    EXPECT_THAT(done.errors, AllOf(HasSubstr("InvalidArgument{--hidden}: hidden is " + hidden),
                                   HasSubstr("below 2^63 bytes")))
        << words.front();
  }
}

TEST(Numbers, APayloadOfNoRowIsRefused) {
  const auto done = run_verb({"plan", "--hidden", "99999999999999"});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.errors, AllOf(HasSubstr("InvalidArgument{--payload-mib}: 0.5 MiB a rank"),
                                 HasSubstr("less than one row of 181.90 TiB")));
}

TEST(Numbers, BytesAreOnlyComputedForTheFormulaThatLooksAtThem) {
  const std::string hidden = "1000000000000000";
  const auto json = verb_json({"mode", "--formula", "draft", "--hidden", hidden});
  EXPECT_EQ(json["answers"].size(), 1U);
  EXPECT_FALSE(json["model"].contains("expert_bytes"));
  EXPECT_EQ(run_verb({"mode", "--hidden", hidden + "000"}).status, 2);
}

TEST(Numbers, RemoteNodesAreTakenExactly) {
  // As describe --json writes it; in millionths both ends would be the same number.
  const auto json = [](const char* remote) {
    return verb_json({"mode", "--nodes", "4", "--tokens", "4000000000000", "--remote-nodes",
                      remote})["answers"][0]["expert_centric_bytes"];
  };
  EXPECT_NE(json("2.507526710701121"), json("2.507527"));
  EXPECT_EQ(json("2.5"), json("5/2"));
  const auto wrong = run_verb({"mode", "--remote-nodes", "2.5075267107011211234"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("at most 18 digits"));
  const auto more = run_verb({"mode", "--remote-nodes", "3.0000000000000001"});
  EXPECT_EQ(more.status, 2);
  EXPECT_THAT(more.errors, HasSubstr("0 to 3"));
}

Words phase(const std::string& bytes, const std::string& rho, const std::string& kappa) {
  return {"select", "--bytes", bytes, "--rho", rho, "--kappa", kappa};
}

TEST(Numbers, FiguresOfDescribeArePhasesOfSelect) {
  const auto described = verb_json({"describe", "--windows", "extreme"})["sum"];
  const auto text = [&](const char* figure) { return described[figure].dump(); };
  const auto json =
      verb_json(phase(text("payload_bytes"), text("rail_skew"), text("receiver_concentration")));
  EXPECT_EQ(json["phases"][0]["rail_skew"]["value"], described["rail_skew"]);
  EXPECT_EQ(json["phases"][0]["payload_bytes"]["value"], described["payload_bytes"]);
  const auto exact = verb_json(phase("9016000.0", "1.0399006211180124", "1.02"));
  EXPECT_EQ(exact["phases"][0]["rail_skew"]["exact"], "2599751552795031/2500000000000000");
}

TEST(Numbers, WhatNoPhaseCanHaveIsRefused) {
  const auto expect = [](const Words& words, const char* sentence) {
    const auto done = run_verb(words);
    EXPECT_EQ(done.status, 2);
    EXPECT_THAT(done.errors, HasSubstr(sentence));
  };
  expect(phase("7mib", "1", "4.1"), "InvalidArgument{--kappa}: 4.1 can not be: expected 1 to 4");
  expect(phase("7mib", "32.1", "1"), "InvalidArgument{--rho}: 32.1 can not be: expected 1 to 32");
  expect(phase("7mib", "0.9", "1"), "expected 1 to 32");
  expect(phase("7mib", "1.0000000000000000001", "1"), "at most 18 digits");
  expect({"select", "--bytes", "7mib", "--rho", "1"}, "InvalidArgument{--kappa}: is missing");
  auto one = phase("7mib", "1", "1");
  one.insert(one.end(), {"--nodes", "1", "--force"});
  expect(one, "InvalidArgument{--bytes}: 7mib can not be: on a cluster of one node");
  EXPECT_EQ(run_verb(phase("7mib", "32", "4")).status, 0);
}

}  // namespace
}  // namespace railwave::cli
