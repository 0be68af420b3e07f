#include "phase_start.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fail.hpp"

namespace railwave::cli {
namespace {

/// Sleeps on a timer until `when`; finer than an event loop's milliseconds.
Status sleep_until(Clock::time_point when) {
  const UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  const auto left = when.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  itimerspec at{};
  at.it_value.tv_sec = seconds.count();
  at.it_value.tv_nsec =
      std::chrono::duration_cast<std::chrono::nanoseconds>(left - seconds).count();
  std::uint64_t expirations = 0;
  if (!timer || ::timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &at, nullptr) != 0 ||
      ::read(timer.get(), &expirations, sizeof expirations) != sizeof expirations) {
    return fail(ErrorCode::ResourceExhausted, "timerfd", std::strerror(errno));
  }
  return {};
}

}  // namespace

Result<Clock::time_point> all_here(const Gather& gather) {
  const std::int64_t now = Clock::now().time_since_epoch().count();
  const auto all = gather(std::as_bytes(std::span(&now, 1)));
  if (!all) return fail(all.error());
  std::int64_t latest = 0;
  for (const auto& bytes : *all) {
    std::int64_t theirs = 0;
    std::memcpy(&theirs, bytes.data(), std::min(bytes.size(), sizeof theirs));
    latest = std::max(latest, theirs);
  }
  return Clock::time_point(Clock::duration(latest));
}

Result<Clock::time_point> common_start(const Gather& gather) {
  const auto latest = all_here(gather);
  if (!latest) return fail(latest.error());
  const Clock::time_point start = *latest + std::chrono::milliseconds(20);
  RAILWAVE_TRY(sleep_until(start));
  return start;
}

}  // namespace railwave::cli
