// Every example of --help that needs no emulated cluster does what it says.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/verb_output.hpp"

namespace railwave::cli {
namespace {

using testbed::ScratchDirectory;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

/// The words after "railwave" of every example; what follows three spaces is a remark.
std::vector<Words> examples_of(const std::string& help) {
  std::istringstream lines(help.substr(help.find("Examples:\n")));
  std::vector<Words> out;
  bool goes_on = false;
  for (std::string line; std::getline(lines, line);) {
    if (!goes_on && !line.starts_with("  railwave ")) continue;
    if (!goes_on) out.emplace_back();
    std::istringstream words(line.substr(0, line.find("   ", line.find_first_not_of(' '))));
    goes_on = false;
    for (std::string word; words >> word;) {
      goes_on = word == "\\";
      if (word != "railwave" && !goes_on) out.back().push_back(word);
    }
  }
  return out;
}

void write_file(const std::string& name, const std::string& content) {
  std::ofstream(name, std::ios::binary) << content;
}

/// Ids that visit all 64 experts.
std::string ids(std::size_t slots) {
  std::string out;
  for (std::size_t i = 0; i < slots; ++i) out += static_cast<char>((i * i + i / 7) % 64);
  return out;
}

/// [2, 4, 2] of '<i4'.
std::string npy() {
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 4, 2), }";
  header.resize(117, ' ');
  header += '\n';
  std::string out = std::string("\x93NUMPY\x01\x00", 8) + char(118) + '\0' + header;
  for (int i = 0; i < 16; ++i) out += std::string(1, static_cast<char>(i % 8)) + std::string(3, 0);
  return out;
}

/// The indented table of docs/formats/cost_table.md.
std::string documented_table() {
  std::ifstream page(std::string(RAILWAVE_FORMAT_PAGES) + "/cost_table.md");
  std::string out;
  bool example = false;
  for (std::string line; std::getline(page, line);) {
    example = example || line == "## Worked example";
    if (example && line.starts_with("    ")) out += line.substr(4) + "\n";
  }
  return out;
}

void write_files_of_examples(const ScratchDirectory& scratch) {
  write_file(scratch.file("intent_L26_T8222_K6.u8"), ids(26UL * 8222 * 6));
  write_file(scratch.file("counts_I20_L24_R16_M4_E32.u16le"),
             std::string(20UL * 24 * 16 * 4 * 32 * 2, '\1'));
  write_file(scratch.file("run.npy"), npy());
  write_file(scratch.file("expert_counts.csv"), "task,layer,e0,e1\nlaw,1,1,2\nlaw,2,3,4\n");
  write_file(scratch.file("cluster.toml"), "nodes = 3\nranks_per_node = 2\nrails = 2\n");
  write_file(scratch.file("mine.json"), documented_table());
}

class HelpExamples : public ::testing::TestWithParam<const char*> {};

TEST_P(HelpExamples, Run) {
  const ScratchDirectory scratch;
  write_files_of_examples(scratch);
  const auto in_folder = [folder = scratch.file("")] { (void)::chdir(folder.c_str()); };
  const auto help = run_verb({GetParam(), "--help"});
  ASSERT_EQ(help.status, 0);
  const auto examples = examples_of(help.output);
  ASSERT_GE(examples.size(), 3U);
  for (const Words& words : examples) {
    std::string line = "railwave";
    for (const std::string& word : words) line += " " + word;
    ASSERT_EQ(words.front(), GetParam()) << line;
    const auto done = run_verb(words, in_folder);
    // A difference is what the last example of plan looks for.
    const bool differs = std::ranges::count(words, "--compare") > 0;
    EXPECT_EQ(done.status, differs ? 1 : 0) << line << "\n" << done.errors;
    EXPECT_EQ(done.errors, "") << line;
    EXPECT_GT(done.output.size(), 50U) << line;
    if (differs) {
      EXPECT_THAT(done.output, HasSubstr("the paths differ: rail_only here, joint there"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Verbs, HelpExamples,
                         ::testing::Values("describe", "plan", "select", "mode", "workspace"));

/// What --compare says of plans on two clusters, each given by its options.
std::string comparison(const Words& here, const Words& there) {
  const ScratchDirectory scratch;
  Words save{"plan", "--routing", "trace", "--max-tokens", "3", "--save", scratch.file("p.json")};
  save.insert(save.end(), there.begin(), there.end());
  EXPECT_EQ(run_verb(save).status, 0);
  Words compare{"plan",      "--routing",           "trace", "--max-tokens", "3",
                "--compare", scratch.file("p.json")};
  compare.insert(compare.end(), here.begin(), here.end());
  const auto done = run_verb(compare);
  EXPECT_EQ(done.status, 1) << done.errors;
  return done.output;
}

TEST(Compare, SaysInWhatClustersDiffer) {
  EXPECT_THAT(comparison({"--nodes", "3"}, {"--nodes", "2"}),
              HasSubstr("# the clusters differ in nodes (3, 2), ranks in all (24, 16)"));
  EXPECT_THAT(comparison({"--rails", "4"}, {}), HasSubstr("differ in rails (4, 8)"));
  const ScratchDirectory scratch;
  const auto cluster = scratch.file("c.toml");
  write_file(cluster, "nodes = 4\nranks_per_node = 8\nrails = 8\n[node.1]\nmissing_rails = [2]\n");
  EXPECT_THAT(comparison({}, {"--cluster", cluster}),
              HasSubstr("# the clusters differ in rails that are down (this plan, the other)"));
  write_file(cluster, "nodes = 4\nranks_per_node = [8, 7, 9, 8]\nrails = 8\n");
  EXPECT_THAT(comparison({}, {"--cluster", cluster}), HasSubstr("the ranks of their nodes"));
}

}  // namespace
}  // namespace railwave::cli
