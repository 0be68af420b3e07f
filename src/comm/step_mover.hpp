// Who moves a group's steps, and on which thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

#include "exec/rank_engine.hpp"
#include "step.hpp"

namespace railwave::comm {

/// Moves steps in their order, as many at once as the group has room for: the next one begins when
/// the headers of the one before are here and the phase whose memory it takes is over. A caller
/// who waits for its step moves it himself while nothing else is under way; steps with tickets are
/// moved by a thread of the mover's own, which sleeps while there are none.
/// Threads: calls one at a time, by any; ended() at any time.
class StepMover {
 public:
  /// `phases`: steps that may be under way at once.
  StepMover(exec::RankEngine& engine, int phases);
  ~StepMover();
  StepMover(const StepMover&) = delete;
  StepMover& operator=(const StepMover&) = delete;

  /// Returns when the step is over.
  void finish(Step& step);
  /// Makes the thread, if there is none yet. Errors: ResourceExhausted.
  Status be_ready();
  /// Returns at once. REQUIRES: be_ready(); the step stays until it is over.
  void start(Step& step);
  /// Waits for all steps. Nothing may be asked for afterwards.
  void stop();
  /// The error that has ended the group.
  [[nodiscard]] std::optional<Error> ended() const;
  /// Notes an error that ends the group.
  void end(const Error& error);

 private:
  void run();
  void drive(const std::function<bool()>& done);
  void take_new();
  void move_all();
  /// Moves what the step can; false when it holds up the steps behind it.
  bool move(std::size_t index);
  [[nodiscard]] bool may_begin(std::size_t index) const;
  Result<bool> attempt(Step& step, const std::function<Result<bool>()>& what);
  void fail_step(std::size_t index, const Error& error);
  void fail_all(Error error);
  void remove(std::size_t index);
  void alarm();
  [[nodiscard]] Deadline next_alarm() const;

  exec::RankEngine& engine_;
  std::uint64_t phases_;
  std::vector<Step*> steps_;  // of who drives: not over, in their order

  mutable std::mutex mutex_;  // for what follows
  std::condition_variable changed_;
  std::deque<Step*> new_;
  std::int64_t unfinished_ = 0;
  bool driving_ = false;  // the own thread is in drive()
  bool leaving_ = false;
  std::optional<Error> ended_;
  std::thread thread_;
};

}  // namespace railwave::comm
