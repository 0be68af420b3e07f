// One run: its ranks, their output, their ends.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "line_forwarder.hpp"
#include "network.hpp"
#include "rank_process.hpp"

namespace railwave::testbed {

struct JobOptions {
  Command command;
  bool tag_output = false;
  Deadline deadline{};
  UniqueFd output;
  UniqueFd errors;
};

/// Threads: belongs to the switch process's one thread. All ranks are its children.
class Job {
 public:
  /// Tags of the event loop: rank_exit + rank, output + 2 * rank + stream.
  static constexpr std::uint64_t kRankExit = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kOutput = std::uint64_t{2} << 32;

  static Result<std::unique_ptr<Job>> start(Network& network, const ClusterSpec& spec,
                                            EventLoop& loop, JobOptions options);

  /// A child of process 1 was reaped; `status` as from waitpid. Strangers are ignored.
  void reaped(pid_t pid, int status);
  /// An event with one of the tags above.
  void on_event(std::uint64_t tag);
  /// Acts on deadlines that have passed.
  void on_time();
  [[nodiscard]] Deadline next_deadline() const;
  void cancel();
  Status signal_rank(RankId rank, int signal);
  void kill_ranks(RankId first, int count);
  /// True once every rank has ended.
  [[nodiscard]] bool ended() const { return running_ == 0; }
  /// Passes on what is left in the pipes and tells how it went; traffic is left empty.
  /// REQUIRES: ended(), and no process of the job is left.
  RunOutcome finish();

 private:
  Job(EventLoop& loop, JobOptions options);
  Status add_rank(RankProcess process);
  void rank_ended(std::size_t rank);
  void close_stream(std::size_t index);
  void end_ranks();
  void signal_all(int signal);
  [[nodiscard]] std::string running_ranks() const;

  struct Rank {
    pid_t pid = -1;
    UniqueFd exited;
    std::optional<int> wait_status;
    bool running = true;
  };

  EventLoop& loop_;
  JobOptions options_;
  std::vector<Rank> ranks_;
  std::vector<LineForwarder> streams_;  // [2P]
  std::size_t running_ = 0;
  Deadline began_ = Clock::now();
  std::optional<Deadline> kill_at_;
  RunOutcome outcome_;
};

/// As a shell says it: the status, or 128 + n for signal n.
int shell_status(int wait_status);

}  // namespace railwave::testbed
