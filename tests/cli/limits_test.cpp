// Sizes and files that no verb can work with: refused in time, not tried.
#include <chrono>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cli/verb_output.hpp"

namespace railwave::cli {
namespace {

using testbed::ScratchDirectory;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

struct Absurd {
  Words words;
  int status;
  std::string message;
};

class AbsurdSize : public ::testing::TestWithParam<Absurd> {};

TEST_P(AbsurdSize, IsRefused) {
  const auto done = run_verb(GetParam().words);
  EXPECT_EQ(done.status, GetParam().status);
  EXPECT_EQ(done.output, "");
  EXPECT_THAT(done.errors, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Verbs, AbsurdSize,
    ::testing::Values(
        Absurd{{"describe", "--nodes", "100000000"}, 2, "--nodes: '100000000'"},
        Absurd{{"describe", "--nodes", "20000", "--ranks-per-node", "1"}, 2, "from 1 to 2048"},
        Absurd{{"describe", "--ranks-per-node", "100000000", "--nodes", "2"}, 2, "from 1 to 1024"},
        Absurd{{"describe", "--rails", "100000000", "--nodes", "2"}, 2, "from 0 to 64"},
        Absurd{{"describe", "--ranks-per-node", "100"}, 2, "InvalidArgument{--rails}"},
        Absurd{{"describe", "--nodes", "250", "--ranks-per-node", "1024", "--rails", "8"},
               4,
               "ResourceExhausted{--nodes, need 1049618517280, have 1073741824}: the rows between "
               "256000 ranks on 250 nodes"},
        Absurd{{"workspace", "--nodes", "100000"}, 2, "from 1 to 2048"},
        Absurd{{"workspace", "--nodes", "2048", "--ranks-per-node", "1024"},
               2,
               "2048 nodes have 2097152 ranks in all, expected at most 1048576"},
        Absurd{{"select", "--nodes", "2147483647", "--force"}, 2, "from 1 to 2048"},
        Absurd{{"emulate", "--nodes", "2147483647", "--check"}, 2, "from 1 to 2048"}));

/// One layer of one expert with so many tokens.
std::string counts_file(const ScratchDirectory& scratch, const std::string& tokens) {
  const auto file = scratch.file("c.csv");
  std::ofstream(file) << "layer,e0\n0," << tokens << "\n";
  return file;
}

TEST(Limits, PlanAndSelectCountRowsWithoutNamingEachOfThem) {
  const ScratchDirectory scratch;
  const auto trace = counts_file(scratch, "1000000000000");
  const auto json = verb_json({"plan", "--trace", trace, "--payload-mib", "0"});
  EXPECT_EQ(json["records"], 4'000'000'000'000);
  EXPECT_EQ(json["workload"]["intra_node_share"], 0.0);
  const auto answer = verb_json({"select", "--trace", trace, "--payload-mib", "0"});
  EXPECT_EQ(answer["phases"][0]["payload_bytes"]["exact"], "1792000000000000/1");
  const auto scaled = verb_json({"plan", "--payload-mib", "100000000", "--hidden", "1"});
  EXPECT_EQ(scaled["records"], 1'677'721'600'000'000);
}

TEST(Limits, WhatLeaves64BitsIsAnErrorOfTheTrace) {
  const ScratchDirectory scratch;
  const auto done = run_verb(
      {"plan", "--trace", counts_file(scratch, "9000000000000000000"), "--payload-mib", "0"});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.errors, HasSubstr("leaves 64 bits"));
}

TEST(Limits, ExplainStillNamesTheOwnerOfARecord) {
  const ScratchDirectory scratch;
  const auto done = run_verb({"plan", "--trace", counts_file(scratch, "1000000000000"),
                              "--payload-mib", "0", "--explain", "1,2,0,333333333332"});
  EXPECT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.output, HasSubstr("token of  rank 8\n"));
}

TEST(Limits, LayersWithoutTokensAreFew) {
  const ScratchDirectory scratch;
  const auto file = scratch.file("x_L1048576_T0_K2.u8");
  std::ofstream{file};
  const auto done = run_verb({"describe", "--trace", file});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.errors, HasSubstr("1048576 layers without tokens: expected 1 to 4096"));
}

struct FileOption {
  Words words;
  std::string option;
};

class PipeForAFile : public ::testing::TestWithParam<FileOption> {};

TEST_P(PipeForAFile, IsNotOpened) {
  const ScratchDirectory scratch;
  const auto pipe = scratch.file("pipe.npy");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  auto words = GetParam().words;
  words.insert(words.end(), {GetParam().option, pipe});
  const auto done = run_verb(words, [] { ::alarm(10); });
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.errors, AllOf(HasSubstr("pipe.npy"), HasSubstr("regular file")));
}

INSTANTIATE_TEST_SUITE_P(
    Verbs, PipeForAFile,
    ::testing::Values(FileOption{{"select"}, "--table"}, FileOption{{"select"}, "--cluster"},
                      FileOption{{"select"}, "--trace"}, FileOption{{"plan"}, "--check"},
                      FileOption{{"plan"}, "--compare"}, FileOption{{"plan"}, "--cluster"},
                      FileOption{{"plan"}, "--trace"}, FileOption{{"describe"}, "--cluster"},
                      FileOption{{"describe"}, "--trace"},
                      FileOption{{"emulate", "--check"}, "--cluster"}));

}  // namespace
}  // namespace railwave::cli
