// Passes a rank's output on in whole lines, so that lines of different ranks never mix.
#pragma once

#include <string>

#include "base/event_loop.hpp"

namespace railwave::testbed {

class LineForwarder {
 public:
  /// `from` is a pipe; `to` is not owned. Every line begins with `prefix`.
  LineForwarder(UniqueFd from, int to, std::string prefix);
  [[nodiscard]] int descriptor() const { return from_.get(); }
  [[nodiscard]] bool open() const { return static_cast<bool>(from_); }
  /// Reads once and passes whole lines on; false at the end of the stream, after the last partial
  /// line. REQUIRES: open(), and the pipe is readable.
  bool forward();
  void close() { from_ = UniqueFd(); }

 private:
  void pass_on(std::size_t size);

  UniqueFd from_;
  int to_;
  std::string prefix_;
  std::string pending_;
};

}  // namespace railwave::testbed
