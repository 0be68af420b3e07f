// Waiting is free: what ranks cost while they wait, for a late rank, between calls, and for a
// sender that is stopped. 4 nodes x 8 ranks; of RAILWAVE_WAIT_SECONDS (set by the build) a fifth in
// all is allowed to the 31 ranks that wait.
#include <csignal>
#include <cstdio>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "comm/cases/on_cluster.hpp"
#include "testbed/emulated_cluster.hpp"

namespace {

namespace testbed = railwave::testbed;
using cases::Rank;
using railwave::RankId;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kWait{RAILWAVE_WAIT_SECONDS};
/// Until all that can be sent is sent, and after the measurement.
constexpr milliseconds kSettle{1200};
constexpr int kLate = 0;
constexpr int kStopped = 5;
constexpr std::int64_t kTokens = 192;
constexpr std::int64_t kHidden = 2048;
constexpr int kTopK = 4;

/// User and system time of this process so far.
std::chrono::microseconds used() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

/// Measures what the process uses while another thread waits, and says so.
class Meter {
 public:
  explicit Meter(std::string situation)
      : thread_([situation = std::move(situation)] {
          cases::wait_for(kSettle);
          const auto before = used();
          cases::wait_for(kWait);
          cases::say(fmt::format("{} {}", situation, (used() - before).count()));
        }) {}
  ~Meter() { thread_.join(); }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

 private:
  std::thread thread_;
};

/// Even traffic from every rank to all nodes: about 0.4 s at 50 Mbit/s a rail.
void dispatch(Rank& rank, railwave::Communicator& group, milliseconds at_least) {
  const std::vector<std::uint16_t> x(static_cast<std::size_t>(kTokens * kHidden), 0x3f80);
  std::vector<std::int64_t> idx;
  for (int i = 0; i < kTokens; ++i) {
    for (int k = 0; k < kTopK; ++k) idx.push_back((rank.self.value + i + 8 * k) % 32);
  }
  railwave::DispatchArguments in;
  in.x = x.data();
  in.tokens = kTokens;
  in.hidden = kHidden;
  in.top_k = kTopK;
  in.topk_idx = idx;
  const auto received = group.dispatch(in);
  ASSERT_TRUE(received) << to_string(received.error());
  EXPECT_EQ(received->rows, kTokens * kTopK);
  EXPECT_GE(received->report.total_s, std::chrono::duration<double>(at_least).count());
}

void run_situations(Rank& rank, const std::vector<std::string>&) {
  const int self = rank.self.value;
  auto options = cases::options_for(rank, kTokens, kHidden, railwave::DType::BF16, kTopK);
  options.max_recv_rows = kTokens * kTopK;
  options.deadlines = {seconds(30), seconds(60), seconds(60)};
  auto group = rank.make(*railwave::Placement::contiguous(32, 32), options);
  ASSERT_TRUE(group) << to_string(group.error());
  dispatch(rank, *group, {});

  rank.doing("waiting for the late rank");
  ASSERT_TRUE(group->all_gather({}));
  {
    const Meter meter("late");
    if (self == kLate) cases::wait_for(kWait + 2 * kSettle);
    dispatch(rank, *group, self == kLate ? milliseconds(0) : milliseconds(kWait));
  }
  rank.doing("idle between calls");
  ASSERT_TRUE(group->all_gather({}));
  {
    const Meter meter("idle");
    cases::wait_for(kWait + 2 * kSettle);
  }
  rank.doing("waiting for the stopped sender");
  ASSERT_TRUE(group->all_gather({}));
  {
    const Meter meter("stopped");
    if (self == kStopped) cases::say("sending");
    dispatch(rank, *group, kWait);
  }
}

/// Microseconds in all that the ranks but `except` printed for this situation.
std::int64_t sum(const std::string& output, const std::string& situation, int except) {
  std::int64_t total = 0;
  int ranks = 0;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    int rank = 0;
    long long value = 0;
    const std::string format = "[%d] " + situation + " %lld";
    if (std::sscanf(line.c_str(), format.c_str(), &rank, &value) != 2 || rank == except) continue;
    total += value;
    ++ranks;
  }
  EXPECT_EQ(ranks, 31) << output;
  return total;
}

TEST(Waiting, IsFree) {
  auto spec = testbed::uniform_cluster(4, 8, 8);
  RAILWAVE_START_CLUSTER(cluster, spec);
  cases::Job job{"situations"};
  job.limit = seconds(60) + 4 * kWait;
  job.on_line = [&cluster](const std::string& line) {
    if (line != fmt::format("[{}] sending", kStopped)) return;
    EXPECT_TRUE(cluster.signal_rank(RankId(kStopped), SIGSTOP));
    cases::wait_for(kWait + 2 * kSettle);
    EXPECT_TRUE(cluster.signal_rank(RankId(kStopped), SIGCONT));
  };
  const auto result = cases::run_on_cluster(cluster, job);
  if (HasFailure()) return;
  const std::int64_t limit = std::chrono::microseconds(kWait).count() / 5;
  const std::vector<std::pair<std::string, int>> situations{
      {"late", kLate}, {"idle", 0}, {"stopped", kStopped}};
  for (const auto& [situation, except] : situations) {
    const std::int64_t total = sum(result.output, situation, except);
    RecordProperty(situation + "_us", std::to_string(total));
    std::printf("%s: 31 ranks used %.3f s of CPU in %lld s\n", situation.c_str(),
                static_cast<double>(total) / 1e6, static_cast<long long>(kWait.count()));
    EXPECT_LE(total, limit) << situation;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return cases::run_tests_or_rank(argc, argv, {{"situations", run_situations}});
}
