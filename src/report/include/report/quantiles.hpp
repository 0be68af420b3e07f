// Quantiles of measured times, by nearest rank (DESIGN 5.7).
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace railwave::report {

/// The value at rank ceil(percent * n / 100) of the sorted samples. Absent when there are too few
/// to tell it from the maximum: P95 needs 20 samples, P99 100, in general 100 / (100 - percent)
/// above the median; the median needs one. REQUIRES: percent in 1..99.
std::optional<double> nearest_rank(std::span<const double> samples, int percent);

/// P50, P95, P99 in the samples' unit.
struct Quantiles {
  std::optional<double> p50;
  std::optional<double> p95;
  std::optional<double> p99;
};

/// The sum over layers of each layer's quantile, [L][samples]. It is not a quantile of the sum.
/// Absent when it is for some layer, or without layers.
Quantiles sum_of_quantiles(std::span<const std::vector<double>> layers);

}  // namespace railwave::report
