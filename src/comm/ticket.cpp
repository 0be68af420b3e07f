#include <cstdint>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <railwave/communicator.hpp>
#include <railwave/ticket.hpp>

#include "base/fail.hpp"
#include "comm/pending.hpp"

namespace railwave {
namespace comm {

void Completion::complete() {
  const std::lock_guard lock(mutex_);
  done_ = true;
  const std::uint64_t one = 1;
  if (event_) (void)::write(event_.get(), &one, sizeof(one));
  // Under the lock: who waits may destroy this as soon as it has it.
  changed_.notify_all();
}

bool Completion::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

void Completion::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
}

bool Completion::wait_until(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return done_; });
}

Result<int> Completion::fd() {
  const std::lock_guard lock(mutex_);
  if (!event_) event_ = UniqueFd(::eventfd(done_ ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event_) {
    return fail(ErrorCode::ResourceExhausted, "ticket", "no descriptor is left; raise `ulimit -n`");
  }
  return event_.get();
}

}  // namespace comm

namespace {

tl::unexpected<Error> no_phase() {
  return fail(ErrorCode::InvalidArgument, "ticket",
              "the ticket has no phase: its outcome was taken, or it was never given one");
}

}  // namespace

template <class Outcome>
Ticket<Outcome>::~Ticket() {
  if (pending_) pending_->completion().wait();
}

template <class Outcome>
bool Ticket<Outcome>::done() const {
  return pending_ && pending_->completion().done();
}

template <class Outcome>
Result<Outcome> Ticket<Outcome>::wait() {
  if (!pending_) return no_phase();
  pending_->completion().wait();
  return std::exchange(pending_, nullptr)->take();
}

template <class Outcome>
Result<Outcome> Ticket<Outcome>::wait_for(std::chrono::milliseconds timeout) {
  if (!pending_) return no_phase();
  if (!pending_->completion().wait_until(Clock::now() + timeout)) {
    return fail(ErrorCode::Timeout, "ticket",
                fmt::format("the phase is not over after {} ms; it goes on", timeout.count()));
  }
  return wait();
}

template <class Outcome>
Result<int> Ticket<Outcome>::fd() {
  if (!pending_) return no_phase();
  return pending_->completion().fd();
}

template class Ticket<Received>;
template class Ticket<PhaseReport>;

}  // namespace railwave
