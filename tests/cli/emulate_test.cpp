// The verb as a user meets it: options, help, output, exit status, results.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "cli/command.hpp"
#include "testbed/emulated_cluster.hpp"
#include "testbed/scratch.hpp"

namespace railwave::cli {
namespace {

using testbed::ScratchDirectory;
using testing::HasSubstr;

std::vector<std::string> emulate(std::vector<std::string> arguments) {
  std::vector<std::string> out{RAILWAVE_COMMAND, "emulate"};
  out.insert(out.end(), arguments.begin(), arguments.end());
  return out;
}

TEST(Emulate, WithNothingToDoItSaysWhatToDo) {
  Command command(emulate({}));
  EXPECT_THAT(command.errors(), HasSubstr("give a command after --, or --check"));
  EXPECT_EQ(command.wait(), 2);
}

TEST(Emulate, HelpHasExamples) {
  Command command(emulate({"--help"}));
  const auto text = command.rest_of_output();
  EXPECT_THAT(text, HasSubstr("railwave emulate --tag-output -- hostname"));
  EXPECT_THAT(text, HasSubstr("--nic-queue"));
  EXPECT_EQ(command.wait(), 0);
}

TEST(Emulate, WrongOptionsAreNamed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--rate", "50", "--", "true"}, "--rate"},
      {{"--burst", "1kb", "--", "true"}, "burst"},
      {{"--nodes", "251", "--", "true"}, "nodes"},
      {{"--nodes", "-1", "--", "true"}, "--nodes"},
      {{"--cluster", "c.toml", "--rails", "2", "--", "true"}, "--cluster"},
      {{"--cluster", "no-such.toml", "--", "true"}, "no-such.toml"},
      {{"--bogus", "--", "true"}, "--bogus"},
      {{"true"}, "true"}};
  for (const auto& [arguments, expected] : cases) {
    Command command(emulate(arguments));
    EXPECT_THAT(command.errors(), HasSubstr(expected));
    EXPECT_EQ(command.wait(), 2) << expected;
  }
}

// What plan, describe and select take (tests/cli/plan_test.cpp) is more than a machine can imitate.
TEST(Emulate, ARealClustersRatesAreBeyondThisMachine) {
  const ScratchDirectory directory;
  const auto file = directory.file("cluster.toml");
  std::ofstream(file) << "nodes = 2\nranks_per_node = 1\nrails = 2\nrate = \"400gbit\"\n";
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"emulate", "--check"}, {"replay"}, {"bench", "p2p"}, {"bench", "dispatch"}}) {
    std::vector<std::string> words{RAILWAVE_COMMAND};
    words.insert(words.end(), verb.begin(), verb.end());
    words.insert(words.end(), {"--cluster", file});
    Command command(words);
    EXPECT_THAT(command.errors(),
                HasSubstr("400.00 Gbit/s can not be emulated on this machine: a rail has 100.00 "
                          "kbit/s to 16.00 Gbit/s here; give another rate"));
    EXPECT_EQ(command.wait(), 2) << verb.front();
  }
}

TEST(Emulate, AMistakeInTheFileIsFoundByLineAndColumn) {
  const ScratchDirectory directory;
  const auto file = directory.file("cluster.toml");
  std::ofstream(file) << "nodes = 2\nrails = 0\n";
  Command command(emulate({"--cluster", file, "--", "true"}));
  EXPECT_THAT(command.errors(), HasSubstr(file + ":2:9: rails must be"));
  EXPECT_EQ(command.wait(), 2);
}

TEST(Emulate, OutputIsTheRanksAndTheTablesAreOnStandardError) {
  RAILWAVE_NEED_CLUSTER();
  Command command(
      emulate({"--nodes", "2", "--ranks-per-node", "1", "--rails", "2", "--tag-output", "--", "sh",
               "-c", "echo $RANK of $WORLD_SIZE; [ $1 = [] ]", "--", "[]"}));
  const auto output = command.rest_of_output();
  EXPECT_THAT(output, HasSubstr("[0] 0 of 2\n"));
  EXPECT_THAT(output, HasSubstr("[1] 1 of 2\n"));
  EXPECT_EQ(output.size(), 22U);
  const auto errors = command.errors();
  EXPECT_THAT(errors, HasSubstr("# emulated cluster: 2 nodes, 2 ranks, 2 rails at 50.00 Mbit/s"));
  EXPECT_THAT(errors, HasSubstr("port drops\n"));
  EXPECT_THAT(errors, HasSubstr("# TCP segments sent again, by node: 0 0\n"));
  EXPECT_EQ(command.wait(), 0);
}

