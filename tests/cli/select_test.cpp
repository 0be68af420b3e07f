// The verb `select`: answers, reasons, refusals, as a user sees them.
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/verb_output.hpp"

namespace railwave::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Select : public ::testing::Test {
 protected:
  [[nodiscard]] std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(scratch_.file(name), std::ios::binary) << bytes;
    return scratch_.file(name);
  }

  /// Runs the verb; its standard output. `errors_` tells the rest.
  std::string run(std::vector<std::string> options, int status = 0) {
    options.insert(options.begin(), "select");
    VerbOutput done = run_verb(std::move(options));
    errors_ = done.errors;
    EXPECT_EQ(done.status, status) << done.output << errors_;
    return done.output;
  }

  static json run_json(std::vector<std::string> options) {
    options.insert(options.begin(), "select");
    return verb_json(std::move(options));
  }

  testbed::ScratchDirectory scratch_;
  std::string errors_;
};

TEST_F(Select, TheShippedTableGivesTable4sAnswers) {
  struct Case {
    const char* bytes;
    const char* kappa;
    const char* path;
  };
  for (const auto& [bytes, kappa, path] :
       {Case{"8.75mib", "1", "permutation_only"}, Case{"8.75mib", "3", "permutation_only"},
        Case{"17.5mib", "1", "permutation_only"}, Case{"17.5mib", "3", "joint"},
        Case{"35mib", "1", "native"}, Case{"35mib", "3", "joint"}, Case{"0", "1", "native"}}) {
    EXPECT_THAT(run({"--bytes", bytes, "--rho", "1", "--kappa", kappa, "--rails", "8"}),
                HasSubstr(std::string("\npath: ") + path + "\n"))
        << bytes << ' ' << kappa;
  }
}

TEST_F(Select, SaysWhyAndByHowMuchOthersMissed) {
  const auto output =
      run({"--bytes", "8.75mib", "--rho", "1.4", "--kappa", "1", "--rejected", "2"});
  EXPECT_THAT(output, StartsWith("# cost table paper-h800.json: 4 anchors, 0 rejected points, for "
                                 "4 nodes of 8 ranks, 8 rails\n"));
  EXPECT_THAT(output, HasSubstr("within 1.25 times its payload, 0.14 of its rail skew, 0.04 of its "
                                "receiver concentration; misses are beyond that\n"));
  EXPECT_THAT(output,
              HasSubstr("\npath: joint\nwhy:  no anchor is eligible, so joint; the nearest, "
                        "anchor 0 (7 MiB, "));
  EXPECT_THAT(output, HasSubstr("misses: rail skew by 0.26\n"));
  EXPECT_THAT(output, HasSubstr("misses: payload by 28 %, rail skew by 0.26\n"));
  EXPECT_THAT(run({"--bytes", "8.75mib", "--rho", "1", "--kappa", "1"}), HasSubstr("  chosen\n"));
}

TEST_F(Select, EdgesAreExactOnTheCommandLineToo) {
  const auto path = [&](const char* bytes, const char* rho) {
    return run_json({"--bytes", bytes, "--rho", rho, "--kappa", "1"})["phases"][0]["path"]
        .get<std::string>();
  };
  EXPECT_EQ(path("9175040", "1"), "permutation_only");  // 8.75 MiB
  EXPECT_EQ(path("9175040.000001", "1"), "joint");
  EXPECT_EQ(path("5.6mib", "1.14"), "permutation_only");
  EXPECT_EQ(path("5.599999mib", "1.14"), "joint");
  EXPECT_EQ(path("5.6mib", "114/100"), "permutation_only");
  EXPECT_EQ(path("5.6mib", "114000001/100000000"), "joint");
}

