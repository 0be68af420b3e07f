#include "base/event_loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include <sys/epoll.h>
#include <unistd.h>

#include "base/fail.hpp"

namespace railwave {
namespace {

Error system_error(const char* call) {
  return Error{ErrorCode::ResourceExhausted, -1, call,
               std::string(call) + " failed: " + std::strerror(errno)};
}

/// What one wait() tells of; what else is ready, the next one does.
constexpr std::size_t kMostAtOnce = 64;

/// Rounded up, so that a wait never returns just before its deadline.
int milliseconds_until(Deadline deadline) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

epoll_event event_for(std::uint64_t tag, Interest interest) {
  const auto wanted = static_cast<unsigned>(interest);
  epoll_event event{};
  if ((wanted & static_cast<unsigned>(Interest::Input)) != 0) event.events |= EPOLLIN;
  if ((wanted & static_cast<unsigned>(Interest::Output)) != 0) event.events |= EPOLLOUT;
  event.data.u64 = tag;
  return event;
}

}  // namespace

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) ::close(fd_);
}

Result<EventLoop> EventLoop::create() {
  EventLoop loop;
  loop.ready_.reserve(kMostAtOnce);
  loop.epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!loop.epoll_) return fail(system_error("epoll_create1"));
  return loop;
}

Status EventLoop::watch(int fd, std::uint64_t tag, Interest interest) {
  epoll_event event = event_for(tag, interest);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return fail(system_error("epoll_ctl"));
  }
  return {};
}

Status EventLoop::rewatch(int fd, std::uint64_t tag, Interest interest) {
  epoll_event event = event_for(tag, interest);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0) {
    return fail(system_error("epoll_ctl"));
  }
  return {};
}

Status EventLoop::unwatch(int fd) {
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr) != 0) {
    return fail(system_error("epoll_ctl"));
  }
  return {};
}

Result<std::span<const std::uint64_t>> EventLoop::wait(Deadline deadline) {
  std::array<epoll_event, kMostAtOnce> events{};
  int count = 0;
  do {
    count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                         milliseconds_until(deadline));
  } while ((count < 0 && errno == EINTR) || (count == 0 && Clock::now() < deadline));
  if (count < 0) return fail(system_error("epoll_wait"));
  ready_.clear();
  for (int i = 0; i < count; ++i) ready_.push_back(events[static_cast<std::size_t>(i)].data.u64);
  return std::span<const std::uint64_t>(ready_);
}

}  // namespace railwave
