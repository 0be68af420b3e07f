// The inbox behind each loopback rail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include <sys/eventfd.h>
#include <unistd.h>

#include <railwave/ids.hpp>

#include "base/checked.hpp"
#include "base/event_loop.hpp"
#include "transport/frame.hpp"

namespace railwave::transport::loopback {

struct Frame {
  FrameHeader header;
  std::vector<std::byte> payload;
};
struct Sent {
  std::uint64_t token = 0;
};
struct Gone {
  RankId peer;
};
using Arrival = std::variant<Frame, Sent, Gone>;

/// A rail's inbox: what others (and the rail itself) leave for its next progress().
/// Threads: shared by all.
class Port {
 public:
  explicit Port(RankId owner) : rank(owner), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    RAILWAVE_CHECK(wake_, "no descriptor left for a loopback rail");
  }

  /// False when the port's rail is gone.
  bool push(Arrival arrival) {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    if (arrivals_.empty()) ring();
    arrivals_.push_back(std::move(arrival));
    return true;
  }

  std::deque<Arrival> take() {
    const std::lock_guard lock(mutex_);
    if (!arrivals_.empty()) {
      std::uint64_t count = 0;
      RAILWAVE_CHECK(::read(wake_.get(), &count, sizeof count) == sizeof count);
    }
    return std::exchange(arrivals_, {});
  }

  bool empty() {
    const std::lock_guard lock(mutex_);
    return arrivals_.empty();
  }

  /// `watcher` is told when this port's rail goes. False when it is gone already.
  bool watch(std::weak_ptr<Port> watcher) {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    watchers_.push_back(std::move(watcher));
    return true;
  }

  void close() {
    std::vector<std::weak_ptr<Port>> watchers;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      watchers.swap(watchers_);
    }
    // Outside the lock: two rails that close at once must not wait for each other.
    for (const auto& watcher : watchers) {
      if (const auto port = watcher.lock()) port->push(Gone{rank});
    }
  }

  [[nodiscard]] int fd() const { return wake_.get(); }

  const RankId rank;

 private:
  void ring() {
    const std::uint64_t one = 1;
    RAILWAVE_CHECK(::write(wake_.get(), &one, sizeof one) == sizeof one);
  }

  std::mutex mutex_;
  std::deque<Arrival> arrivals_;
  std::vector<std::weak_ptr<Port>> watchers_;
  bool closed_ = false;
  UniqueFd wake_;
};

}  // namespace railwave::transport::loopback
