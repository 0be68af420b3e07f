// Random integers that are the same on every machine. No std distributions: those are not.
#pragma once

#include <cstdint>

namespace railwave::workload {

/// A bijective mix of 64 bits. Source: the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Its increment: the odd integer nearest to 2^64 / golden ratio.
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

/// SplitMix64. Threads: belongs to one thread.
class IntegerRng {
 public:
  explicit constexpr IntegerRng(std::uint64_t seed) : state_(seed) {}
  constexpr std::uint64_t next() { return mix64(state_ += kGolden); }
  /// Uniform in [0, bound), by rejection. REQUIRES: bound >= 1.
  constexpr std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t biased = (0 - bound) % bound;  // 2^64 mod bound
    while (true) {
      const std::uint64_t value = next();
      if (value >= biased) return value % bound;
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace railwave::workload
