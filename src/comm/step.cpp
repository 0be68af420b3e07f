#include "step.hpp"

#include <utility>

#include "base/fail.hpp"
#include "comm/group.hpp"

namespace railwave::comm {
namespace {

/// Once headers or records move, an error of any code leaves the ranks at different places: the
/// codes that would leave the group usable become Internal.
Error midway(Error error) {
  if (!ends_group(error.code)) error.code = ErrorCode::Internal;
  return error;
}

}  // namespace

Step::Step(Group& group, Status own, exec::Operation operation)
    : group_(group), memory_(group.memory_.get()), own_(std::move(own)), header_(&memory_) {
  header_.operation = operation;
  header_.step = ++group.step_;
  if (!own_) header_.rejected = static_cast<std::uint8_t>(own_.error().code);
}

void Step::begin() {
  state_ = State::Headers;
  watch_ = Stopwatch();
  const Deadline now = Clock::now();
  const Deadlines& times = group_.options_.deadlines;
  deadline_ = now + (number() == 1 ? times.first_operation : times.operation);
  alarm_ = now + (deadline_ - now) / 2;
  group_.headers_->begin(header_);
  if (own_) begun();
}

Result<bool> Step::advance() {
  if (state_ == State::Headers) {
    Result<bool> here = group_.headers_->advance();
    if (!here) return fail(midway(std::move(here).error()));
    if (!*here) return false;
    if (Status taken = take_headers(); !taken) {
      if (!phase_) group_.engine_->close_step(number());
      return fail(std::move(taken).error());
    }
  }
  Result<bool> moved = move();
  if (!moved) return fail(midway(std::move(moved).error()));
  return moved;
}

Status Step::take_headers() {
  state_ = State::Moving;
  alarm_ = deadline_;
  if (!own_) return own_;
  const std::vector<exec::StepHeader>& headers = group_.headers_->headers();
  RAILWAVE_TRY(exec::agree(headers));
  RAILWAVE_TRY(exec::check_counts(headers, group_.limits_.max_tokens));
  return agreed(headers);
}

Status Step::alarm() {
  if (state_ == State::Moving) return fail(phase_->late());
  if (alarm_ == deadline_) return fail(group_.headers_->late());
  alarm_ = deadline_;
  if (Status told = group_.headers_->tell_absent(); !told) {
    return fail(midway(std::move(told).error()));
  }
  return {};
}

exec::Phase& Step::make_phase(const plan::DispatchPlan& plan, const exec::ChunkShape& shape) {
  exec::PhaseSetup setup;
  setup.engine = group_.engine_.get();
  setup.plan = &plan;
  setup.operation = header_.operation;
  setup.step = number();
  setup.shape = shape;
  setup.maps = group_.maps_;
  setup.rows = &*rows_;
  setup.slots = group_.slots_.get();
  setup.policy =
      uses_waves(plan.path()) ? group_.options_.wave_start : group_.options_.window_start;
  setup.lead_bytes = group_.options_.lead_bytes;
  setup.packing = group_.options_.packing;
  setup.before = group_.phase_before(number());
  setup.may_be_followed = group_.limits_.phases > 1;
  setup.memory = group_.memory_.get();
  phase_ = make_kept<exec::Phase>(group_.memory_, setup);
  if (setup.may_be_followed) group_.newest_phase_ = phase_;
  return *phase_;
}

void Step::let_go() {
  if (phase_) phase_->retire();
  phase_.reset();
}

void Step::break_off() {
  if (rows_) rows_->revoke();
  let_go();
}

}  // namespace railwave::comm
