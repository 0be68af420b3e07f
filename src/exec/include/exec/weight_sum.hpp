// The weights that a combine brings back, summed per slot (DESIGN 4, as in DeepEP).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <vector>

#include "base/memory.hpp"
#include "base/number_format.hpp"

namespace railwave::exec {

/// K running fp32 sums from +0. A slot's weight comes from the one rank that owns its expert and
/// is 0 at the others, so the sum gathers it. Threads: belongs to one thread.
class WeightSum {
 public:
  explicit WeightSum(int top_k, Memory* memory = std::pmr::get_default_resource())
      : sums_(static_cast<std::size_t>(top_k), memory) {}
  void reset() { std::fill(sums_.begin(), sums_.end(), 0.0F); }
  void add(int slot, float weight) { sums_[static_cast<std::size_t>(slot)] += weight; }
  /// Adds K weights, at any address.
  void add_all(const std::byte* weights) {
    for (std::size_t k = 0; k < sums_.size(); ++k) {
      float weight;
      std::memcpy(&weight, weights + k * sizeof(float), sizeof(float));
      sums_[k] += weight;
    }
  }
  void add_all(const WeightSum& other) {
    for (std::size_t k = 0; k < sums_.size(); ++k) sums_[k] += other.sums_[k];
  }
  /// Writes K sums, at any address; a NaN as the quiet NaN.
  void store(std::byte* out) const {
    for (std::size_t k = 0; k < sums_.size(); ++k) {
      const float sum = canonical_fp32(sums_[k]);
      std::memcpy(out + k * sizeof(float), &sum, sizeof(float));
    }
  }

 private:
  std::pmr::vector<float> sums_;
};

}  // namespace railwave::exec
