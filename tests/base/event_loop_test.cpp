// The event loop: readiness, deadlines, signals, many descriptors.
#include "base/event_loop.hpp"

#include <csignal>
#include <set>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

namespace railwave {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Deadline in(milliseconds time) { return Clock::now() + time; }

UniqueFd event(unsigned initial) { return UniqueFd(::eventfd(initial, EFD_NONBLOCK)); }

std::vector<std::uint64_t> tags(EventLoop& loop, Deadline deadline) {
  const auto ready = loop.wait(deadline);
  EXPECT_TRUE(ready);
  if (!ready) return {};
  return {ready->begin(), ready->end()};
}

using Tags = std::vector<std::uint64_t>;

TEST(EventLoop, TellsWhichDescriptorIsReady) {
  EventLoop loop = EventLoop::create().value();
  const UniqueFd quiet = event(0);
  const UniqueFd ready = event(1);
  ASSERT_TRUE(loop.watch(quiet.get(), 7));
  ASSERT_TRUE(loop.watch(ready.get(), ~std::uint64_t{0}));
  EXPECT_EQ(tags(loop, in(seconds(10))), Tags{~std::uint64_t{0}});
}

TEST(EventLoop, IsLevelTriggered) {
  EventLoop loop = EventLoop::create().value();
  const UniqueFd fd = event(1);
  ASSERT_TRUE(loop.watch(fd.get(), 1));
  EXPECT_EQ(tags(loop, in(seconds(10))), Tags{1});
  EXPECT_EQ(tags(loop, in(seconds(10))), Tags{1});
  eventfd_t value = 0;
  ASSERT_EQ(::eventfd_read(fd.get(), &value), 0);
  EXPECT_EQ(tags(loop, Clock::now()), Tags{});
}

TEST(EventLoop, NeverReturnsEmptyBeforeTheDeadline) {
  EventLoop loop = EventLoop::create().value();
  const UniqueFd fd = event(0);
  ASSERT_TRUE(loop.watch(fd.get(), 1));
  const Deadline deadline = in(milliseconds(30));
  EXPECT_EQ(tags(loop, deadline), Tags{});
  EXPECT_GE(Clock::now(), deadline);
}

TEST(EventLoop, APastDeadlineStillReportsWhatIsReady) {
  EventLoop loop = EventLoop::create().value();
  const UniqueFd fd = event(1);
  ASSERT_TRUE(loop.watch(fd.get(), 5));
  EXPECT_EQ(tags(loop, Clock::now() - seconds(1)), Tags{5});
}

TEST(EventLoop, AnotherThreadWakesIt) {
  EventLoop loop = EventLoop::create().value();
  const UniqueFd fd = event(0);
  ASSERT_TRUE(loop.watch(fd.get(), 3));
  std::thread waker([&] { ::eventfd_write(fd.get(), 1); });
  EXPECT_EQ(tags(loop, in(seconds(10))), Tags{3});
  waker.join();
}

TEST(EventLoop, UnwatchedDescriptorsAreSilent) {
  EventLoop loop = EventLoop::create().value();
  const UniqueFd fd = event(1);
  ASSERT_TRUE(loop.watch(fd.get(), 1));
  ASSERT_TRUE(loop.unwatch(fd.get()));
  EXPECT_EQ(tags(loop, Clock::now()), Tags{});
  ASSERT_TRUE(loop.watch(fd.get(), 2));
  EXPECT_EQ(tags(loop, Clock::now()), Tags{2});
}

TEST(EventLoop, MoreReadyThanOneCallReturns) {
  EventLoop loop = EventLoop::create().value();
  std::vector<UniqueFd> fds;
  for (std::uint64_t tag = 0; tag < 150; ++tag) {
    fds.push_back(event(1));
    ASSERT_TRUE(loop.watch(fds.back().get(), tag));
  }
  std::set<std::uint64_t> met;
  while (met.size() < fds.size()) {
    const auto ready = tags(loop, Clock::now());
    ASSERT_FALSE(ready.empty()) << met.size();
    for (const std::uint64_t tag : ready) {
      met.insert(tag);
      eventfd_t value = 0;
      ::eventfd_read(fds[tag].get(), &value);
    }
  }
}

TEST(EventLoop, BadDescriptorsAreErrors) {
  EventLoop loop = EventLoop::create().value();
  EXPECT_FALSE(loop.watch(-1, 1));
  const UniqueFd fd = event(0);
  EXPECT_FALSE(loop.unwatch(fd.get()));
  ASSERT_TRUE(loop.watch(fd.get(), 1));
  const auto twice = loop.watch(fd.get(), 2);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().field, "epoll_ctl");
}

volatile std::sig_atomic_t signals = 0;
void count_signal(int) { signals = signals + 1; }

/// Interrupts every 2 ms, without restarting system calls, while it lives.
class Interrupts {
 public:
  Interrupts() {
    struct sigaction action {};
    action.sa_handler = count_signal;
    ::sigaction(SIGALRM, &action, &before_);
    const itimerval timer{{0, 2000}, {0, 2000}};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }
  ~Interrupts() {
    const itimerval off{};
    ::setitimer(ITIMER_REAL, &off, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  struct sigaction before_ {};
};

TEST(EventLoop, ASignalIsNoReasonToReturn) {
  EventLoop loop = EventLoop::create().value();
  const UniqueFd fd = event(0);
  ASSERT_TRUE(loop.watch(fd.get(), 1));
  const Interrupts interrupts;
  const Deadline deadline = in(milliseconds(60));
  EXPECT_EQ(tags(loop, deadline), Tags{});
  EXPECT_GE(Clock::now(), deadline);
  EXPECT_GT(signals, 0);
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST(UniqueFd, ClosesWhenItsOwnerGoes) {
  int number = -1;
  {
    UniqueFd first = event(0);
    number = first.get();
    const UniqueFd second(std::move(first));
    EXPECT_TRUE(is_open(number));
    EXPECT_EQ(second.get(), number);
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, AssignmentClosesTheOldOne) {
  UniqueFd target = event(0);
  const int old = target.get();
  {
    UniqueFd source = event(0);
    const int number = source.get();
    target = std::move(source);
    EXPECT_EQ(target.get(), number);
  }
  EXPECT_FALSE(is_open(old));
  EXPECT_TRUE(is_open(target.get()));
  EXPECT_FALSE(UniqueFd());
}

}  // namespace
}  // namespace railwave
