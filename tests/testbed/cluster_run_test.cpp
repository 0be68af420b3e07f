// Ranks: their environment, output, exit status and end.
#include <algorithm>
#include <set>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "testbed/emulated_cluster.hpp"
#include "testbed/scratch.hpp"

namespace railwave::testbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ClusterRun, RanksGetTheDocumentedVariables) {
  auto spec = uniform_cluster(2, 1, 3);
  spec.ranks_per_node = {1, 2};
  spec.live = {{true, true, true}, {true, false, true}};
  RAILWAVE_START_CLUSTER(cluster, spec);
  const CapturedOutput output;
  const auto outcome = cluster.run(
      shell("echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR $RAILWAVE_NODE "
            "$RAILWAVE_RAILS $(hostname)",
            output));
  ASSERT_TRUE(outcome.has_value()) << to_string(outcome.error());
  EXPECT_EQ(outcome->exit_status, 0) << output.text();
  EXPECT_THAT(output.lines(), ElementsAre("0 3 0 1 10.0.0.1 0 rail0,rail1,rail2 node0",
                                          "1 3 0 2 10.0.0.1 1 rail0,-,rail2 node1",
                                          "2 3 1 2 10.0.0.1 1 rail0,-,rail2 node1"));
}

TEST(ClusterRun, TheClusterTravelsInTheEnvironment) {
  auto spec = uniform_cluster(2, 1, 2);
  spec.bridges = {{0, 1}, {1, 0}};
  RAILWAVE_START_CLUSTER(cluster, spec);
  const CapturedOutput output;
  const auto outcome = cluster.run(shell("[ $RANK = 1 ] || echo \"$RAILWAVE_CLUSTER\"", output));
  ASSERT_TRUE(outcome.has_value());
  const auto seen = parse_cluster(output.text(), "RAILWAVE_CLUSTER");
  ASSERT_TRUE(seen.has_value()) << to_string(seen.error());
  EXPECT_EQ(*seen, spec);
}

TEST(ClusterRun, JobIsTheSameOnAllRanksAndNewInEveryRun) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(2, 2, 1));
  std::set<std::string> jobs;
  for (int run = 0; run < 2; ++run) {
    const CapturedOutput output;
    ASSERT_TRUE(cluster.run(shell("echo $RAILWAVE_JOB $MASTER_PORT", output)).has_value());
    const auto lines = output.lines();
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines.front(), lines.back());
    EXPECT_EQ(lines.front().substr(16), " " + std::to_string(29500 + run));
    jobs.insert(lines.front().substr(0, 16));
  }
  EXPECT_EQ(jobs.size(), 2U);
}

TEST(ClusterRun, RanksSeeOnlyTheirNodesInterfaces) {
  auto spec = uniform_cluster(2, 1, 2);
  spec.live = {{true, true}, {false, true}};
  RAILWAVE_START_CLUSTER(cluster, spec);
  const CapturedOutput output;
  ASSERT_TRUE(cluster.run(shell("echo $RANK: $(ls /sys/class/net)", output)).has_value());
  EXPECT_THAT(output.lines(), ElementsAre("0: ctl0 lo rail0 rail1", "1: ctl0 lo rail1"));
}

TEST(ClusterRun, EachNodeHasItsOwnSharedMemoryAndReadOnlySys) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(2, 1, 1));
  const CapturedOutput first;
  ASSERT_TRUE(cluster.run(shell("[ $RANK = 1 ] || echo mine > /dev/shm/x", first)).has_value());
  const CapturedOutput output;
  const auto outcome = cluster.run(
      shell("echo $RANK $(ls /dev/shm) $(grep -c ' /sys sysfs ro' /proc/mounts)", output));
  ASSERT_TRUE(outcome.has_value());
  EXPECT_THAT(output.lines(), ElementsAre("0 x 1", "1 1"));
}

TEST(ClusterRun, RanksKeepTheUserAndLoseEveryCapability) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(1, 1, 1));
  const CapturedOutput output;
  const auto outcome = cluster.run(
      shell("id -u; pwd; grep -E 'Cap(Prm|Eff|Amb)' /proc/self/status | tr -d '\\t'", output));
  ASSERT_TRUE(outcome.has_value());
  std::vector<std::string> expected{
      std::to_string(::geteuid()), std::filesystem::current_path().string(),
      "CapPrm:0000000000000000", "CapEff:0000000000000000", "CapAmb:0000000000000000"};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(output.lines(), expected);
}

TEST(ClusterRun, RanksKeepTheLimitOfOpenFiles) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(1, 1, 1));
  const CapturedOutput output;
  ASSERT_TRUE(cluster.run(shell("ulimit -n", output)).has_value());
  EXPECT_EQ(output.text(), std::to_string(::sysconf(_SC_OPEN_MAX)) + "\n");
}

TEST(ClusterRun, OptionsAddToTheEnvironmentAndOursWins) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(1, 1, 1));
  const CapturedOutput output;
  auto options = shell("echo $COLOUR $RANK", output);
  options.env = {{"COLOUR", "blue"}, {"RANK", "77"}};
  ASSERT_TRUE(cluster.run(options).has_value());
  EXPECT_EQ(output.text(), "blue 0\n");
}