TEST_F(Select, AMissOfAMillionthIsToldFromTheEdge) {
  const auto beyond =
      run({"--bytes", "8.75mib", "--rho", "1.140001", "--kappa", "1", "--rejected", "1"});
  EXPECT_THAT(beyond, HasSubstr("rail skew is off by 0.140001, at most 0.14 is eligible\n"));
  EXPECT_THAT(beyond, HasSubstr("misses: rail skew by 0.000001\n"));
  const auto small =
      run({"--bytes", "5.59999mib", "--rho", "1", "--kappa", "1", "--rejected", "1"});
  EXPECT_THAT(small, HasSubstr("payload is 1.250002 times smaller, at most 1.25 times is"));
  EXPECT_THAT(small, HasSubstr("misses: payload by 0.0001786 %\n"));
}

TEST_F(Select, JsonHasTheAnswerAndItsReasons) {
  const auto answer = run_json({"--bytes", "8.75mib", "--rho", "1", "--kappa", "1.02"});
  EXPECT_EQ(answer["schema"], "railwave.select/1");
  EXPECT_EQ(answer["policy"], "paper");
  EXPECT_EQ(answer["forced"], false);
  const auto& phase = answer["phases"].at(0);
  EXPECT_EQ(phase["payload_bytes"]["exact"], "9175040/1");
  EXPECT_EQ(phase["receiver_concentration"]["exact"], "51/50");
  EXPECT_EQ(phase["path"], "permutation_only");
  EXPECT_EQ(phase["cause"], "nearest_anchor");
  EXPECT_EQ(phase["anchor"], 0);
  EXPECT_EQ(phase["eligible"].size(), 1U);
  EXPECT_EQ(phase["eligible"][0]["payload"]["ratio"], 1.25);
  EXPECT_EQ(phase["rejected"].size(), 3U);
  const auto none = run_json({"--bytes", "0"})["phases"].at(0);
  EXPECT_EQ(none["cause"], "no_remote_bytes");
  EXPECT_FALSE(none.contains("rail_skew"));
  EXPECT_FALSE(none.contains("anchor"));
}

/// The block of a page that is indented by four spaces and begins with '{'.
std::string example_of(const std::string& name) {
  std::ifstream page(std::string(RAILWAVE_FORMAT_PAGES) + "/" + name);
  std::string out;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("    {") || (!out.empty() && line.starts_with("    "))) out += line + '\n';
  }
  return out;
}

/// The same but for the last bits of doubles, in which compilers and libraries differ.
void expect_alike(const json& actual, const json& expected, const std::string& place) {
  ASSERT_EQ(actual.type(), expected.type()) << place;
  if (expected.is_number_float()) {
    EXPECT_DOUBLE_EQ(actual.get<double>(), expected.get<double>()) << place;
  } else if (expected.is_structured()) {
    ASSERT_EQ(actual.size(), expected.size()) << place;
    for (const auto& [key, value] : expected.items()) {
      ASSERT_TRUE(expected.is_array() || actual.contains(key)) << place << '/' << key;
      expect_alike(expected.is_array() ? actual[std::stoul(key)] : actual[key], value,
                   place + '/' + key);
    }
  } else {
    EXPECT_EQ(actual, expected) << place;
  }
}

TEST_F(Select, TheDocumentedAnswerIsWhatItWrites) {
  const auto table = write("mine.json", example_of("cost_table.md"));
  auto answer =
      run_json({"--table", table, "--bytes", "0.625mib", "--rho", "1.160001", "--kappa", "1"});
  EXPECT_EQ(answer["table"]["file"], table);
  answer["table"]["file"] = "mine.json";
  expect_alike(answer, json::parse(example_of("select.md")), "");
}

TEST_F(Select, ATableOfAnotherClusterNeedsForce) {
  run({"--bytes", "7mib", "--rho", "1", "--kappa", "1", "--rails", "4"}, 2);
  EXPECT_THAT(errors_,
              HasSubstr("made for 4 nodes of 8 ranks, 8 rails, this cluster has 4 nodes of "
                        "8 ranks, 4 rails"));
  const auto cluster = write("cluster.toml", "nodes = 2\nranks_per_node = 1\nrails = 1\n");
  run({"--bytes", "7mib", "--rho", "1", "--kappa", "1", "--cluster", cluster}, 2);
  // With one rail the rail skew does not matter.
  const auto output =
      run({"--bytes", "7mib", "--rho", "2", "--kappa", "1", "--cluster", cluster, "--force"});
  EXPECT_THAT(output, HasSubstr("# forced on another cluster: 2 nodes of 1 rank, 1 rail\n"));
  EXPECT_THAT(output, HasSubstr("\npath: permutation_only\n"));
}

