// 64-bit arithmetic that knows when it overflows. Byte counts go through it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace railwave {

constexpr std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

constexpr std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// ceil(a / b). REQUIRES: a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

/// The least multiple of `unit` that is >= a. REQUIRES: a >= 0, unit > 0.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t unit) {
  return ceil_div(a, unit) * unit;
}

/// A broken invariant is our bug: it ends the process with the place and the values.
#define RAILWAVE_CHECK(condition, ...)                                                            \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      std::fprintf(stderr, "railwave: broken invariant %s at %s:%d " __VA_OPT__("("), #condition, \
                   __FILE__, __LINE__);                                                           \
      __VA_OPT__(std::fprintf(stderr, __VA_ARGS__); std::fprintf(stderr, ")");)                   \
      std::fprintf(stderr, "\n");                                                                 \
      std::abort();                                                                               \
    }                                                                                             \
  } while (false)

}  // namespace railwave
