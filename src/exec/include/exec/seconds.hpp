// How long something took.
#pragma once

#include <chrono>

#include "base/event_loop.hpp"

namespace railwave::exec {

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace railwave::exec
