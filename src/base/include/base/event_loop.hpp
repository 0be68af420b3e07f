// One epoll set: the only place where a rank sleeps.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <railwave/error.hpp>

namespace railwave {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

/// A file descriptor that is closed when its owner goes.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd();
  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// What a descriptor is watched for.
enum class Interest : std::uint8_t { Input = 1, Output = 2, Both = 3 };

/// Level-triggered epoll over a few descriptors. A descriptor whose other end is gone is always
/// ready, whatever it is watched for.
/// Threads: belongs to one thread.
class EventLoop {
 public:
  /// Errors: ResourceExhausted when the process has no descriptor left.
  static Result<EventLoop> create();
  /// Watches `fd`; `tag` comes back from wait(). The loop does not own `fd`.
  Status watch(int fd, std::uint64_t tag, Interest interest = Interest::Input);
  /// Changes what a watched `fd` is watched for.
  Status rewatch(int fd, std::uint64_t tag, Interest interest);
  Status unwatch(int fd);
  /// Sleeps until a descriptor is ready or `deadline` has passed; the tags of the ready ones
  /// (valid until the next call), none on time-out. A signal is no reason to return.
  Result<std::span<const std::uint64_t>> wait(Deadline deadline);
  /// Readable when wait() would return at once, so that loops can be nested.
  [[nodiscard]] int fd() const { return epoll_.get(); }

 private:
  UniqueFd epoll_;
  std::vector<std::uint64_t> ready_;
};

}  // namespace railwave
