// Phases under way: what dispatch_async() and combine_async() hand out.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include <railwave/error.hpp>

namespace railwave {

namespace comm {
template <class Outcome>
class Pending;
}

/// A dispatch or a combine that moves while its caller does other things. Everything that its
/// arguments point to is borrowed until it is over: a ticket that goes before waits for that.
/// Threads: belongs to one thread at a time, which need not be the one that began the phase. May
/// outlive the group.
template <class Outcome>
class Ticket {
 public:
  Ticket() = default;
  explicit Ticket(std::shared_ptr<comm::Pending<Outcome>> pending) : pending_(std::move(pending)) {}
  Ticket(Ticket&&) noexcept = default;
  Ticket& operator=(Ticket&& other) noexcept {
    Ticket old(std::exchange(pending_, std::move(other.pending_)));
    return *this;
  }
  ~Ticket();

  /// False before it was given and after wait() has given the outcome.
  [[nodiscard]] bool valid() const { return pending_ != nullptr; }
  /// Is the phase over? Never waits. Without a phase: false.
  [[nodiscard]] bool done() const;
  /// Waits until the phase is over and gives its outcome, once. It is over, one way or another,
  /// within the group's deadlines, which start when the phase does.
  /// Errors: those of dispatch() or combine(); InvalidArgument for a ticket without a phase.
  Result<Outcome> wait();
  /// The same for at most `timeout`. Errors: also Timeout naming the field "ticket": the phase goes
  /// on, and the ticket stays as it was.
  Result<Outcome> wait_for(std::chrono::milliseconds timeout);
  /// A descriptor that is readable from the end of the phase on, for poll(2), select(2) and
  /// epoll(7). The ticket's own: not to be closed or read from. Made by the first call.
  /// Errors: InvalidArgument for a ticket without a phase; ResourceExhausted.
  Result<int> fd();

 private:
  std::shared_ptr<comm::Pending<Outcome>> pending_;
};

}  // namespace railwave
