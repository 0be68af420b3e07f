// How the command ends: lost output, exceptions, unknown verbs, words that no verb looks at.
#include <array>
#include <csignal>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/verb_output.hpp"

namespace railwave::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

class WithoutCluster : public ::testing::TestWithParam<Words> {};

TEST_P(WithoutCluster, OutputThatIsLostIsAnError) {
  const auto done = run_verb(GetParam(), [] {
    const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
    ::dup2(full, STDOUT_FILENO);
  });
  EXPECT_EQ(done.status, 4);
  EXPECT_THAT(done.errors, HasSubstr("railwave: the output could not be written: No space left"));
}

TEST_P(WithoutCluster, AReaderThatHasGoneEndsItQuietly) {
  for (const bool ignored : {true, false}) {
    const auto done = run_verb(GetParam(), [ignored] {
      std::array<int, 2> ends{};
      if (::pipe(ends.data()) != 0) ::_exit(126);
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::signal(SIGPIPE, ignored ? SIG_IGN : SIG_DFL);
    });
    EXPECT_EQ(done.status, 128 + SIGPIPE) << ignored;
    EXPECT_EQ(done.errors, "");
  }
}

TEST_P(WithoutCluster, ACommandIsOnlyForEmulate) {
  auto words = GetParam();
  words.insert(words.end(), {"--", "hostname"});
  const auto done = run_verb(words);
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.errors, HasSubstr("'hostname' after -- is a command"));
}

INSTANTIATE_TEST_SUITE_P(
    Verbs, WithoutCluster,
    ::testing::Values(Words{"describe"}, Words{"plan"}, Words{"mode"}, Words{"workspace"},
                      Words{"select", "--bytes", "7mib", "--rho", "1", "--kappa", "1"}),
    [](const auto& verb) { return verb.param.front(); });

TEST(Output, HelpThatIsLostIsAnErrorToo) {
  const auto done = run_verb({"--help"}, [] { ::close(STDOUT_FILENO); });
  EXPECT_EQ(done.status, 4);
  EXPECT_THAT(done.errors, HasSubstr("Bad file descriptor"));
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kOwnsAddressSpace = true;
#else
constexpr bool kOwnsAddressSpace = false;
#endif

TEST(Output, NoMemoryIsATypedError) {
  if (kOwnsAddressSpace) GTEST_SKIP() << "a sanitizer's shadow is larger than any limit";
  const auto done = run_verb({"describe", "--nodes", "512", "--windows", "waves"}, [] {
    const rlimit limit{200U << 20, 200U << 20};
    ::setrlimit(RLIMIT_AS, &limit);
  });
  EXPECT_EQ(done.status, 4);
  EXPECT_THAT(done.errors, HasSubstr("railwave: ResourceExhausted{memory}"));
}

TEST(Output, NamesThatAreNoUtf8AreWritten) {
  const testbed::ScratchDirectory scratch;
  const std::string name = scratch.file("tr\xff\xfe_L1_T3_K3_E8.u8");
  std::ofstream(name, std::ios::binary) << std::string("\0\1\7\4\5\6\2\3\4", 9);
  EXPECT_EQ(verb_json({"describe", "--trace", name})["trace"]["name"],
            "tr\xef\xbf\xbd\xef\xbf\xbd_L1_T3_K3_E8.u8");
  EXPECT_EQ(verb_json({"plan", "--trace", name, "--payload-mib", "0"})["workload"]["trace"],
            "tr\xef\xbf\xbd\xef\xbf\xbd_L1_T3_K3_E8.u8");
}

TEST(Verbs, AnUnknownOneIsNamedAndTheKnownOnesAre) {
  const auto known = AllOf(HasSubstr("emulate, replay"), HasSubstr("describe"),
                           HasSubstr("workspace"), HasSubstr("--help"));
  const auto unknown = run_verb({"foo"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.errors, AllOf(HasSubstr("'foo' is no verb of railwave"), known));
  const auto none = run_verb({});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.errors, AllOf(HasSubstr("railwave needs a verb"), known));
  const auto below = run_verb({"bench", "foo"});
  EXPECT_EQ(below.status, 2);
  EXPECT_THAT(below.errors, AllOf(HasSubstr("'foo' is no verb of railwave bench"),
                                  HasSubstr("round-trip"), Not(HasSubstr("workspace"))));
}

TEST(Verbs, TheVersionIsPrinted) {
  const auto done = run_verb({"--version"});
  EXPECT_EQ(done.status, 0);
  EXPECT_EQ(done.output, "railwave " RAILWAVE_VERSION "\n");
}

TEST(Verbs, NodesThatShareNoRailHaveAStatusOfTheirOwn) {
  const testbed::ScratchDirectory scratch;
  const auto cluster = scratch.file("cluster.toml");
  std::ofstream(cluster) << "nodes = 2\nranks_per_node = 2\nrails = 2\n"
                            "[node.0]\nmissing_rails = [0]\n[node.1]\nmissing_rails = [1]\n";
  for (const std::string verb : {"plan", "describe"}) {
    const auto done = run_verb({verb, "--cluster", cluster});
    EXPECT_EQ(done.status, 4) << verb;
    EXPECT_THAT(done.errors, HasSubstr("LinkDown"));
  }
}

struct Ignored {
  Words words;
  std::string option;
};

class IgnoredOption : public ::testing::TestWithParam<Ignored> {};

TEST_P(IgnoredOption, IsRefused) {
  const auto done = run_verb(GetParam().words);
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.errors, AllOf(HasSubstr("InvalidArgument{" + GetParam().option + "}"),
                                 HasSubstr("look"), HasSubstr("leave it out")));
}

INSTANTIATE_TEST_SUITE_P(
    Verbs, IgnoredOption,
    ::testing::Values(
        Ignored{{"plan", "--check", "f.json", "--trace", "nofile.npy"}, "--trace"},
        Ignored{{"plan", "--check", "f.json", "--nodes", "3"}, "--nodes"},
        Ignored{{"plan", "--check", "f.json", "--layer", "0"}, "--layer"},
        Ignored{{"plan", "--routing", "trace", "--schedule", "extreme"}, "--schedule"},
        Ignored{{"plan", "--routing", "trace", "--payload-mib", "7"}, "--payload-mib"},
        Ignored{{"plan", "--max-tokens", "7"}, "--max-tokens"},
        Ignored{{"replay", "--routing", "trace", "--placement", "natural"}, "--placement"},
        Ignored{{"select", "--trace", "none.npy", "--max-tokens", "3"}, "--max-tokens"},
        Ignored{{"mode", "--formula", "draft", "--remote-nodes", "2"}, "--remote-nodes"},
        Ignored{{"mode", "--formula", "draft,draft-h2", "--weight-dtype", "fp32"},
                "--weight-dtype"}));

}  // namespace
}  // namespace railwave::cli
