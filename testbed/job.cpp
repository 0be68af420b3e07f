#include "job.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.hpp"

namespace railwave::testbed {
namespace {

constexpr auto kGrace = std::chrono::seconds(2);

std::string how_it_ended(std::size_t rank, int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return fmt::format("rank {} was killed by signal {} ({})", rank, signal, ::strsignal(signal));
  }
  return fmt::format("rank {} ended with status {}", rank, WEXITSTATUS(wait_status));
}

}  // namespace

int shell_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

Job::Job(EventLoop& loop, JobOptions options) : loop_(loop), options_(std::move(options)) {}

Result<std::unique_ptr<Job>> Job::start(Network& network, const ClusterSpec& spec, EventLoop& loop,
                                        JobOptions options) {
  std::unique_ptr<Job> job(new Job(loop, std::move(options)));
  for (int n = 0; n < spec.nodes(); ++n) {
    const NodeId node(n);
    for (int local = 0; local < spec.ranks_per_node[node.index()]; ++local) {
      const auto& command = job->options_.command;
      auto process =
          start_rank(network.node(node), command, rank_environment(spec, command, node, local));
      if (!process) return fail(process.error());
      RAILWAVE_TRY(job->add_rank(*std::move(process)));
    }
  }
  return job;
}

Status Job::add_rank(RankProcess process) {
  const std::uint64_t rank = ranks_.size();
  const std::string prefix = options_.tag_output ? fmt::format("[{}] ", rank) : "";
  streams_.emplace_back(std::move(process.output), options_.output.get(), prefix);
  streams_.emplace_back(std::move(process.errors), options_.errors.get(), prefix);
  ranks_.push_back({process.pid, std::move(process.exited), std::nullopt, true});
  ++running_;
  RAILWAVE_TRY(loop_.watch(ranks_.back().exited.get(), kRankExit + rank));
  RAILWAVE_TRY(loop_.watch(streams_[2 * rank].descriptor(), kOutput + 2 * rank));
  return loop_.watch(streams_[2 * rank + 1].descriptor(), kOutput + 2 * rank + 1);
}

void Job::reaped(pid_t pid, int status) {
  const auto rank =
      std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& r) { return r.pid == pid; });
  if (rank != ranks_.end()) rank->wait_status = status;
}

void Job::on_event(std::uint64_t tag) {
  const std::size_t index = tag & 0xffffffffU;
  if (tag < kOutput) {
    rank_ended(index);
    return;
  }
  if (streams_[index].open() && !streams_[index].forward()) close_stream(index);
}

void Job::close_stream(std::size_t index) {
  (void)loop_.unwatch(streams_[index].descriptor());
  streams_[index].close();
}

/// Called in the order in which the ranks ended, which tells who failed first.
void Job::rank_ended(std::size_t index) {
  auto& rank = ranks_[index];
  if (!rank.running || !rank.wait_status) return;
  rank.running = false;
  (void)loop_.unwatch(rank.exited.get());
  rank.exited = UniqueFd();
  --running_;
  if (running_ == 0) {
    outcome_.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  }
  const int status = shell_status(*rank.wait_status);
  if (status == 0 || outcome_.exit_status != 0) return;
  outcome_.exit_status = status;
  outcome_.failed_rank = RankId(index);
  outcome_.message = how_it_ended(index, *rank.wait_status);
  end_ranks();
}

void Job::signal_all(int signal) {
  for (const auto& rank : ranks_) {
    if (!rank.running) continue;
    // A rank that has only just been forked has no group yet.
    if (::kill(-rank.pid, signal) != 0) ::kill(rank.pid, signal);
  }
}

void Job::end_ranks() {
  if (kill_at_) return;
  kill_at_ = Clock::now() + kGrace;
  signal_all(SIGTERM);
  signal_all(SIGCONT);  // a stopped process would not hear SIGTERM
}

std::string Job::running_ranks() const {
  std::vector<std::size_t> late;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].running) late.push_back(i);
  }
  return fmt::format("{}", fmt::join(late, ", "));
}

Deadline Job::next_deadline() const { return kill_at_ ? *kill_at_ : options_.deadline; }

void Job::on_time() {
  if (Clock::now() < next_deadline() || ended()) return;
  if (kill_at_) {
    signal_all(SIGKILL);
    kill_at_ = Clock::now() + kGrace;
    return;
  }
  outcome_.exit_status = 124;
  outcome_.timed_out = true;
  outcome_.message =
      fmt::format("the deadline passed while these ranks were running: {}", running_ranks());
  end_ranks();
}

void Job::cancel() {
  if (kill_at_) return;
  outcome_.exit_status = 130;
  outcome_.cancelled = true;
  outcome_.message = "cancelled";
  end_ranks();
}

Status Job::signal_rank(RankId rank, int signal) {
  const bool known = rank.value >= 0 && rank.index() < ranks_.size();
  if (!known || !ranks_[rank.index()].running) {
    return fail(ErrorCode::InvalidArgument, rank, "rank", "there is no such running rank");
  }
  if (::kill(-ranks_[rank.index()].pid, signal) == 0) return {};
  return fail(ErrorCode::InvalidArgument, rank, "signal",
              fmt::format("signal {} can not be sent: {}", signal, std::strerror(errno)));
}

void Job::kill_ranks(RankId first, int count) {
  for (int i = 0; i < count; ++i) (void)signal_rank(RankId(first.value + i), SIGKILL);
}

RunOutcome Job::finish() {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (!streams_[i].open()) continue;
    while (streams_[i].forward()) {
    }
    close_stream(i);
  }
  for (const auto& rank : ranks_) outcome_.statuses.push_back(shell_status(*rank.wait_status));
  return std::move(outcome_);
}

}  // namespace railwave::testbed
