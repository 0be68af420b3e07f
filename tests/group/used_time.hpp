// Processor time of this process.
#pragma once

#include <chrono>

#include <sys/resource.h>

namespace held {

/// User and system time so far, of all threads.
inline std::chrono::microseconds used_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

}  // namespace held
