#include "step_mover.hpp"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"

namespace railwave::comm {

StepMover::StepMover(exec::RankEngine& engine, int phases)
    : engine_(engine), phases_(static_cast<std::uint64_t>(phases)) {}

StepMover::~StepMover() { stop(); }

void StepMover::stop() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<Error> StepMover::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void StepMover::end(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!ended_) ended_ = error;
}

void StepMover::finish(Step& step) {
  {
    std::unique_lock lock(mutex_);
    if (unfinished_ > 0) {
      new_.push_back(&step);
      ++unfinished_;
      lock.unlock();
      engine_.wake();
      return step.wait();
    }
    // The thread has nothing left, but may still be on its way to bed.
    changed_.wait(lock, [this] { return !driving_; });
    ++unfinished_;
  }
  steps_.push_back(&step);
  drive([this] { return steps_.empty(); });
}

void StepMover::start(Step& step) {
  {
    const std::lock_guard lock(mutex_);
    new_.push_back(&step);
    ++unfinished_;
  }
  changed_.notify_all();
  engine_.wake();
}

Status StepMover::be_ready() {
  if (thread_.joinable()) return {};
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    return fail(ErrorCode::ResourceExhausted, engine_.self(), "thread",
                "no thread can be made for phases that move by themselves");
  }
  return {};
}

void StepMover::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      driving_ = false;
      changed_.notify_all();
      changed_.wait(lock, [this] { return leaving_ || !new_.empty(); });
      if (new_.empty()) return;
      driving_ = true;
    }
    drive([this] {
      const std::lock_guard lock(mutex_);
      return unfinished_ == 0;
    });
  }
}

void StepMover::drive(const std::function<bool()>& done) {
  for (;;) {
    take_new();
    if (const Status alive = engine_.progress(); !alive) {
      fail_all(alive.error());
    } else {
      move_all();
    }
    if (done()) return;
    const Deadline next = next_alarm();
    if (Clock::now() >= next) {
      alarm();
      continue;
    }
    if (const auto slept = engine_.sleep_until(next); !slept) fail_all(slept.error());
  }
}

void StepMover::take_new() {
  const std::lock_guard lock(mutex_);
  steps_.insert(steps_.end(), new_.begin(), new_.end());
  new_.clear();
}

bool StepMover::may_begin(std::size_t index) const {
  if (index > 0 && steps_[index - 1]->exchanges()) return false;
  // The oldest that is not over has taken the place of all that came before it.
  return steps_.front()->number() + phases_ > steps_[index]->number();
}

void StepMover::move_all() {
  if (const auto why = ended()) return fail_all(*why);
  for (std::size_t i = 0; i < steps_.size();) {
    const std::size_t before = steps_.size();
    if (!move(i)) return;
    if (steps_.size() == before) {
      ++i;
    } else {
      i = 0;  // one is over: what waited for its place may begin
    }
  }
}

bool StepMover::move(std::size_t index) {
  Step& step = *steps_[index];
  if (step.waiting() && !may_begin(index)) return false;
  const Result<bool> over = attempt(step, [&]() -> Result<bool> {
    if (step.waiting()) step.begin();
    return step.advance();
  });
  if (!over) {
    fail_step(index, over.error());
  } else if (*over) {
    remove(index);
  }
  return true;
}

Result<bool> StepMover::attempt(Step& step, const std::function<Result<bool>()>& what) {
  try {
    return what();
  } catch (const std::bad_alloc&) {
    // The ranks are at different places of the step then: the group ends.
    return fail(
        ErrorCode::Internal, engine_.self(), step.name(),
        fmt::format("step {}: there was no memory left in the middle of it", step.number()));
  }
}

void StepMover::fail_step(std::size_t index, const Error& error) {
  if (!ends_group(error.code)) {
    steps_[index]->end(error);
    return remove(index);
  }
  fail_all(error);
}

void StepMover::fail_all(Error error) {
  if (!ends_group(error.code)) error.code = ErrorCode::Internal;
  end(error);
  take_new();
  // From the newest: an older phase may be what a newer one looks at.
  while (!steps_.empty()) {
    steps_.back()->end(error);
    remove(steps_.size() - 1);
  }
}

void StepMover::remove(std::size_t index) {
  Step* const step = steps_[index];
  steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(index));
  {
    const std::lock_guard lock(mutex_);
    --unfinished_;
  }
  step->complete();  // it may be gone then
}

void StepMover::alarm() {
  const Deadline now = Clock::now();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Step& step = *steps_[i];
    if (step.waiting() || now < step.next_alarm()) continue;
    const Result<bool> gone = attempt(step, [&]() -> Result<bool> {
      RAILWAVE_TRY(step.alarm());
      return true;
    });
    if (!gone) return fail_step(i, gone.error());
  }
}

Deadline StepMover::next_alarm() const {
  Deadline next = Deadline::max();
  for (const Step* step : steps_) {
    if (!step->waiting()) next = std::min(next, step->next_alarm());
  }
  return next;
}

}  // namespace railwave::comm