TEST_F(Select, MalformedTablesAreNamedWithThePlace) {
  const auto syntax = write("syntax.json", "{\n  \"schema\": railwave\n}");
  run({"--table", syntax, "--bytes", "0"}, 2);
  EXPECT_THAT(errors_, HasSubstr(syntax + ":2:13: not JSON: "));
  const auto missing = write("missing.json", "{\"schema\": \"railwave.cost_table/1\"}");
  run({"--table", missing, "--bytes", "0"}, 2);
  EXPECT_THAT(errors_, HasSubstr(missing + ": /: the key \"cluster\" is missing"));
  run({"--table", write("later.json", "{\"schema\": \"railwave.cost_table/9\"}"), "--bytes", "0"},
      3);
  EXPECT_THAT(errors_, HasSubstr("expected \"railwave.cost_table/1\""));
  run({"--table", scratch_.file("none.json"), "--bytes", "0"}, 2);
  EXPECT_THAT(errors_, HasSubstr("no such file"));
}

TEST_F(Select, WrongFiguresAreRefusedWithTheOption) {
  struct Case {
    std::vector<std::string> options;
    const char* field;
  };
  for (const auto& [options, field] :
       {Case{{}, "InvalidArgument{command}"},
        Case{{"--bytes", "7 miles", "--rho", "1", "--kappa", "1"}, "InvalidArgument{--bytes}"},
        Case{{"--bytes", "7mib", "--kappa", "1"}, "InvalidArgument{--rho}"},
        Case{{"--bytes", "7mib", "--rho", "0.9", "--kappa", "1"}, "InvalidArgument{--rho}"},
        Case{{"--bytes", "7mib", "--rho", "1", "--kappa", "1/0"}, "InvalidArgument{--kappa}"},
        Case{{"--bytes", "999999999999gib", "--rho", "1", "--kappa", "1"},
             "InvalidArgument{--bytes}"}}) {
    run(options, 2);
    EXPECT_THAT(errors_, HasSubstr(field));
  }
  run({"--bytes", "7mib", "--trace", "x.npy"}, 2);
  run({"--bytes", "7mib", "--schedule", "ring"}, 2);
}

TEST_F(Select, ATraceGivesOneAnswerPerLayer) {
  // Two layers of 32 experts: even, then everything on the experts of the first bin.
  std::string counts(64, '\1');
  std::fill(counts.begin() + 32, counts.end(), '\0');
  std::fill_n(counts.begin() + 32, 4, '\1');
  const auto trace = write("counts_L2_E32.u8", counts);
  const std::vector<std::string> options{"--trace",    trace,         "--placement",   "natural",
                                         "--schedule", "all-at-once", "--payload-mib", "7"};
  const auto phases = run_json(options)["phases"];
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_EQ(phases[0]["payload_bytes"]["exact"], "7340032/1");
  EXPECT_EQ(phases[0]["path"], "permutation_only");
  EXPECT_EQ(phases[0]["fan_in"], 3);
  EXPECT_EQ(phases[1]["rail_skew"]["exact"], "8/1");
  EXPECT_EQ(phases[1]["path"], "joint");
  const auto output = run(options);
  EXPECT_THAT(output, HasSubstr("misses: rail skew by 6.86\n"));
  EXPECT_THAT(output,
              HasSubstr("# 2 layers: 0 native, 0 rail_only, 1 permutation_only, 1 joint\n"));
}

TEST_F(Select, HelpHasExamples) {
  const auto output = run({"--help"});
  EXPECT_THAT(output,
              HasSubstr("Examples:\n  railwave select --bytes 8.75mib --rho 1 --kappa 1\n"));
}

}  // namespace
}  // namespace railwave::cli
