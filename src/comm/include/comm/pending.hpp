// An outcome that one thread makes and another waits for.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include <railwave/error.hpp>

#include "base/event_loop.hpp"

namespace railwave::comm {

/// That something is over, for those who wait. Threads: any.
class Completion {
 public:
  /// Once.
  void complete();
  [[nodiscard]] bool done() const;
  void wait();
  /// False when `deadline` has passed before.
  bool wait_until(Deadline deadline);
  /// A descriptor that is readable once it is over. Errors: ResourceExhausted.
  Result<int> fd();

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  UniqueFd event_;  // made when somebody asks
};

/// What a Ticket holds. Threads: `outcome` belongs to the thread that makes it until the
/// completion, then to the one that waits.
template <class Outcome>
class Pending {
 public:
  virtual ~Pending() = default;
  Completion& completion() { return completion_; }
  /// REQUIRES: completion().done(); once.
  Result<Outcome> take() { return *std::exchange(outcome_, std::nullopt); }

 protected:
  void set(Result<Outcome> outcome) { outcome_ = std::move(outcome); }

 private:
  Completion completion_;
  std::optional<Result<Outcome>> outcome_;
};

}  // namespace railwave::comm