TEST(ClusterRun, LinesOfDifferentRanksNeverMix) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(2, 3, 1));
  const CapturedOutput output;
  auto options = shell(
      "i=0; while [ $i -lt 100 ]; do printf \"<$RANK\"; printf -- '-%.0s' $(seq 200); echo '>'; "
      "i=$((i+1)); done; printf tail$RANK",
      output);
  options.tag_output = true;
  ASSERT_TRUE(cluster.run(options).has_value());
  const auto lines = output.lines();
  ASSERT_EQ(lines.size(), 6U * 101U);
  for (int rank = 0; rank < 6; ++rank) {
    const auto tag = "[" + std::to_string(rank) + "] ";
    const auto line = tag + "<" + std::to_string(rank) + std::string(200, '-') + ">";
    EXPECT_EQ(std::count(lines.begin(), lines.end(), line), 100);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), tag + "tail" + std::to_string(rank)), 1);
  }
}

TEST(ClusterRun, TheFirstFailureIsTheRunsAndEndsTheOthers) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(2, 2, 1));
  const CapturedOutput output;
  const auto outcome =
      cluster.run(shell("[ $RANK = 2 ] && exit 7; trap 'exit 9' TERM; sleep 30 & wait", output));
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->exit_status, 7);
  EXPECT_EQ(outcome->failed_rank, RankId(2));
  EXPECT_EQ(outcome->message, "rank 2 ended with status 7");
  EXPECT_EQ(outcome->statuses[2], 7);
  EXPECT_LT(outcome->seconds, 5);
}

TEST(ClusterRun, ARankKilledByASignalIsNamed) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(1, 3, 1));
  const CapturedOutput output;
  const auto outcome = cluster.run(shell("[ $RANK = 1 ] && kill -SEGV $$; sleep 30", output));
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->exit_status, 128 + SIGSEGV);
  EXPECT_THAT(outcome->message, HasSubstr("rank 1 was killed by signal 11"));
  EXPECT_EQ(outcome->statuses, (std::vector<int>{128 + SIGTERM, 128 + SIGSEGV, 128 + SIGTERM}));
}

TEST(ClusterRun, RanksThatIgnoreSigtermAreKilled) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(1, 2, 1));
  const ScratchDirectory directory;
  const CapturedOutput output;
  const auto fifo = directory.file("deaf");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const auto outcome = cluster.run(shell("if [ $RANK = 1 ]; then cat " + fifo +
                                             "; exit 3; fi; trap '' TERM; echo > " + fifo +
                                             "; while :; do sleep 30; done",
                                         output));
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->exit_status, 3);
  EXPECT_EQ(outcome->statuses[0], 128 + SIGKILL);
}

TEST(ClusterRun, ACommandThatDoesNotExistIs127) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(1, 1, 1));
  const CapturedOutput output;
  auto options = shell("", output);
  // With a slash: a folder of PATH that this user may not read would make it 126.
  options.argv = {"./no-such-command"};
  const auto outcome = cluster.run(options);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->exit_status, 127);
  EXPECT_THAT(output.text(), HasSubstr("can not execute './no-such-command'"));
  options.argv.clear();
  EXPECT_EQ(cluster.run(options).error().code, ErrorCode::InvalidArgument);
}

TEST(ClusterRun, TheDeadlineNamesWhoIsLate) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(1, 3, 1));
  const CapturedOutput output;
  auto options = shell("[ $RANK = 1 ] || sleep 30", output);
  options.deadline = Clock::now() + std::chrono::milliseconds(300);
  const auto outcome = cluster.run(options);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(outcome->timed_out);
  EXPECT_EQ(outcome->exit_status, 124);
  EXPECT_THAT(outcome->message, HasSubstr("running: 0, 2"));
}

TEST(ClusterRun, CanBeCancelled) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(1, 2, 1));
  const CapturedOutput output;
  const UniqueFd cancel(::eventfd(1, EFD_CLOEXEC));
  auto options = shell("sleep 30", output);
  options.cancel_fd = cancel.get();
  const auto outcome = cluster.run(options);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(outcome->cancelled);
  EXPECT_EQ(outcome->exit_status, 130);
  const auto next = cluster.run(shell("exit 0", output));
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->exit_status, 0);
}

TEST(ClusterRun, NothingOfARunIsLeftForTheNext) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(2, 2, 1));
  const CapturedOutput output;
  const auto first = cluster.run(shell("setsid sleep 1000 > /dev/null 2>&1 & exit 0", output));
  ASSERT_TRUE(first.has_value());
  const auto second = cluster.run(shell("ps -e | grep -c sleep; true", output));
  ASSERT_TRUE(second.has_value());
  EXPECT_THAT(output.lines(), ElementsAre("0", "0", "0", "0"));
}

TEST(ClusterRun, ManyShortRunsOnOneCluster) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(2, 2, 2));
  const CapturedOutput output;
  for (int run = 0; run < 50; ++run) {
    const auto outcome = cluster.run(shell("exit " + std::to_string(run), output));
    ASSERT_TRUE(outcome.has_value()) << to_string(outcome.error());
    EXPECT_EQ(outcome->exit_status, run);
  }
}

TEST(ClusterRun, AStoppedRankIsLateAndNotGone) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(1, 2, 1));
  EXPECT_EQ(cluster.signal_rank(RankId(0), SIGTERM).error().code, ErrorCode::InvalidArgument);
  const ScratchDirectory directory;
  const CapturedOutput output;
  const auto fifo = directory.file("up");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  auto options = shell("[ $RANK = 0 ] || exit 0; echo up > " + fifo + "; sleep 0.3", output);
  options.deadline = Clock::now() + std::chrono::seconds(1);
  std::thread stopper([&] {
    const UniqueFd up(::open(fifo.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(cluster.signal_rank(RankId(0), SIGSTOP).has_value());
  });
  const auto outcome = cluster.run(options);
  stopper.join();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(outcome->timed_out) << outcome->message;
  EXPECT_THAT(outcome->message, HasSubstr("running: 0"));
}

}  // namespace
}  // namespace railwave::testbed
