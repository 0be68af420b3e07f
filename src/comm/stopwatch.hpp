// Laps of one call, for its report.
#pragma once

#include <chrono>
#include <utility>

#include "base/event_loop.hpp"

namespace railwave::comm {

class Stopwatch {
 public:
  /// Seconds since the last lap.
  double lap() {
    const auto now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }
  [[nodiscard]] double total() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }

 private:
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
};

}  // namespace railwave::comm