TEST(Emulate, ExitStatusIsTheFirstFailingRanks) {
  RAILWAVE_NEED_CLUSTER();
  Command failing(
      emulate({"--nodes", "1", "--", "sh", "-c", "[ $RANK = 5 ] && exit 42; sleep 30"}));
  EXPECT_THAT(failing.errors(), HasSubstr("railwave: rank 5 ended with status 42"));
  EXPECT_EQ(failing.wait(), 42);
  Command killed(
      emulate({"--nodes", "1", "--", "sh", "-c", "[ $RANK = 5 ] && kill -9 $$; sleep 30"}));
  EXPECT_THAT(killed.errors(), HasSubstr("railwave: rank 5 was killed by signal 9"));
  EXPECT_EQ(killed.wait(), 137);
  Command late(emulate({"--nodes", "1", "--timeout", "0.3", "--", "sleep", "30"}));
  EXPECT_THAT(late.errors(), HasSubstr("0, 1, 2, 3, 4, 5, 6, 7"));
  EXPECT_EQ(late.wait(), 124);
}

TEST(Emulate, ReadsAClusterFileAndWritesPrivateJson) {
  RAILWAVE_NEED_CLUSTER();
  const ScratchDirectory directory;
  const auto file = directory.file("cluster.toml");
  const auto json = directory.file("result.json");
  std::ofstream(file) << "nodes = 2\nranks_per_node = [1, 2]\nrails = 2\nrate = \"100mbit\"\n"
                         "[node.1]\nmissing_rails = [0]\n";
  Command command(emulate({"--cluster", file, "--json", json, "--check", "--", "true"}));
  EXPECT_THAT(command.errors(), HasSubstr("#   node1: 2 ranks, - rail1\n"));
  ASSERT_EQ(command.wait(), 0);
  struct stat status {};
  ASSERT_EQ(::stat(json.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  std::ifstream text(json);
  const auto result = nlohmann::json::parse(text);
  EXPECT_EQ(result["schema"], "railwave.emulate/1");
  EXPECT_EQ(result["cluster"]["ranks_per_node"], (std::vector<int>{1, 2}));
  EXPECT_EQ(result["cluster"]["live"][1], (std::vector<bool>{false, true}));
  EXPECT_EQ(result["cluster"]["rate_bit_s"], 100'000'000);
  EXPECT_EQ(result["gate"]["flows"].size(), 2U);
  EXPECT_TRUE(result["gate"]["shaping_works"].get<bool>());
  EXPECT_EQ(result["run"]["exit_status"], 0);
  EXPECT_EQ(result["run"]["traffic"]["rails"].size(), 4U);
  EXPECT_EQ(result["run"]["statuses"].size(), 3U);
}

TEST(Emulate, WorksForAnOrdinaryUserAndInsideItself) {
  RAILWAVE_NEED_CLUSTER();
  const ScratchDirectory directory;
  // The build tree may be closed to other users.
  const auto copy = directory.file("railwave");
  std::filesystem::copy_file(RAILWAVE_COMMAND, copy);
  std::filesystem::permissions(copy, std::filesystem::perms(0755));
  const auto ordinary = [] {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() != 0) return;
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0 || ::chdir("/") != 0) ::_exit(99);
  };
  Command command({copy,
                   "emulate",
                   "--nodes",
                   "2",
                   "--ranks-per-node",
                   "1",
                   "--rails",
                   "2",
                   "--",
                   copy,
                   "emulate",
                   "--nodes",
                   "2",
                   "--ranks-per-node",
                   "2",
                   "--rails",
                   "1",
                   "--",
                   "sh",
                   "-c",
                   "echo $(id -u) $RANK $(hostname)"},
                  ordinary);
  const auto output = command.rest_of_output();
  const auto user = std::to_string(::geteuid() == 0 ? 65534 : ::geteuid());
  EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 8) << command.errors();
  EXPECT_THAT(output, HasSubstr(user + " 0 node0\n"));
  EXPECT_THAT(output, HasSubstr(user + " 3 node1\n"));
  EXPECT_EQ(command.wait(), 0);
}

TEST(Emulate, WhereSysIsMaskedItSaysSo) {
  RAILWAVE_NEED_CLUSTER();
  Command command({"unshare", "-Urm", "sh", "-c",
                   "mount -t tmpfs none /sys/kernel && exec \"$0\" emulate --nodes 1 -- true",
                   RAILWAVE_COMMAND});
  EXPECT_THAT(command.errors(), HasSubstr("Unsupported{namespaces}: can not mount sysfs"));
  EXPECT_EQ(command.wait(), 3);
}

TEST(Emulate, WhereUserNamespacesAreForbiddenItSaysWhatToEnable) {
  RAILWAVE_NEED_CLUSTER();
  // Inside, the limit of user namespaces can be set to none for everything below.
  Command command(
      {"unshare", "-Ur", "sh", "-c",
       "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" emulate --nodes 1 -- true",
       RAILWAVE_COMMAND});
  const auto errors = command.errors();
  EXPECT_THAT(errors, HasSubstr("Unsupported{namespaces}"));
  EXPECT_THAT(errors, HasSubstr("user.max_user_namespaces"));
  EXPECT_EQ(command.wait(), 3);
}

}  // namespace
}  // namespace railwave::cli
