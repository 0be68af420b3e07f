// Counts the calls of operator new, in every form, of the program that this is linked into.
#pragma once

#include <cstdint>
#include <utility>

namespace counted_new {

/// How deep this thread is in code that does not count.
int& depth_outside();

/// Counts from 0 on all threads, and writes to standard error where the first calls come from.
void start();
/// How many there were.
std::int64_t stop();

/// What this thread does in the meantime does not count.
class Outside {
 public:
  Outside() { ++depth_outside(); }
  ~Outside() { --depth_outside(); }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
};

/// Within the above: counts again.
class Inside {
 public:
  Inside() : before_(std::exchange(depth_outside(), 0)) {}
  ~Inside() { depth_outside() = before_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  int before_;
};

}  // namespace counted_new
