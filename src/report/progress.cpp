#include "report/progress.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace railwave::report {
namespace {

constexpr std::chrono::seconds kSilent{2};
constexpr std::chrono::milliseconds kBetween{100};
constexpr std::int64_t kBarWidth = 30;
constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

Progress::Progress(Options options, Clock::time_point start)
    : options_(std::move(options)),
      start_(start),
      next_(start + kSilent),
      terminal_(::isatty(options_.fd) == 1) {}

Progress::~Progress() {
  if (shown_) write(kClearLine);
}

void Progress::update(std::int64_t done, Clock::time_point now) {
  if (!terminal_ || now < next_) return;
  next_ = now + kBetween;
  shown_ = true;
  const std::int64_t total = std::max<std::int64_t>(options_.total, 1);
  const double part = std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
  const auto filled = static_cast<int>(part * static_cast<double>(kBarWidth));
  const std::chrono::duration<double> spent = now - start_;
  write(fmt::format("{}{} [{:<{}}] {}/{} {:.0f} s", kClearLine, options_.label,
                    std::string(static_cast<std::size_t>(filled), '='), kBarWidth, done,
                    options_.total, spent.count()));
}

void Progress::write(const std::string& text) const {
  // A terminal that does not take it is no reason to end a measurement.
  if (::write(options_.fd, text.data(), text.size()) < 0) return;
}

}  // namespace railwave::report
