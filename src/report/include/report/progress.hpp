// A line on the terminal that says how far a long run is.
#pragma once

#include <cstdint>
#include <string>

#include "base/event_loop.hpp"

namespace railwave::report {

/// One line on stderr, written only when that is a terminal, from 2 s after the start on and at
/// most ten times a second; cleared at the end. Threads: belongs to one thread.
class Progress {
 public:
  struct Options {
    std::string label{};     ///< what is counted, for example "ring joint"
    std::int64_t total = 0;  ///< REQUIRES: >= 0
    int fd = 2;
  };

  Progress(Options options, Clock::time_point start);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Clears the line.
  ~Progress();

  /// `done` of the total are done at `now`.
  void update(std::int64_t done, Clock::time_point now);

 private:
  void write(const std::string& text) const;

  Options options_;
  Clock::time_point start_;
  Clock::time_point next_;
  bool terminal_;
  bool shown_ = false;
};

}  // namespace railwave::report
