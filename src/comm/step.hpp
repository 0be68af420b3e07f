// One step of a group: a dispatch or a combine, from its header to its last row.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <railwave/error.hpp>

#include "base/event_loop.hpp"
#include "base/fail.hpp"
#include "base/memory.hpp"
#include "comm/pending.hpp"
#include "exec/header_exchange.hpp"
#include "exec/own_rows.hpp"
#include "exec/phase.hpp"
#include "exec/step_header.hpp"
#include "stopwatch.hpp"

namespace railwave::comm {

class Group;

/// Never waits: whoever moves it asks again when something has changed.
///   state    leaves it by   when                     then
///   waiting  begin()        its turn has come        its header goes out
///   headers  advance()      all headers are here     it is planned and its phase is open
///   moving   advance()      everything is in place   the outcome is there: over
///   any      end()          an error                 the error is the outcome: over
/// A step with a wrong input takes part all the same, so that nobody waits for it.
/// Threads: belongs to the thread that moves it; the completion of its outcome to any.
class Step {
 public:
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  [[nodiscard]] std::uint64_t number() const { return header_.step; }
  [[nodiscard]] bool waiting() const { return state_ == State::Waiting; }
  /// Its header is out, others' are missing: the next step must not begin.
  [[nodiscard]] bool exchanges() const { return state_ == State::Headers; }
  void begin();
  /// True when it is over, with an outcome that is no error.
  /// Errors: its own, to be given to end(). One that ends the group ends every other step, too.
  Result<bool> advance();
  /// When alarm() is to be called if the step is not over before.
  [[nodiscard]] Deadline next_alarm() const { return alarm_; }
  /// Errors: Timeout naming who is late.
  Status alarm();
  /// The outcome is this error.
  virtual void end(const Error& error) = 0;
  /// What it is, for messages.
  [[nodiscard]] virtual const char* name() const = 0;
  /// Tells whoever waits that it is over. The step may be gone afterwards.
  virtual void complete() = 0;
  virtual void wait() = 0;

 protected:
  Step(Group& group, Status own, exec::Operation operation);
  /// To be filled by a kind whose input is right.
  [[nodiscard]] exec::StepHeader& header() { return header_; }
  /// The header is on its way.
  virtual void begun() {}
  /// All ranks agree: plans, and opens the phase.
  virtual Status agreed(const std::vector<exec::StepHeader>& headers) = 0;
  /// True when all is in place and the outcome is set.
  virtual Result<bool> move() = 0;

  [[nodiscard]] Group& group() { return group_; }
  /// For what the step needs while it lasts.
  [[nodiscard]] Memory* memory() { return &memory_; }
  [[nodiscard]] Stopwatch& watch() { return watch_; }
  /// The rows that the caller lends. REQUIRES: once, in agreed(), before make_phase().
  exec::NodeRows& make_rows(const exec::NodeRows::Setup& setup) { return rows_.emplace(setup); }
  /// Makes the phase that move() moves. REQUIRES: once, in agreed().
  exec::Phase& make_phase(const plan::DispatchPlan& plan, const exec::ChunkShape& shape);
  [[nodiscard]] exec::Phase& phase() { return *phase_; }
  /// Nothing that the caller lent is looked at any more. REQUIRES: called before what it points to
  /// goes.
  void let_go();
  /// As let_go(), in the middle: neighbours may still look.
  void break_off();

 private:
  enum class State { Waiting, Headers, Moving };
  Status take_headers();
  Group& group_;
  BatchMemory memory_;
  Status own_;
  exec::StepHeader header_;
  State state_ = State::Waiting;
  Stopwatch watch_;
  Deadline deadline_{};
  Deadline alarm_{};
  std::optional<exec::NodeRows> rows_;
  std::shared_ptr<exec::Phase> phase_;
};

/// A step and where its outcome goes.
template <class Outcome>
class StepOf : public Step, public Pending<Outcome> {
 public:
  void end(const Error& error) final {
    this->break_off();
    this->set(fail(error));
  }
  void complete() final { this->completion().complete(); }
  void wait() final { this->completion().wait(); }

 protected:
  using Step::Step;
};

}  // namespace railwave::comm
