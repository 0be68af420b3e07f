#include "report/progress.hpp"

#include <optional>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

namespace railwave::report {
namespace {

using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;

/// A pseudo-terminal: what is written to terminal() comes out of take().
class ProgressTest : public ::testing::Test {
 protected:
  void SetUp() override {
    screen_ = UniqueFd(::posix_openpt(O_RDWR | O_NOCTTY));
    if (!screen_ || ::grantpt(screen_.get()) != 0 || ::unlockpt(screen_.get()) != 0) {
      GTEST_SKIP() << "no pseudo-terminal here";
    }
    terminal_ = UniqueFd(::open(::ptsname(screen_.get()), O_RDWR | O_NOCTTY));
    if (!terminal_) GTEST_SKIP() << "no pseudo-terminal here";
  }
  std::string take() {
    std::string out;
    pollfd wait{screen_.get(), POLLIN, 0};
    while (::poll(&wait, 1, 0) == 1 && (wait.revents & POLLIN) != 0) {
      char buffer[4096];
      const ssize_t got = ::read(screen_.get(), buffer, sizeof(buffer));
      if (got <= 0) break;
      out.append(buffer, static_cast<std::size_t>(got));
    }
    return out;
  }
  Progress::Options options() const { return {"ring joint", 200, terminal_.get()}; }

  UniqueFd screen_;
  UniqueFd terminal_;
  Clock::time_point start_ = Clock::time_point{} + std::chrono::hours(1);
};

TEST_F(ProgressTest, IsSilentForTwoSeconds) {
  Progress progress(options(), start_);
  progress.update(100, start_ + milliseconds(1999));
  EXPECT_EQ(take(), "");
  progress.update(100, start_ + milliseconds(2000));
  EXPECT_THAT(take(), HasSubstr("ring joint [===============               ] 100/200 2 s"));
}

TEST_F(ProgressTest, WritesAtMostTenTimesASecond) {
  Progress progress(options(), start_);
  progress.update(1, start_ + milliseconds(2000));
  (void)take();
  progress.update(2, start_ + milliseconds(2099));
  EXPECT_EQ(take(), "");
  progress.update(3, start_ + milliseconds(2100));
  EXPECT_THAT(take(), HasSubstr("3/200"));
}

TEST_F(ProgressTest, ClearsItsLineAtTheEnd) {
  {
    Progress progress(options(), start_);
    progress.update(1000, start_ + milliseconds(2000));
  }
  EXPECT_THAT(take(), EndsWith("\r\x1b[K"));
  { const Progress quiet(options(), start_); }
  EXPECT_EQ(take(), "");
}

TEST_F(ProgressTest, WritesNothingWhereThereIsNoTerminal) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd out(ends[0]);
  const UniqueFd in(ends[1]);
  {
    Progress progress({"x", 1, in.get()}, start_);
    progress.update(1, start_ + std::chrono::hours(1));
  }
  pollfd wait{out.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&wait, 1, 0), 0);
}

}  // namespace
}  // namespace railwave::report
