// Waiting is free: what ranks cost while they wait, for a late rank, between calls, and for a
// sender that is stopped. 4 nodes x 8 ranks; of RAILWAVE_WAIT_SECONDS (set by the build) a fifth in
// all is allowed to the 31 ranks that wait.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "comm/cases/on_cluster.hpp"
#include "group/used_time.hpp"
#include "testbed/emulated_cluster.hpp"

namespace {

namespace testbed = railwave::testbed;
using cases::Rank;
using railwave::RankId;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kWait{RAILWAVE_WAIT_SECONDS};
/// Until all that can be sent is sent; and after the measurement.
constexpr milliseconds kSettle{1500};
constexpr milliseconds kSlack{300};
constexpr int kLate = 0;
constexpr int kStopped = 5;
/// How far into its phase of 0.6 s the sender is stopped.
constexpr milliseconds kIntoPhase{150};
constexpr std::int64_t kTokens = 192;
constexpr std::int64_t kHidden = 2048;
constexpr int kTopK = 4;

/// Measures what the process uses while another thread waits.
class Meter {
 public:
  Meter()
      : thread_([this] {
          cases::wait_for(kSettle);
          const auto before = held::used_time();
          cases::wait_for(kWait);
          used_ = held::used_time() - before;
        }) {}
  ~Meter() {
    if (thread_.joinable()) thread_.join();
  }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;
  /// Ends the measurement and says it.
  void say(const std::string& situation) {
    thread_.join();
    cases::say(fmt::format("{} {}", situation, used_.count()));
  }

 private:
  std::chrono::microseconds used_{0};
  std::thread thread_;
};

/// Even traffic from every rank to all nodes, 0.6 s at the rails' rate. Seconds that it took.
double dispatch(Rank& rank, railwave::Communicator& group) {
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
  if (!received) {
    ADD_FAILURE() << to_string(received.error());
    return 0;
  }
  EXPECT_EQ(received->rows, kTokens * kTopK);
  return received->report.total_s;
}

constexpr double kHeldUp = std::chrono::duration<double>(kWait).count();

/// All ranks were held up, the stopped one too, so the stop came while it was sending.
bool all_held_up(railwave::Communicator& group, double seconds_taken) {
  const std::array<std::byte, 1> mine{std::byte{seconds_taken >= kHeldUp}};
  const auto all = group.all_gather(mine);
  if (!all) {
    ADD_FAILURE() << to_string(all.error());
    return false;
  }
  return std::all_of(all->begin(), all->end(),
                     [](const auto& one) { return one.front() == std::byte{1}; });
}

/// The process stops itself, since a signal from outside could come after the phase; the test that
/// reads the line lets it go on.
void stop_this_process() {
  cases::wait_for(kIntoPhase);
  cases::say("stopping");
  ::raise(SIGSTOP);
}

void run_situations(Rank& rank, const std::vector<std::string>&) {
  const int self = rank.self.value;
  auto options = cases::options_for(rank, kTokens, kHidden, railwave::DType::BF16, kTopK);
  options.max_recv_rows = kTokens * kTopK;
  options.deadlines = {seconds(30), seconds(60), seconds(60)};
  auto group = rank.make(*railwave::Placement::contiguous(32, 32), options);
  ASSERT_TRUE(group) << to_string(group.error());

  rank.doing("waiting for the late rank");
  ASSERT_TRUE(group->all_gather({}));
  {
    Meter meter;
    if (self == kLate) cases::wait_for(kWait + kSettle + kSlack);
    const double taken = dispatch(rank, *group);
    EXPECT_GE(taken, self == kLate ? 0 : kHeldUp);
    meter.say("late");
  }
  rank.doing("idle between calls");
  ASSERT_TRUE(group->all_gather({}));
  {
    Meter meter;
    meter.say("idle");
  }
  rank.doing("waiting for the stopped sender");
  // On a busy machine the stop may come too late to catch it sending.
  for (int attempt = 0; attempt < 3; ++attempt) {
    ASSERT_TRUE(group->all_gather({}));
    Meter meter;
    std::jthread stop;
    if (self == kStopped) stop = std::jthread(stop_this_process);
    if (!all_held_up(*group, dispatch(rank, *group))) continue;
    meter.say("stopped");
    break;
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
  spec.rate = 30'000'000;
  RAILWAVE_START_CLUSTER(cluster, spec);
  cases::Job job{"situations"};
  job.limit = seconds(60) + 4 * kWait;
  job.on_line = [&cluster](const std::string& line) {
    if (line != fmt::format("[{}] stopping", kStopped)) return;
    cases::wait_for(kWait + kSettle + kSlack);
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
